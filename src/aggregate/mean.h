/* Weighted sums of rows: the mean, and what graft has in common with it. For a query, on which the
 * weights may depend,
 *
 *     z = N^-power sum over groups g of weight(g) q_g
 *
 * where q_g is the sum of the rows of the group's facts. Query vectors are linear in the known end,
 * so that is the query vector of the sum of the group's other ends. */
#ifndef KG_AGGREGATE_MEAN_H
#define KG_AGGREGATE_MEAN_H

#include "aggregate/aggregate.h"

typedef struct kg_mean {
    double power;
    size_t queries;      /* for which weights differ: rows of the following */
    const real *weights; /* queries x groups; NULL: all 1 */
    real *sums;          /* groups x dim: of the other ends */
    real *rows;          /* groups x dim: q_g */
    real *totals;        /* queries x dim: the weighted sums over all groups; or NULL */
    real *gradients;     /* queries x dim: on these; NULL before the first */
    real *scratch;       /* 2 x dim */
    real scale;          /* N^-power of the last use */
    double wide_scale;   /* the same, for explanations */
} kg_mean;

/* Makes sums, rows and totals, of a mean with power, queries and weights. False: no memory. */
bool kg__mean_load(kg_aggregate *aggregate, kg_mean *mean);

/* As in the table of aggregators; their state starts with a kg_mean. */
void kg__mean_forward(kg_aggregate *aggregate, real *z, kg_left_out left);
bool kg__mean_backward(kg_aggregate *aggregate, const real *g, kg_left_out left);
double kg__mean_weight(const kg_aggregate *aggregate, size_t i);
double kg__mean_part(kg_aggregate *aggregate, size_t i, const real *vector);

#endif
