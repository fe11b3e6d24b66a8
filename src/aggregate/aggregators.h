/* The functions that the table of aggregators is made of. */
#ifndef KG_AGGREGATE_AGGREGATORS_H
#define KG_AGGREGATE_AGGREGATORS_H

#include "aggregate/aggregate.h"

void kg__mean_load(kg_aggregate *aggregate);
void kg__mean_forward(kg_aggregate *aggregate, real *z, kg_left_out left);
void kg__mean_backward(kg_aggregate *aggregate, const real *g, kg_left_out left);

/* Makes an equation of a query vector, in place: row . z = target. The norm is that of the query
 * vector, or 0 if it is too short to have a direction, and one is wanted. */
void kg__ls_equation(const kg_aggregate_options *options, double *row, double *target, double *norm,
                     size_t dim);
void kg__ls_load(kg_aggregate *aggregate);
void kg__ls_forward(kg_aggregate *aggregate, real *z, kg_left_out left);
void kg__ls_backward(kg_aggregate *aggregate, const real *g, kg_left_out left);
void kg__ls_finish(kg_aggregate *aggregate);

void kg__rgcn_forward(kg_aggregate *aggregate, real *z, kg_left_out left);

#endif
