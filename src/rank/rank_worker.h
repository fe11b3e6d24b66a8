/* What a thread ranks with: an embedder of queries, room for a tile of them, and counters. */
#ifndef KG_RANK_RANK_WORKER_H
#define KG_RANK_RANK_WORKER_H

#include "rank/rank.h"
#include "rank/rank_count.h"

/* What is ranked, for all threads. */
typedef struct kg_ranking {
    const kg_queries *queries;
    const kg_rank_options *options;
    kg_blocks blocks;
    int threads;
    struct kg_rank_worker *workers; /* of each */
    double *ranks;
    double *own_ranks; /* NULL: not wanted */
} kg_ranking;

typedef struct kg_rank_worker {
    kg_query_embedder embedder;
    real *vectors; /* KG_TILE x dim */
    kg_approx_scores approx;
    kg_rank_count counters[KG_TILE];
    size_t starts[KG_TILE + 1]; /* of the queries' offsets */
} kg_rank_worker;

KG_MUST_CHECK kg_status kg__rank_worker_open(kg_rank_worker *worker, const kg_ranking *ranking,
                                             kg_error *error);
void kg__rank_worker_close(kg_rank_worker *worker);

/* A counter for query i of the ranking, which has that vector and these offsets. */
kg_rank_count kg__rank_counter(const kg_ranking *ranking, size_t i, const real *vector,
                               kg_offset_run offsets);

/* Takes the ranks of consecutive queries, from `first` on, out of counters that have ended. */
void kg__rank_take(const kg_ranking *ranking, const kg_rank_count *counters, size_t first,
                   size_t count);

/* Says that `done` of `total` queries are ranked; may be told to stop. */
KG_MUST_CHECK kg_status kg__rank_report(const kg_ranking *ranking, size_t done, size_t total,
                                        kg_error *error);

#endif
