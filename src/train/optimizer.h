/* AdaGrad, row-wise AdaGrad and Adam, with L2, exact and lazy.
 *
 * L2 (and Adam's momentum) moves every row in every step, which as written is a sweep over the
 * whole table for each batch. But a row that no triple touches depends only on itself: so it is
 * left alone, and the steps that it missed are caught up when it is next read, all of them at once
 * and in registers. Dense and lazy learning take the same steps in the same order, so they agree to
 * the bit. */
#ifndef KG_TRAIN_OPTIMIZER_H
#define KG_TRAIN_OPTIMIZER_H

#include <stdbool.h>

#include "base/status.h"
#include "math/real.h"

typedef enum kg_method { KG_ADAGRAD, KG_ADAM, KG_ADAGRAD_ROW } kg_method;
extern const char *const kg__method_names[]; /* ended by NULL */

/* A step with the gradient g of the loss takes g + l2 w, where w is the parameter. */
typedef struct kg_optimizer {
    kg_method method;
    double beta2; /* Adam: the share of its means of squares that a step keeps */
    double rate;  /* of the first step */
    double slope; /* how much it grows by each step */
    real l2;
    /* Adam, for each step from 1: rate/(1 - beta1^t) and 1/sqrt(1 - beta2^t). */
    real *rates;
    real *corrections;
    uint64_t step_count;
} kg_optimizer;

/* The rate goes in equal parts from that of the first step to that of the last. */
typedef struct kg_rates {
    double first;
    double last;
    double beta2; /* Adam's; 0: the usual 0.999 */
} kg_rates;

/* `step_count` is how many steps will be taken at most. */
KG_MUST_CHECK kg_status kg__optimizer_open(kg_optimizer *optimizer, kg_method method,
                                           kg_rates rates, double l2, uint64_t step_count,
                                           kg_error *error);
void kg__optimizer_close(kg_optimizer *optimizer);

/* A row of a parameter, and what the optimiser knows of it. */
typedef struct kg_param_row {
    real *values;
    real *first;  /* AdaGrad: sums of squares, row-wise of their means; Adam: means of gradients */
    real *second; /* Adam: means of squares */
} kg_param_row;

/* How many numbers `first` has for a row of so many columns. */
size_t kg__optimizer_state(kg_method method, size_t columns);

/* Takes the steps behind `from`, up to and with `to`, without a gradient. */
void kg__optimizer_catch_up(const kg_optimizer *optimizer, kg_param_row row, size_t columns,
                            uint64_t from, uint64_t to);

/* Takes a step with a gradient. */
void kg__optimizer_step(const kg_optimizer *optimizer, kg_param_row row, const real *gradient,
                        size_t columns, uint64_t step);

#endif
