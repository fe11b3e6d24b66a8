/* Weighted sums of rows: the mean, and what graft has in common with it. For a question, whose
 * weights depend on what is asked,
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
    size_t questions;    /* for which weights differ: rows of the following */
    const real *weights; /* questions x groups; NULL: all 1 */
    real *sums;          /* groups x dim: of the other ends */
    real *rows;          /* groups x dim: q_g */
    real *totals;        /* questions x dim: the weighted sums over all groups; or NULL */
    real *gradients;     /* questions x dim: on these; NULL before the first */
    real *scratch;       /* 2 x dim */
    real scale;          /* N^-power of the last use */
    double wide_scale;   /* the same, for explanations */
} kg_mean;

/* Makes sums and rows of the groups. False: no memory. */
bool kg__mean_load_groups(kg_aggregate *aggregate, kg_mean *mean);

/* Then totals, by the weights, where what is left out is subtracted from them. */
bool kg__mean_load_totals(kg_aggregate *aggregate, kg_mean *mean);

/* As in the table of aggregators; their state starts with a kg_mean. */
void kg__mean_forward(kg_aggregate *aggregate, real *z, kg_left_out left);
bool kg__mean_backward(kg_aggregate *aggregate, const real *g, kg_left_out left);
double kg__mean_weight(const kg_aggregate *aggregate, size_t i);
double kg__mean_part(kg_aggregate *aggregate, size_t i, const real *vector);

/* The weight of a group in the question at hand. */
real kg__mean_group_weight(const kg_aggregate *aggregate, size_t group);

#endif
