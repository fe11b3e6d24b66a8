/* Ridge regression with implicit negatives, after Hu, Koren and Volinsky (2008): ials. An unseen
 * entity's vector should give each of its facts the score 1, and, less urgently, the score 0 to
 * what its relations could link it to but are not known to, which is nearly every entity:
 *
 *     M z = sum of q_i,   M = sum of q_i q_i^T + alpha sum over rho of B_rho G B_rho^T + lambda m I
 *
 * where rho are the directed relations of its facts, each once, B_rho is the linear map that makes
 * query vectors of entities, q(rho, u) = B_rho u, G = E^T E over all entities, and m is the mean of
 * |q_i|^2. It serves embeddings that were not trained for unseen entities, or elsewhere.
 *
 * This is how a blend (blend.h) does it. There is no way back, so nothing learns through it. */
#ifndef KG_AGGREGATE_IALS_H
#define KG_AGGREGATE_IALS_H

#include "aggregate/aggregate.h"
#include "aggregate/fact_rows.h"

/* G of the first `entities` rows, for kg_params, if the aggregator (which may be NULL) needs it;
 * NULL if not. To be kg_freed. O(entities dim^2). */
KG_MUST_CHECK kg_status kg__gram_make(double **out, const kg_aggregator *aggregator,
                                      const kg_params *params, size_t entities, kg_error *error);

/* What a blend has for it. Rows are those of the blend. */
typedef struct kg_ials {
    double *implicit; /* dim x dim: alpha sum of B G B^T over the relations of the links */
    size_t lacking;   /* which it lacks: that of the link at this position; KG_NOTHING: none */
    bool is_made;     /* there is one for this entity */
    double *explicit; /* dim x dim: sum of q q^T over all links, where there are many */
    double *system;   /* dim x dim: M of the last use, and then its factor */
    double *squares;  /* of each link: |q|^2 */
    double *kept;     /* the rows that are not left out, where there are few */
    double *line;     /* dim */
} kg_ials;

void kg__ials_free(kg_ials *ials);

/* Room for `count` links, of which up to `few` are solved afresh for each use. False: no memory. */
bool kg__ials_make_room(kg_ials *ials, const kg_params *params, size_t count, size_t few);

/* An entity by its links and their rows; links of a relation stand together. */
typedef struct kg_ials_facts {
    const kg_params *params;
    const kg_aggregate_options *options;
    const kg_link *links;
    const double *rows;
    size_t count;
    bool is_few;
    kg_fact_map *map; /* for B */
} kg_ials_facts;

void kg__ials_load(kg_ials *ials, const kg_ials_facts *facts);

/* Replaces the sum of the rows but the one at `left_out` by z of these. False if the embeddings are
 * not finite. */
bool kg__ials_solve(kg_ials *ials, const kg_ials_facts *facts, double *sum, size_t left_out);

/* The part of a row in the score z . vector of the last z: row . M^-1 vector. */
double kg__ials_part(kg_ials *ials, const double *row, const real *vector, size_t dim);

#endif
