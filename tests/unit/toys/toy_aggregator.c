/* A toy: z is the row of the first fact that is not left out, times a number that is learned. */
#include <string.h>

#include "aggregate/aggregate.h"
#include "base/memory.h"
#include "math/vector.h"
#include "model/model.h"

#define TENSOR "toy_factor"

static size_t params(kg_term_param *out, const kg_term_view *view) {
    (void)view;
    out[0] = (kg_term_param){.name = TENSOR, .rows = 1, .columns = 1, .value = 1};
    return 1;
}

static void close(kg_term_view *view) {
    kg__free(view->counted);
}

static const kg_learned learned = {.params = params, .close = close};

static kg_status count(kg_term_view *out, const kg_term_source *source, kg_error *error) {
    (void)source;
    out->learned = &learned;
    out->counted = kg__alloc(1, 1);
    return out->counted == NULL ? kg__fail_memory(error) : KG_OK;
}

static kg_status open(kg_term_view *out, kg_model *model, const char *path, kg_error *error) {
    (void)path;
    KG_TRY(count(out, NULL, error));
    return kg__safetensors_view(&model->file, &out->values[0], TENSOR, 1, 1, error);
}

static const kg_term_view *view_of(const kg_aggregate *a) {
    return &a->params->terms[KG_TERM_EMBEDDING];
}

/* The gradient on the factor is its state. */
static bool load(kg_aggregate *a, size_t most_left_out) {
    (void)most_left_out;
    a->state = kg__arena_take_zeroed(a->arena, 1, sizeof(real));
    return a->state != NULL;
}

static size_t find_first(kg_left_out left) {
    size_t first = 0;
    while (first < left.count && left.positions[first] == first)
        first++;
    return first;
}

static void forward(kg_aggregate *a, real *z, kg_left_out left) {
    kg__aggregate_row(a, z, find_first(left));
    for (size_t k = 0; k < a->params->dim; k++)
        z[k] *= view_of(a)->values[0][0];
}

static bool backward(kg_aggregate *a, const real *g, kg_left_out left) {
    size_t first = find_first(left);
    real *row = kg__arena_take(a->arena, a->params->dim, sizeof *row);
    real *own = kg__aggregate_own(a, first);
    if (row == NULL || own == NULL)
        return false;
    kg__aggregate_row(a, row, first);
    *(real *)a->state += kg__dot(row, g, a->params->dim);
    kg__add_scaled(own, view_of(a)->values[0][0], g, a->params->dim);
    return true;
}

static kg_status finish(kg_aggregate *a, kg_grads *grads, kg_error *error) {
    real *sum = NULL;
    KG_TRY(kg__grads_sum(grads, &sum, view_of(a)->param, 0, error));
    *sum += *(real *)a->state;
    return KG_OK;
}

const kg_aggregator kg__aggregator_toy = {
    .name = "toy",
    .count = count,
    .open = open,
    .load = load,
    .forward = forward,
    .backward = backward,
    .finish = finish,
};
