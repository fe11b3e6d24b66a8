/* The propagation term: learned propagation from the queried entity over the graph
 * (propagation/propagation.h). Every entity has a prior by its class of degree; what is reached has
 * a score offset, above one that is not reached.
 *
 * It is trained apart from the other terms, on a loss of its own: trained on the same sum, the
 * embedding memorises training facts and leaves propagation nothing to explain (oWN18RR,
 * validation: .580 instead of .594). */
#include "terms/propagation_term.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/model.h"
#include "terms/propagation/query_links.h"
#include "terms/scorer.h"

_Static_assert(KG_PROPAGATION_TENSORS <= KG_MOST_TERM_PARAMS, "a parameter for each tensor");

struct counted {
    kg_relation_degrees graph;
    kg_propagation_options options;
    size_t count;                                          /* of tensors that the options have */
    kg_propagation_tensor tensors[KG_PROPAGATION_TENSORS]; /* which */
    size_t degree_prior;                                   /* its place among them */
};

/* ---- What it counts and learns ---- */

static size_t params(kg_term_param *out, const kg_term_view *view) {
    const struct counted *counted = view->counted;
    for (size_t i = 0; i < counted->count; i++) {
        kg_propagation_shape shape = kg__propagation_shape(
            &counted->options, counted->graph.directed_count, counted->tensors[i]);
        out[i] = (kg_term_param){
            .name = shape.name, .rows = shape.rows, .columns = shape.columns, .bound = shape.bound};
    }
    return counted->count;
}

static void close(kg_term_view *view) {
    struct counted *counted = view->counted;
    kg__relation_degrees_close(&counted->graph);
    kg__free(counted);
}

static const kg_learned learned = {.params = params, .close = close};

static kg_status open_graph(kg_term_view *out, const kg_adjacency *graph, size_t directed_count,
                            const kg_propagation_options *options, kg_error *error) {
    KG_TRY(kg__propagation_check(options, error));
    struct counted *counted = kg__alloc(1, sizeof *counted);
    if (counted == NULL)
        return kg__fail_memory(error);
    out->learned = &learned;
    out->counted = counted;
    counted->options = *options;
    for (kg_propagation_tensor i = 0; i < KG_PROPAGATION_TENSORS; i++) {
        counted->degree_prior = i == KG_PROPAGATION_DEGREE ? counted->count : counted->degree_prior;
        if (kg__propagation_shape(options, directed_count, i).rows > 0)
            counted->tensors[counted->count++] = i;
    }
    return kg__relation_degrees_open(&counted->graph, graph, directed_count, error);
}

static kg_status count(kg_term_view *out, const kg_term_source *source, kg_error *error) {
    const kg_adjacency *graph = source->graph;
    kg_propagation_options options =
        kg__propagation_complete(source->propagation, source->directed_count, graph->entity_count,
                                 (size_t)graph->starts[graph->entity_count] / 2);
    return open_graph(out, graph, source->directed_count, &options, error);
}

kg_propagation kg__propagation_view(const kg_term_view *view) {
    const struct counted *counted = view->counted;
    kg_propagation out = {.options = counted->options,
                          .directed_count = counted->graph.directed_count};
    for (size_t i = 0; i < counted->count; i++) {
        out.tensors[counted->tensors[i]] = view->values[i];
        out.params[counted->tensors[i]] = view->param + i;
    }
    return out;
}

static kg_status move(kg_term_view *out, const kg_term_view *view, const kg_adjacency *graph,
                      kg_error *error) {
    const struct counted *counted = view->counted;
    *out = (kg_term_view){.param = view->param};
    memcpy(out->values, view->values, sizeof out->values);
    return open_graph(out, graph, counted->graph.directed_count, &counted->options, error);
}

static kg_status overlay(kg_term_view *out, const kg_term_view *view, const kg_adjacency *graph,
                         kg_snapshots *versions, kg_error *error) {
    struct counted *counted = kg__snapshots_take(versions, 1, sizeof *counted);
    if (counted == NULL)
        return kg__fail_memory(error);
    memcpy(counted, view->counted, sizeof *counted);
    counted->graph.graph = graph;
    *out = *view;
    out->counted = counted;
    return KG_OK;
}

/* ---- Files ---- */

static json_t *describe(const kg_term_view *view) {
    const struct counted *counted = view->counted;
    return kg__propagation_json(&counted->options);
}

static kg_status open(kg_term_view *out, kg_model *model, const char *path, kg_error *error) {
    const json_t *about = json_object_get(model->config, kg__term_propagation.name);
    kg_propagation_options options;
    kg_term_param wanted[KG_MOST_TERM_PARAMS];
    if (about == NULL)
        return KG_OK;
    KG_TRY(kg__model_open_graph(model, kg__term_propagation.name, path, error));
    KG_TRY(kg__propagation_read(&options, about, path, error));
    KG_TRY(open_graph(out, &model->graph, 2 * model->relations.count, &options, error));
    size_t count = params(wanted, out);
    for (size_t i = 0; i < count; i++) {
        kg_tensor tensor = {
            .name = wanted[i].name, .rows = wanted[i].rows, .columns = wanted[i].columns};
        KG_TRY(kg__safetensors_view(&model->file, &tensor.values, tensor.name, tensor.rows,
                                    tensor.columns, error));
        KG_TRY(kg__tensor_check(&tensor, path, error));
        out->values[i] = tensor.values;
    }
    return KG_OK;
}

/* ---- Training ---- */

static kg_status open_worker(void **out, const kg_term_view *view, kg_error *error) {
    const struct counted *counted = view->counted;
    kg_propagation_worker *worker = *out = kg__alloc(1, sizeof *worker);
    return worker == NULL ? kg__fail_memory(error)
                          : kg__propagation_worker_open(worker, &counted->graph, error);
}

static void close_worker(void *worker) {
    kg__propagation_worker_close(worker);
    kg__free(worker);
}

/* ---- Answering ---- */

struct state {
    kg_propagation_worker worker;
    kg_propagation model;
    kg_arena arena;
};

static kg_status open_state(void **out, const kg_term_view *view, kg_error *error) {
    const struct counted *counted = view->counted;
    struct state *state = *out = kg__alloc(1, sizeof *state);
    if (state == NULL)
        return kg__fail_memory(error);
    state->model = kg__propagation_view(view);
    return kg__propagation_worker_open(&state->worker, &counted->graph, error);
}

static void close_state(void *opened) {
    struct state *state = opened;
    kg__propagation_worker_close(&state->worker);
    kg__arena_free(&state->arena);
    kg__free(state);
}

static kg_status move_state(void *moved, const kg_term_view *view, kg_error *error) {
    const struct counted *counted = view->counted;
    struct state *state = moved;
    return kg__propagation_worker_move(&state->worker, &counted->graph, error);
}

kg_status kg__propagation_query(kg_propagation_pass *out, const kg_scorer *s, size_t number,
                                size_t left_out, kg_error *error) {
    struct state *state = s->states[number];
    kg_propagation_query query = {.entity = s->self,
                                  .links = s->embedder.links,
                                  .link_count = s->embedder.count,
                                  .queried = s->embedder.query,
                                  .left_out = left_out,
                                  .is_repeated = left_out >= s->embedder.count};
    kg__arena_reset(&state->arena);
    return kg__propagation_forward(out, &state->model, &query, &state->worker, &state->arena,
                                   error);
}

/* Scores are multiples of UNIT, 2^-16 in single precision, so that sums and differences of those
 * below EXACT are exact: ranking gives every candidate the prior of its class, the offset of a
 * reached one takes it back, and what is left is the same in whatever order it was summed, so that
 * entities that tie still do. */
#define EXACT 128
#define UNIT (EXACT * (double)KG_REAL_EPSILON)

static double rounded(double score) {
    return rint(score / UNIT) * UNIT;
}

/* Of an entity by its class of degree, whether it is reached or not. */
static real prior(const kg_term_view *view, kg_directed query, size_t class) {
    const struct counted *counted = view->counted;
    real value = view->values[counted->degree_prior][query * (size_t)KG_DEGREE_CLASSES + class];
    return (real)rounded(counted->options.weight * (double)value);
}

/* The class that ranking finds: by all facts of the graph. */
static size_t whole_class(const kg_propagation_pass *pass, kg_id entity) {
    return kg__degree_class(kg__relation_degrees_of(pass->graph, entity, pass->inverse));
}

/* Without the queried entity, those that are linked with it have fewer facts. */
static size_t class_of(const kg_propagation_pass *pass, size_t i) {
    uint32_t node = pass->layers[pass->model->options.layers - 1].nodes[i];
    bool is_smaller = kg__query_links_of(pass, node, pass->entities[i]).count > 0;
    return is_smaller ? whole_class(pass, pass->entities[i]) : pass->classes[i];
}

/* What is reached, above what is not. */
static double score_of(const kg_propagation_pass *pass, size_t i) {
    const kg_propagation *model = pass->model;
    real unreached = model->tensors[KG_PROPAGATION_UNREACHED][pass->query.queried];
    return rounded(model->options.weight * ((double)pass->scores[i] - (double)unreached));
}

static real unreached_score(const kg_propagation_pass *pass, const kg_term_view *view,
                            kg_id entity) {
    const kg_propagation_query *query = &pass->query;
    return prior(view, query->queried, kg__propagation_class(pass->graph, query, entity));
}

size_t kg__propagation_place(const kg_propagation_pass *pass, kg_id entity) {
    size_t i = 0;
    while (i < pass->count && pass->entities[i] != entity)
        i++;
    return i;
}

/* A fact that is not used may lead to an entity that is not reached without it, which has one fact
 * less than the graph says. */
static kg_status add_apart(const kg_propagation_pass *pass, const kg_term_view *view,
                           kg_score_offsets *out, kg_error *error) {
    for (size_t i = 0; i < pass->linked.apart_count; i++) {
        kg_id entity = pass->linked.apart[i];
        if (pass->linked.apart_relations[i] != pass->inverse ||
            kg__propagation_place(pass, entity) < pass->count)
            continue;
        real given = prior(view, pass->query.queried, whole_class(pass, entity));
        double own = (double)unreached_score(pass, view, entity);
        KG_TRY(kg__score_offsets_add(out, entity, own - (double)given, error));
    }
    return KG_OK;
}

static kg_status offsets(kg_scorer *s, size_t number, kg_score_offsets *out, size_t left_out,
                         kg_error *error) {
    const kg_term_view *view = &s->embedder.params.terms[number];
    kg_directed query = s->embedder.query;
    kg_propagation_pass pass;
    if (query == KG_NO_QUERY)
        return KG_OK;
    KG_TRY(kg__propagation_query(&pass, s, number, left_out, error));
    KG_TRY(kg__score_offsets_reserve(out, pass.count, error));
    for (size_t i = 0; i < pass.count; i++) {
        real given = prior(view, query, class_of(&pass, i));
        out->items[out->count++] =
            (kg_score_offset){pass.entities[i], score_of(&pass, i) - (double)given};
    }
    return add_apart(&pass, view, out, error);
}

double kg__propagation_part(const kg_propagation_pass *pass, const kg_term_view *view,
                            kg_id entity) {
    size_t i = kg__propagation_place(pass, entity);
    return i < pass->count ? score_of(pass, i) : (double)unreached_score(pass, view, entity);
}

static size_t parts(kg_score_term *out, const kg_term_view *view) {
    if (view->counted == NULL)
        return 0;
    if (out != NULL)
        out[0] = (kg_score_term){.name = kg__term_propagation.name};
    return 1;
}

const kg_term kg__term_propagation = {
    .name = "propagation",
    .title = "learned paths",
    .is_trained_apart = true,
    .has_paths = true,
    .count = count,
    .move = move,
    .overlay = overlay,
    .open = open,
    .describe = describe,
    .open_worker = open_worker,
    .close_worker = close_worker,
    .open_state = open_state,
    .close_state = close_state,
    .move_state = move_state,
    .offsets = offsets,
    .cost = 1e5, /* a millisecond */
    .prior = prior,
    .parts = parts,
    .explain = kg__propagation_explain,
};
