/* Steps through the encoder. */
#include "train/rgcn.h"

#include <string.h>

#include "base/memory.h"
#include "math/linear.h"
#include "train/convolve.h"

struct kg_rgcn {
    kg_rgcn_parts parts;
    kg_triple *others;                   /* facts that are not in the batch */
    real *g_entities;                    /* gradients: on the rows of entities, */
    real *g_hidden;                      /* on their hidden rows, */
    real *g_relations;                   /* on relations, */
    real *gradients[KG_ENCODER_TENSORS]; /* and on weights; NULL for what is computed */
};

static bool is_learned(const kg_table *table) {
    return table != NULL && table->first != NULL;
}

static real *allocate_like(const kg_table *table) {
    return kg__alloc(table->rows * table->dim, sizeof(real));
}

static kg_status open_parts(kg_rgcn *r, kg_error *error) {
    r->others = kg__alloc(r->parts.batches->facts->count, sizeof *r->others);
    r->g_entities = allocate_like(r->parts.entities);
    r->g_hidden = allocate_like(r->parts.tensors[KG_HIDDEN]);
    r->g_relations = allocate_like(r->parts.relations);
    bool good =
        r->others != NULL && r->g_entities != NULL && r->g_hidden != NULL && r->g_relations != NULL;
    for (size_t i = 0; i < KG_ENCODER_TENSORS && good; i++) {
        if (!is_learned(r->parts.tensors[i]))
            continue;
        r->gradients[i] = allocate_like(r->parts.tensors[i]);
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

void kg__rgcn_close(kg_rgcn *r) {
    if (r == NULL)
        return;
    kg__free(r->others);
    kg__free(r->g_entities);
    kg__free(r->g_hidden);
    kg__free(r->g_relations);
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++)
        kg__free(r->gradients[i]);
    kg__free(r);
}

/* ---- Forward ---- */

static void count_facts(const kg_rgcn *r, const kg_adjacency *graph) {
    const kg_table *features = r->parts.tensors[KG_FEATURES];
#pragma omp parallel for schedule(dynamic, 64) num_threads(r->parts.threads)
    for (size_t v = 0; v < graph->entity_count; v++)
        kg__encoder_count(features->values + v * features->dim, features->dim,
                          kg__adjacency_links(graph, (kg_id)v),
                          kg__adjacency_degree(graph, (kg_id)v));
}

static void rectify(const kg_rgcn *r) {
    const kg_table *hidden = r->parts.tensors[KG_HIDDEN];
    for (size_t i = 0; i < hidden->rows * hidden->dim; i++)
        hidden->values[i] = hidden->values[i] > 0 ? hidden->values[i] : 0;
}

static kg_status encode(kg_rgcn *r, const kg_adjacency *graph, kg_error *error) {
    const kg_encoder *e = &r->parts.encoder;
    kg_layer first = kg__encoder_layer(e, 0);
    kg_layer second = kg__encoder_layer(e, 1);
    count_facts(r, graph);
    KG_TRY(kg__convolve(r->parts.tensors[KG_HIDDEN]->values, &first, e->tensors[KG_FEATURES], graph,
                        r->parts.threads, error));
    rectify(r);
    return kg__convolve(r->parts.entities->values, &second, e->tensors[KG_HIDDEN], graph,
                        r->parts.threads, error);
}

kg_status kg__rgcn_encode(kg_rgcn *r, kg_error *error) {
    return encode(r, r->parts.graph, error);
}

/* ---- Backward ---- */

/* From the gradients on entities to those on all weights. */
static kg_status go_back(kg_rgcn *r, const kg_adjacency *graph, kg_error *error) {
    const kg_encoder *e = &r->parts.encoder;
    kg_layer first = kg__encoder_layer(e, 0);
    kg_layer second = kg__encoder_layer(e, 1);
    const real *hidden = e->tensors[KG_HIDDEN];
    kg_layer_gradients by_second = {r->gradients[KG_MIX_2], r->gradients[KG_BASES_2],
                                    r->gradients[KG_SELF_2], r->g_hidden};
    kg_layer_gradients by_first = {r->gradients[KG_MIX_1], r->gradients[KG_BASES_1],
                                   r->gradients[KG_SELF_1], NULL};
    KG_TRY(kg__convolve_back(&by_second, &second, hidden, r->g_entities, graph, r->parts.threads,
                             error));
    for (size_t i = 0; i < graph->entity_count * e->shape.dim; i++)
        r->g_hidden[i] = hidden[i] > 0 ? r->g_hidden[i] : 0;
    return kg__convolve_back(&by_first, &first, e->tensors[KG_FEATURES], r->g_hidden, graph,
                             r->parts.threads, error);
}

/* The first `rows` of a table take the step. */
static void update(const kg_rgcn *r, kg_table *table, const real *gradients, size_t rows,
                   uint64_t step) {
#pragma omp parallel for schedule(dynamic, 64) num_threads(r->parts.threads)
    for (size_t row = 0; row < rows; row++)
        kg__table_step(table, r->parts.optimizer, row, gradients + row * table->dim, step);
}

/* Rows of relations that training lacks stay as they are. */
static void update_all(const kg_rgcn *r, uint64_t step) {
    const kg_rgcn_parts *p = &r->parts;
    update(r, p->relations, r->g_relations, p->trained_relations, step);
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++) {
        bool by_relation = kg__encoder_rows((kg_encoder_tensor)i) == KG_ROWS_OF_RELATIONS;
        if (is_learned(p->tensors[i]))
            update(r, p->tensors[i], r->gradients[i],
                   by_relation ? p->trained_relations : p->tensors[i]->rows, step);
    }
}

/* ---- The step ---- */

static kg_status step_on(kg_rgcn *r, const kg_adjacency *graph, const kg_item *items, size_t count,
                         uint64_t step, double *loss, kg_error *error) {
    const kg_rgcn_parts *p = &r->parts;
    KG_TRY(encode(r, graph, error));
    memset(r->g_entities, 0, p->entities->rows * p->entities->dim * sizeof(real));
    memset(r->g_relations, 0, p->relations->rows * p->relations->dim * sizeof(real));
    KG_TRY(kg__stepper_add_gradients(p->stepper, items, count, step, r->g_entities, r->g_relations,
                                     loss, error));
    KG_TRY(go_back(r, graph, error));
    update_all(r, step);
    return KG_OK;
}

kg_status kg__rgcn_step(kg_rgcn *r, const kg_item *items, size_t count, uint64_t step, double *loss,
                        kg_error *error) {
    const kg_batches *batches = r->parts.batches;
    size_t batch_count = kg__batches_count(batches);
    if (batch_count == 1)
        return step_on(r, r->parts.graph, items, count, step, loss, error);
    kg_triples others = {.items = r->others};
    others.count =
        kg__batches_others(batches, r->others, (step - 1) / batch_count, (step - 1) % batch_count);
    kg_adjacency graph;
    KG_TRY(kg__adjacency_make(&graph, &others, r->parts.graph->entity_count, KG_WITHOUT_REFLEXIVE,
                              error));
    kg_status status = step_on(r, &graph, items, count, step, loss, error);
    kg__adjacency_free(&graph);
    return status;
}
