/* A toy: z is the row of the first fact that is not left out. */
#include <string.h>

#include "aggregate/aggregate.h"
#include "math/vector.h"

static bool load(kg_aggregate *a, size_t most_left_out) {
    (void)a;
    (void)most_left_out;
    return true;
}

static size_t find_first(kg_left_out left) {
    size_t first = 0;
    while (first < left.count && left.positions[first] == first)
        first++;
    return first;
}

static void forward(kg_aggregate *a, real *z, kg_left_out left) {
    kg__aggregate_row(a, z, find_first(left));
}

static bool backward(kg_aggregate *a, const real *g, kg_left_out left) {
    real *own = kg__aggregate_own(a, find_first(left));
    if (own != NULL)
        kg__add_scaled(own, 1, g, a->params->dim);
    return own != NULL;
}

static kg_status finish(kg_aggregate *a, kg_grads *grads, kg_error *error) {
    (void)a;
    (void)grads;
    (void)error;
    return KG_OK;
}

const kg_aggregator kg__aggregator_toy = {
    .name = "toy",
    .load = load,
    .forward = forward,
    .backward = backward,
    .finish = finish,
};
