/* Metrics over all queries and over groups of them: by the number of facts that an entity is
 * embedded from, by the missing side, by relation, and separately for echo and fresh queries. A
 * query is an echo if another fact of its entity already leads to the answer, so that copying
 * suffices; all others are fresh. */
#ifndef KG_RANK_BREAKDOWN_H
#define KG_RANK_BREAKDOWN_H

#include "rank/metrics.h"
#include "rank/queries.h"

/* Queries whose entities are embedded from `fewest` to `most` facts. */
typedef struct kg_bin {
    size_t fewest;
    size_t most;
    kg_metrics metrics;
} kg_bin;

typedef struct kg_breakdown {
    kg_metrics all;
    kg_metrics by_side[2];   /* the missing end: KG_HEAD, KG_TAIL */
    kg_metrics *by_relation; /* of each in-sample relation */
    size_t relation_count;
    bool unseen; /* the following are set only if it is true */
    kg_bin *bins;
    size_t bin_count;
    kg_metrics echo;
    kg_metrics fresh;
} kg_breakdown;

/* At most `bins` bins of about the same size; entities with the same number of facts stay together.
 */
KG_MUST_CHECK kg_status kg__breakdown_make(kg_breakdown *out, const kg_queries *queries,
                                           const double *ranks, size_t relation_count, size_t bins,
                                           kg_error *error);
void kg__breakdown_free(kg_breakdown *breakdown);

/* Whether another fact of the entity leads to the same answer. */
bool kg__query_is_echo(const kg_queries *queries, const kg_query *query);

#endif
