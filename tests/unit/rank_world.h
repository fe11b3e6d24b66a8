/* A random data set with embeddings for it, for tests of ranking. */
#ifndef KG_TESTS_RANK_WORLD_H
#define KG_TESTS_RANK_WORLD_H

#include "rank/rank.h"
#include "some_propagation.h"
#include "support.h"

enum filling { INTEGERS, REALS, CONSTANTS, HOLES };

struct world {
    kg_dataset dataset;
    kg_params params;
    real *entities;
    real *relations;
    const struct some_propagation *propagation; /* NULL: there is none */
};

/* Facts of some entities in all parts, and rows for those in sample: small integers, of which many
 * ties come; reals; all 1; integers with NaN and infinity between them. */
void make_world(struct world *world, size_t entities, size_t dim, enum filling filling);
void free_world(struct world *world);

/* The facts of the query's entity but for the queried one. */
size_t keep_others(kg_link *others, const kg_queries *queries, const kg_query *query);

#endif
