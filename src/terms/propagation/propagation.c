/* The pass of a query: from the entity through all layers to the scores of what is reached, and
 * from gradients on these back to gradients on tensors. */
#include "terms/propagation/propagation.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/vector.h"
#include "terms/propagation/frontier.h"
#include "terms/propagation/kept_layers.h"
#include "terms/propagation/readout.h"

real kg__propagation_sum_scale(size_t count) {
    return (real)(log1p((double)count) / (double)count);
}

kg_status kg__propagation_worker_open(kg_propagation_worker *w, const kg_relation_degrees *graph,
                                      kg_error *error) {
    size_t entities = graph->graph->entity_count;
    *w = (kg_propagation_worker){.graph = graph, .node_capacity = entities};
    w->node_of = kg__alloc(entities, sizeof *w->node_of);
    if (w->node_of == NULL)
        return kg__fail_memory(error);
    memset(w->node_of, 0xff, entities * sizeof *w->node_of);
    for (size_t i = 1; i < KG_PROPAGATION_SCALES; i++)
        w->sum_scales[i] = kg__propagation_sum_scale(i);
    return KG_OK;
}

void kg__propagation_worker_close(kg_propagation_worker *w) {
    kg__free(w->node_of);
    kg__free(w->entities);
    kg__free(w->sets);
    kg__profiles_close(&w->node_profiles);
    kg__profiles_close(&w->profiles);
    kg__arena_free(&w->scratch);
    kg__arena_free(&w->kept.arena);
    *w = (kg_propagation_worker){0};
}

kg_status kg__propagation_worker_move(kg_propagation_worker *w, const kg_relation_degrees *graph,
                                      kg_error *error) {
    size_t before = w->node_capacity;
    uint32_t *node_of =
        kg__grow(w->node_of, &w->node_capacity, graph->graph->entity_count, sizeof *node_of);
    if (node_of == NULL)
        return kg__fail_memory(error);
    w->node_of = node_of;
    kg__kept_layers_clear(w);
    memset(node_of + before, 0xff, (w->node_capacity - before) * sizeof *node_of);
    kg__profiles_move(&w->node_profiles, graph);
    kg__profiles_move(&w->profiles, graph);
    w->graph = graph;
    return KG_OK;
}

kg_status kg__propagation_add_gradient(kg_grads *grads, const kg_propagation *model,
                                       kg_propagation_tensor tensor, size_t row, const real *vector,
                                       size_t count, kg_error *error) {
    real *sum = NULL;
    KG_TRY(kg__grads_sum(grads, &sum, model->params[tensor], row, error));
    kg__add_scaled(sum, 1, vector, count);
    return KG_OK;
}

kg_status kg__propagation_add_profile_gradients(kg_grads *grads, const kg_propagation *model,
                                                kg_propagation_tensor tensor,
                                                kg_profile_gradients gradients, kg_error *error) {
    size_t width = model->options.width;
    for (size_t r = 0; r < model->directed_count; r++)
        if (gradients.is_used[r])
            KG_TRY(kg__propagation_add_gradient(grads, model, tensor, r, gradients.sums + r * width,
                                                width, error));
    return KG_OK;
}

/* Profiles are of the tensors as they are now. */
static kg_status use_profiles(const kg_propagation *model, kg_propagation_worker *w,
                              kg_error *error) {
    size_t width = model->options.width;
    if (model->options.profiles != 0)
        KG_TRY(kg__profiles_use(&w->node_profiles, w->graph,
                                model->tensors[KG_PROPAGATION_NODE_PROFILE], width, error));
    return kg__profiles_use(&w->profiles, w->graph, model->tensors[KG_PROPAGATION_PROFILE], width,
                            error);
}

static kg_status forward(kg_propagation_pass *pass, kg_propagation_worker *w, kg_error *error) {
    size_t width = pass->model->options.width;
    const real *input = pass->model->tensors[KG_PROPAGATION_START] + pass->query.queried * width;
    for (size_t i = 0; i < pass->model->options.layers; i++) {
        kg__arena_reset(&w->scratch);
        pass->layers[i].input = input;
        KG_TRY(kg__frontier_expand(pass, i, w, error));
        pass->nodes = w->entities; /* until all are known */
        KG_TRY(kg__layer_forward(pass, i, w, error));
        input = pass->layers[i].output;
    }
    KG_TRY(kg__readout_forward(pass, w, error));
    pass->nodes = kg__arena_take(pass->arena, pass->node_count, sizeof *pass->nodes);
    if (pass->nodes == NULL)
        return kg__fail_memory(error);
    memcpy(pass->nodes, w->entities, pass->node_count * sizeof *pass->nodes);
    return KG_OK;
}

kg_status kg__propagation_forward(kg_propagation_pass *out, const kg_propagation *model,
                                  const kg_propagation_query *query, kg_propagation_worker *w,
                                  kg_arena *arena, kg_error *error) {
    *out = (kg_propagation_pass){.model = model,
                                 .graph = w->graph,
                                 .query = *query,
                                 .inverse = kg__inverse(query->queried),
                                 .arena = arena};
    KG_TRY(use_profiles(model, w, error));
    KG_TRY(kg__frontier_start(out, w, error));
    kg_status status = forward(out, w, error);
    kg__frontier_finish(out, w);
    return status;
}

/* The query's number is inverted, since whether a candidate was sampled depends on it already. */
void kg__propagation_sparsify(real *on_scores, const kg_propagation_pass *pass, real least) {
    for (size_t i = 0; i < pass->count; i++) {
        real size = on_scores[i] < 0 ? -on_scores[i] : on_scores[i];
        if (size == 0 || size >= least)
            continue;
        bool is_kept = kg__frontier_draw(~pass->query.random, pass->entities[i]) * (double)least <
                       (double)size;
        on_scores[i] = is_kept ? on_scores[i] / size * least : 0;
    }
}

kg_status kg__propagation_backward(const kg_propagation_pass *pass, const real *on_scores,
                                   const real *on_unreached, kg_propagation_worker *w,
                                   kg_grads *grads, kg_error *error) {
    const kg_propagation *model = pass->model;
    kg_row_gradients gradients = {0};
    kg__arena_reset(&w->scratch);
    KG_TRY(use_profiles(model, w, error));
    KG_TRY(kg__readout_backward(pass, on_scores, on_unreached, &gradients, w, grads, error));
    for (size_t i = model->options.layers; i > 0; i--)
        KG_TRY(kg__layer_backward(pass, i - 1, &gradients, w, grads, error));
    return gradients.count == 0
               ? KG_OK /* nothing that is scored has a gradient */
               : kg__propagation_add_gradient(grads, model, KG_PROPAGATION_START,
                                              pass->query.queried, gradients.vectors,
                                              model->options.width, error);
}
