/* The query vectors of facts in double precision. Where the rows of many facts are nearly
 * collinear, what solves equations with them magnifies the rounding of a row by the number of
 * facts; so they are not rounded to a real in between.
 *
 * A query vector is linear in the known end, and its numbers depend on those at the same place of
 * the parts (model/kinds.h): number k of q(rho, u) is the sum over parts p of factors[p][k] times
 * u's number of part p at the same place. */
#ifndef KG_AGGREGATE_FACT_ROWS_H
#define KG_AGGREGATE_FACT_ROWS_H

#include "base/arena.h"
#include "model/params.h"

/* The map u -> q(rho, u) of one directed relation. */
typedef struct kg_fact_map {
    double *factors; /* parts x dim */
    real *ones;      /* 2 x dim: scratch memory */
} kg_fact_map;

/* Memory is taken of the arena. False: there is none. */
bool kg__fact_map_open(kg_fact_map *map, kg_arena *arena, const kg_params *params);

/* Makes it that of `directed`. */
void kg__fact_map_set(kg_fact_map *map, const kg_params *params, kg_directed directed);

/* The rows (count x dim) of links, which are sorted by relation. */
void kg__fact_rows(double *rows, kg_fact_map *map, const kg_params *params, const kg_link *links,
                   size_t count);

#endif
