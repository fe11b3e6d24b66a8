/* The functions that the table of aggregators is made of; only aggregate.c uses them. */
#ifndef KG_AGGREGATE_AGGREGATORS_H
#define KG_AGGREGATE_AGGREGATORS_H

#include "aggregate/aggregate.h"

/* Numbers that any of them needs room for: three vectors over the links, three over the columns,
 * and for each link left out a row, a row of the small system, and a right side. */
#define KG_SCRATCH_SIZE(count, left, dim) (3 * ((count) + (dim)) + (left) * ((dim) + (left) + 1))

void kg_mean_load(kg_aggregate *aggregate);
void kg_mean_forward(kg_aggregate *aggregate, real *z, kg_left_out left);
void kg_mean_backward(kg_aggregate *aggregate, const real *z, const real *g, kg_left_out left);

void kg_ls_load(kg_aggregate *aggregate);
void kg_ls_forward(kg_aggregate *aggregate, real *z, kg_left_out left);
void kg_ls_backward(kg_aggregate *aggregate, const real *z, const real *g, kg_left_out left);
void kg_ls_finish(kg_aggregate *aggregate);

void kg_rgcn_forward(kg_aggregate *aggregate, real *z, kg_left_out left);

#endif
