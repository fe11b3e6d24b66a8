/* A sum of rows whose weights depend on the query (mean.h): graft. */
#include "aggregate/graft_aggregate.h"

#include <string.h>

#include "aggregate/mean.h"
#include "base/memory.h"
#include "math/linalg.h"
#include "math/vector.h"
#include "model/model.h"

#define TENSOR "weights"

/* ---- What it learns ---- */

/* Weights start as those of a plain sum. One has an effect on all facts of a relation, and moves
 * with more care. */
#define START 1
#define RATE 0.5

static kg_status start(kg_term_view *out, kg_relation_weights **weights, double power,
                       kg_error *error) {
    *weights = kg__alloc(1, sizeof **weights);
    if (*weights == NULL)
        return kg__fail_memory(error);
    **weights = (kg_relation_weights){.param = {.name = TENSOR, .start = START, .rate = RATE},
                                      .power = power};
    kg__pair_param_start(out, &(*weights)->param);
    return KG_OK;
}

static kg_status count(kg_term_view *out, const kg_term_source *source, kg_error *error) {
    kg_relation_weights *weights = NULL;
    if (source->directed_count > KG_MOST_DIRECTED)
        return kg_fail(error, KG_BAD_INPUT, "expected at most %d relations, found %zu",
                       KG_MOST_DIRECTED / 2, source->directed_count / 2);
    KG_TRY(start(out, &weights, source->aggregate->graft_power, error));
    return source->aggregate->graft_weights
               ? kg__pairs_make(&weights->param.pairs, source->graph, source->directed_count, error)
               : KG_OK;
}

static kg_status open(kg_term_view *out, kg_model *model, const char *path, kg_error *error) {
    const json_t *settings = json_object_get(model->config, "settings");
    const json_t *given = json_object_get(settings, "graft_power");
    double power = json_number_value(given);
    kg_relation_weights *weights = NULL;
    if (!json_is_number(given))
        return kg_fail_at(error, path, 0, 0,
                          "expected a \"graft_power\" from 0 to 1 in its settings, found %s",
                          kg__json_kind(given));
    if (!(power >= 0 && power <= 1))
        return kg_fail_at(error, path, 0, 0,
                          "expected a \"graft_power\" from 0 to 1 in its settings, found %g",
                          power);
    KG_TRY(start(out, &weights, power, error));
    return kg__pair_param_open(out, model, path, error);
}

/* ---- What it computes ---- */

struct graft {
    kg_mean mean;
    real *weights;   /* queries x groups */
    uint32_t *pairs; /* queries x groups: the pair's number, or KG_NO_PAIR */
    real *gradients; /* queries x groups: on the weights; NULL before the first */
};

/* The pairs of one query with all groups: both lists are sorted. */
static void look_up(kg_aggregate *a, size_t query) {
    struct graft *graft = a->state;
    const kg_term_view *view = &a->params->terms[KG_TERM_EMBEDDING];
    const kg_pairs *pairs = &kg__relation_weights(a->params)->param.pairs;
    kg_directed directed = a->queries[query];
    bool is_known = pairs->count > 0 && directed < pairs->directed_count;
    size_t next = is_known ? pairs->starts[directed] : 0;
    size_t end = is_known ? pairs->starts[directed + 1] : 0;
    for (size_t g = 0; g < a->group_count; g++) {
        kg_directed given = a->links[a->groups[g]].directed;
        while (next < end && pairs->given[next] < given)
            next++;
        bool found = next < end && pairs->given[next] == given;
        size_t at = query * a->group_count + g;
        graft->weights[at] = found ? view->values[0][next] : 1;
        graft->pairs[at] = found ? (uint32_t)next : KG_NO_PAIR;
    }
}

static bool load(kg_aggregate *a, size_t most_left_out) {
    (void)most_left_out;
    struct graft *graft = kg__arena_take_zeroed(a->arena, 1, sizeof *graft);
    a->state = graft;
    if (graft == NULL)
        return false;
    size_t cells = a->query_count * a->group_count;
    graft->weights = kg__arena_take(a->arena, cells, sizeof *graft->weights);
    graft->pairs = kg__arena_take(a->arena, cells, sizeof *graft->pairs);
    if (graft->weights == NULL || graft->pairs == NULL)
        return false;
    for (size_t i = 0; i < a->query_count; i++)
        look_up(a, i);
    graft->mean.power = kg__relation_weights(a->params)->power;
    graft->mean.queries = a->query_count;
    graft->mean.weights = graft->weights;
    return kg__mean_load(a, &graft->mean);
}

/* What is left out has a share in no weight: it is taken off what kg__mean_backward adds. */
static bool backward(kg_aggregate *a, const real *g, kg_left_out left) {
    struct graft *graft = a->state;
    const kg_mean *mean = &graft->mean;
    if (graft->gradients == NULL)
        graft->gradients = kg__arena_take_zeroed(a->arena, a->query_count * a->group_count,
                                                 sizeof *graft->gradients);
    if (graft->gradients == NULL || !kg__mean_backward(a, g, left))
        return false;
    for (size_t i = 0; i < left.count; i++) {
        size_t group = kg__aggregate_group(a, left.positions[i]);
        kg__aggregate_row(a, mean->scratch, left.positions[i]);
        graft->gradients[a->query * a->group_count + group] -=
            mean->scale * kg__dot(mean->scratch, g, a->params->dim);
    }
    return true;
}

static kg_status finish(kg_aggregate *a, kg_grads *grads, kg_error *error) {
    struct graft *graft = a->state;
    const kg_mean *mean = &graft->mean;
    size_t dim = a->params->dim;
    if (mean->gradients == NULL)
        return KG_OK;
    kg__multiply(graft->gradients, mean->queries, a->group_count, dim, 1, mean->gradients, KG_AS_IS,
                 mean->rows, KG_TRANSPOSED, 1);
    /* Rows are no longer needed: their gradients take their place. */
    kg__multiply(mean->rows, a->group_count, dim, mean->queries, 1, mean->weights, KG_TRANSPOSED,
                 mean->gradients, KG_AS_IS, 0);
    a->group_gradients = mean->rows;
    a->group_stride = dim;
    a->group_sums = mean->sums;
    for (size_t i = 0; i < a->query_count * a->group_count; i++) {
        real *sum = NULL;
        if (graft->pairs[i] == KG_NO_PAIR)
            continue;
        KG_TRY(kg__grads_sum(grads, &sum, a->params->terms[KG_TERM_EMBEDDING].param,
                             graft->pairs[i], error));
        *sum += graft->gradients[i];
    }
    return KG_OK;
}

const kg_aggregator kg__aggregator_graft = {
    .name = "graft",
    .settings = KG_BY_GRAFT,
    .count = count,
    .open = open,
    .load = load,
    .set_query = look_up,
    .forward = kg__mean_forward,
    .backward = backward,
    .finish = finish,
    .weight = kg__mean_weight,
    .part = kg__mean_part,
};
