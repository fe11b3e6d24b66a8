/* How fast propagation is on one core: queries of the facts of a model's graph, forward and
 * backward as in training, and forward as in answering, the least of rounds that take turns. Beside
 * it what a query takes and what the core can do, measured just before. Prints a JSON object, of
 * which bench/propagate makes a table; it has the queries, too, for bench/rival to ask the same.
 *
 * Counted are the multiplications of the formulas (propagation.h) and, apart from these, those that
 * are left since each set of messages is pooled once; and the bytes that a query has to move at
 * least: each link that it follows, and each row of numbers that it reads or writes, once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "cli/blas_setup.h"
#include "math/vector.h"
#include "model/model.h"
#include "roof.h"
#include "terms/propagation_term.h"

#define ROUNDS 7
#define QUERIES 320 /* of a round */
#define BATCH 32    /* queries between two steps of training */
#define LEAST_GRADIENT ((real)0.004)

/* Of one kind of pass, summed over queries. */
struct work {
    double nodes;
    double edges;
    double rows;
    double multiplications; /* of the formulas, */
    double computed;        /* and those that are left */
    double bytes;
};

struct bench {
    kg_model model;
    kg_propagation propagation;
    kg_relation_degrees counts;
    kg_propagation_worker worker;
    kg_arena arena;
    kg_grads grads;
    real *profiles[2]; /* copies that change with each batch, as training changes them */
    struct work training;
    struct work answering;
    double forward; /* seconds of a round, the least */
    double backward;
    double answer;
};

/* ---- Work ---- */

static size_t count_pooled(const kg_propagation_layer *layer, size_t *edges) {
    size_t rows = 0;
    for (size_t i = 0; i < layer->row_count; i++) {
        uint32_t set = layer->row_sets[i];
        rows += set != 0;
        *edges += layer->starts[set + 1] - layer->starts[set];
    }
    return rows;
}

static void count_layer(struct work *work, const kg_propagation_layer *layer, size_t width,
                        size_t poolings) {
    size_t edges = 0;
    size_t pooled = count_pooled(layer, &edges);
    size_t gates = layer->before + layer->source_count;
    size_t once = width * (gates + layer->message_count + width * layer->old_count);
    size_t vectors = layer->before + layer->row_count + 2 * layer->message_count +
                     (layer->shares == NULL ? 2 : 4) * layer->set_count;
    work->rows += (double)layer->row_count;
    work->multiplications += (double)(once + poolings * width * (edges + width * pooled));
    work->computed +=
        (double)(once + poolings * width *
                            (layer->starts[layer->set_count] + width * (layer->set_count - 1)));
    work->bytes += (double)(vectors * width * sizeof(real));
}

static void count_work(struct work *work, const kg_propagation_pass *pass) {
    const kg_propagation_options *o = &pass->model->options;
    size_t readout = pass->count * (o->width + 1) * o->width;
    size_t profiles = pass->count + o->profiles * pass->node_count;
    work->nodes += (double)pass->node_count;
    work->edges += (double)pass->edge_count;
    work->bytes += (double)pass->edge_count * (sizeof(kg_link) + 2 * sizeof(uint32_t));
    for (size_t i = 0; i < o->layers; i++)
        count_layer(work, &pass->layers[i], o->width, kg__propagation_poolings(o));
    work->multiplications += (double)readout;
    work->computed += (double)readout;
    work->bytes += (double)(profiles * o->width * sizeof(real));
}

/* ---- Queries ---- */

/* Facts of the graph in a random order, seen from one end. */
static kg_propagation_query query_of(const struct bench *b, size_t number) {
    const kg_adjacency *graph = b->counts.graph;
    uint64_t link = kg__random_below((size_t)graph->starts[graph->entity_count], 0,
                                     KG_STREAM_GENERATE_TAIL, number);
    kg_id entity = 0;
    for (kg_id to = (kg_id)graph->entity_count; to - entity > 1;) {
        kg_id middle = entity + (to - entity) / 2;
        if (graph->starts[middle] <= link)
            entity = middle;
        else
            to = middle;
    }
    const kg_link *links = kg__adjacency_links(graph, entity);
    size_t left_out = (size_t)(link - graph->starts[entity]);
    return (kg_propagation_query){.entity = entity,
                                  .links = links,
                                  .link_count = kg__adjacency_degree(graph, entity),
                                  .queried = links[left_out].directed,
                                  .left_out = left_out,
                                  .random = number,
                                  .wanted = &links[left_out].other,
                                  .wanted_count = 1};
}

static size_t answer_place(const kg_propagation_pass *pass) {
    size_t place = kg__propagation_place(pass, *pass->query.wanted);
    return place < pass->count ? place
                               : pass->count + kg__propagation_class(pass->graph, &pass->query,
                                                                     *pass->query.wanted);
}

/* Those of a softmax, as in training. */
static real *gradients_of(const kg_propagation_pass *pass, kg_arena *arena) {
    size_t count = pass->count + KG_DEGREE_CLASSES;
    real *out = kg__arena_take(arena, count, sizeof *out);
    if (out == NULL)
        exit(1);
    for (size_t i = 0; i < pass->count; i++)
        out[i] = pass->scores[i] + pass->log_weights[i];
    for (size_t c = 0; c < KG_DEGREE_CLASSES; c++)
        out[pass->count + c] =
            pass->unreached_scores[c] + (real)log(fmax(pass->unreached_counts[c], 0.5));
    real sum = kg__exp_below(out, kg__largest(out, count), count);
    kg__scale(out, 1 / sum, count);
    out[answer_place(pass)] -= 1;
    kg__propagation_sparsify(out, pass, LEAST_GRADIENT);
    return out;
}

static kg_status learn(struct bench *b, size_t number, double *times, kg_error *error) {
    kg_propagation_query query = query_of(b, number);
    kg_propagation_pass pass;
    query.is_sampled = true;
    kg__arena_reset(&b->arena);
    double started = roof_seconds(1);
    KG_TRY(kg__propagation_forward(&pass, &b->propagation, &query, &b->worker, &b->arena, error));
    double forward = roof_seconds(1);
    real *gradients = gradients_of(&pass, &b->arena);
    double compared = roof_seconds(1);
    KG_TRY(kg__propagation_backward(&pass, gradients, gradients + pass.count, &b->worker, &b->grads,
                                    error));
    times[0] += forward - started;
    times[1] += roof_seconds(1) - compared;
    count_work(&b->training, &pass);
    if (number % BATCH == BATCH - 1) {
        kg__grads_clear(&b->grads);
        for (size_t i = 0; i < 2; i++)
            b->profiles[i][0] = -b->profiles[i][0];
    }
    return KG_OK;
}

static kg_status answer(struct bench *b, size_t number, double *time, kg_error *error) {
    kg_propagation_query query = query_of(b, number);
    kg_propagation_pass pass;
    kg__arena_reset(&b->arena);
    double started = roof_seconds(1);
    KG_TRY(kg__propagation_forward(&pass, &b->propagation, &query, &b->worker, &b->arena, error));
    *time += roof_seconds(1) - started;
    count_work(&b->answering, &pass);
    return KG_OK;
}

static kg_status run_round(struct bench *b, kg_error *error) {
    double times[3] = {0};
    b->training = b->answering = (struct work){0};
    for (size_t i = 0; i < QUERIES; i++)
        KG_TRY(learn(b, i, times, error));
    for (size_t i = 0; i < QUERIES; i++)
        KG_TRY(answer(b, i, &times[2], error));
    b->forward = fmin(b->forward, times[0]);
    b->backward = fmin(b->backward, times[1]);
    b->answer = fmin(b->answer, times[2]);
    return KG_OK;
}

static kg_status open_bench(struct bench *b, const char *path, kg_error *error) {
    KG_TRY(kg__model_open(&b->model, path, error));
    if (!kg__term_is_on(&b->model.params, kg__term_number(&kg__term_propagation)))
        return kg_fail_at(error, path, 0, 0, "expected a model with propagation");
    b->propagation =
        kg__propagation_view(&b->model.params.terms[kg__term_number(&kg__term_propagation)]);
    size_t relations = b->propagation.directed_count;
    KG_TRY(kg__relation_degrees_open(&b->counts, &b->model.graph, relations, error));
    KG_TRY(kg__propagation_worker_open(&b->worker, &b->counts, error));
    size_t params = 0;
    for (kg_propagation_tensor t = 0; t < KG_PROPAGATION_TENSORS; t++) {
        kg_propagation_shape shape = kg__propagation_shape(&b->propagation.options, relations, t);
        b->propagation.params[t] = params++;
        KG_TRY(kg__grads_add_param(&b->grads, shape.rows, shape.columns, error));
    }
    const kg_propagation_tensor changing[] = {KG_PROPAGATION_PROFILE, KG_PROPAGATION_NODE_PROFILE};
    for (size_t i = 0; i < 2; i++) {
        size_t size = relations * b->propagation.options.width;
        b->profiles[i] = kg__alloc(size, sizeof(real));
        if (b->profiles[i] == NULL)
            return kg__fail_memory(error);
        if (b->propagation.tensors[changing[i]] == NULL)
            continue;
        memcpy(b->profiles[i], b->propagation.tensors[changing[i]], size * sizeof(real));
        b->propagation.tensors[changing[i]] = b->profiles[i];
    }
    b->forward = b->backward = b->answer = INFINITY;
    return KG_OK;
}

static void close_bench(struct bench *b) {
    for (size_t i = 0; i < 2; i++)
        kg__free(b->profiles[i]);
    kg__grads_free(&b->grads);
    kg__arena_free(&b->arena);
    kg__propagation_worker_close(&b->worker);
    kg__relation_degrees_close(&b->counts);
    kg__model_close(&b->model);
}

static void print_work(const char *name, const struct work *work, double seconds) {
    printf("\"%s\": {\"nodes\": %.0f, \"edges\": %.0f, \"rows\": %.0f, \"multiplications\": %.0f, "
           "\"computed\": %.0f, \"bytes\": %.0f, \"ms\": %.4f}, ",
           name, work->nodes / QUERIES, work->edges / QUERIES, work->rows / QUERIES,
           work->multiplications / QUERIES, work->computed / QUERIES, work->bytes / QUERIES,
           1e3 * seconds / QUERIES);
}

/* As the entity, the directed relation and the answer. */
static void print_queries(const struct bench *b) {
    printf("\"queries\": [");
    for (size_t i = 0; i < QUERIES; i++) {
        kg_propagation_query query = query_of(b, i);
        printf("%s[%u, %u, %u]", i == 0 ? "" : ", ", (unsigned)query.entity,
               (unsigned)query.queried, (unsigned)*query.wanted);
    }
    printf("], ");
}

static kg_status measure(const char *path, kg_error *error) {
    struct bench b = {0};
    double flops = roof_flops(1);
    double bytes = roof_bytes(1);
    KG_TRY(open_bench(&b, path, error));
    for (int i = 0; i < ROUNDS; i++)
        KG_TRY(run_round(&b, error));
    printf("{");
    print_queries(&b);
    print_work("training", &b.training, b.forward);
    print_work("answering", &b.answering, b.answer);
    printf("\"backward_ms\": %.4f, \"multiplications_a_second\": %.3e, \"bytes_a_second\": %.3e}\n",
           1e3 * b.backward / QUERIES, flops / 2, bytes);
    close_bench(&b);
    return KG_OK;
}

int main(int count, char **words) {
    kg_error error;
    cli_choose_kernels(words);
    if (count != 2) {
        fputs("usage: bench_propagate MODEL\n", stderr);
        return 2;
    }
    if (measure(words[1], &error) == KG_OK)
        return 0;
    fprintf(stderr, "bench_propagate: %s: %s\n", error.source, error.message);
    return 1;
}
