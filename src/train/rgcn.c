/* The encoder over a whole graph, there and back. */
#include "train/rgcn.h"

#include <string.h>

#include "base/memory.h"
#include "math/linear.h"
#include "train/convolve.h"

struct kg_rgcn {
    kg_rgcn_parts parts;
    kg_triple *others;                   /* facts that are not in the batch */
    kg_adjacency graph;                  /* of these, from forward to backward */
    bool has_graph;                      /* if not, that of all facts is encoded */
    real *g_hidden;                      /* gradients: on hidden rows, */
    real *gradients[KG_ENCODER_TENSORS]; /* and on weights; NULL for what is computed */
};

static kg_param *tensor_of(const kg_rgcn *r, size_t which) {
    size_t number = r->parts.tensors[which];
    return number == SIZE_MAX ? NULL : &r->parts.list->items[number];
}

static real *allocate_like(const kg_param *param) {
    return kg__alloc(param->rows, param->columns * sizeof(real));
}

static kg_status open_parts(kg_rgcn *r, kg_error *error) {
    r->others = kg__alloc(r->parts.sampler->options.facts->count, sizeof *r->others);
    r->g_hidden = allocate_like(tensor_of(r, KG_HIDDEN));
    bool good = r->others != NULL && r->g_hidden != NULL;
    for (size_t i = 0; i < KG_ENCODER_TENSORS && good; i++) {
        const kg_param *param = tensor_of(r, i);
        if (param == NULL || param->is_computed)
            continue;
        r->gradients[i] = allocate_like(param);
        good = r->gradients[i] != NULL;
    }
    return good ? KG_OK : kg__fail_memory(error);
}

kg_status kg__rgcn_open(kg_rgcn **out, const kg_rgcn_parts *parts, kg_error *error) {
    kg_rgcn *r = kg__alloc(1, sizeof *r);
    if (r == NULL)
        return kg__fail_memory(error);
    r->parts = *parts;
    kg_status status = kg__linear_set_up(parts->threads, error);
    if (status == KG_OK)
        status = open_parts(r, error);
    if (status != KG_OK) {
        kg__rgcn_close(r);
        return status;
    }
    *out = r;
    return KG_OK;
}

static void drop_graph(kg_rgcn *r) {
    if (r->has_graph)
        kg__adjacency_free(&r->graph);
    r->has_graph = false;
}

void kg__rgcn_close(kg_rgcn *r) {
    if (r == NULL)
        return;
    drop_graph(r);
    kg__free(r->others);
    kg__free(r->g_hidden);
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++)
        kg__free(r->gradients[i]);
    kg__free(r);
}

static const kg_adjacency *graph_of(const kg_rgcn *r) {
    return r->has_graph ? &r->graph : r->parts.graph;
}

/* ---- Forward ---- */

/* The graph without the facts of the batch of `step`. */
static kg_status leave_out_batch(kg_rgcn *r, uint64_t step, kg_error *error) {
    const kg_sampler *sampler = r->parts.sampler;
    size_t batches = sampler->batch_count;
    drop_graph(r);
    if (step == 0 || batches == 1)
        return KG_OK;
    kg_triples others = {.items = r->others};
    others.count =
        kg__triple_sampler_others(sampler, r->others, (step - 1) / batches, (step - 1) % batches);
    KG_TRY(kg__adjacency_make(&r->graph, &others, r->parts.graph->entity_count,
                              KG_WITHOUT_REFLEXIVE, error));
    r->has_graph = true;
    return KG_OK;
}

static void count_facts(const kg_rgcn *r) {
    const kg_adjacency *graph = graph_of(r);
    const kg_param *features = tensor_of(r, KG_FEATURES);
#pragma omp parallel for schedule(dynamic, 64) num_threads(r->parts.threads)
    for (size_t v = 0; v < graph->entity_count; v++)
        kg__encoder_count(features->values + v * features->columns, features->columns,
                          kg__adjacency_links(graph, (kg_id)v),
                          kg__adjacency_degree(graph, (kg_id)v));
}

static void rectify(const kg_rgcn *r) {
    const kg_param *hidden = tensor_of(r, KG_HIDDEN);
    for (size_t i = 0; i < hidden->rows * hidden->columns; i++)
        hidden->values[i] = hidden->values[i] > 0 ? hidden->values[i] : 0;
}

static kg_status forward(void *payload, uint64_t step, kg_error *error) {
    kg_rgcn *r = payload;
    const kg_encoder *e = &r->parts.encoder;
    kg_layer first = kg__encoder_layer(e, 0);
    kg_layer second = kg__encoder_layer(e, 1);
    KG_TRY(leave_out_batch(r, step, error));
    count_facts(r);
    KG_TRY(kg__convolve(tensor_of(r, KG_HIDDEN)->values, &first, e->tensors[KG_FEATURES],
                        graph_of(r), r->parts.threads, error));
    rectify(r);
    return kg__convolve(r->parts.list->items[KG_PARAM_ENTITIES].values, &second,
                        e->tensors[KG_HIDDEN], graph_of(r), r->parts.threads, error);
}

/* ---- Backward ---- */

static kg_status backward(void *payload, const real *g, uint64_t step, kg_error *error) {
    kg_rgcn *r = payload;
    const kg_adjacency *graph = graph_of(r);
    const kg_encoder *e = &r->parts.encoder;
    kg_layer first = kg__encoder_layer(e, 0);
    kg_layer second = kg__encoder_layer(e, 1);
    const real *hidden = e->tensors[KG_HIDDEN];
    kg_layer_gradients by_second = {r->gradients[KG_MIX_2], r->gradients[KG_BASES_2],
                                    r->gradients[KG_SELF_2], r->g_hidden};
    kg_layer_gradients by_first = {r->gradients[KG_MIX_1], r->gradients[KG_BASES_1],
                                   r->gradients[KG_SELF_1], NULL};
    KG_TRY(kg__convolve_back(&by_second, &second, hidden, g, graph, r->parts.threads, error));
    for (size_t i = 0; i < graph->entity_count * e->shape.dim; i++)
        r->g_hidden[i] = hidden[i] > 0 ? r->g_hidden[i] : 0;
    KG_TRY(kg__convolve_back(&by_first, &first, e->tensors[KG_FEATURES], r->g_hidden, graph,
                             r->parts.threads, error));
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++)
        if (r->gradients[i] != NULL)
            kg__param_step_dense(tensor_of(r, i), r->gradients[i], r->parts.threads, step);
    return KG_OK;
}

kg_computed kg__rgcn_computed(kg_rgcn *r) {
    return (kg_computed){r, forward, backward};
}
