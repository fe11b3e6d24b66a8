/* Metrics over all questions, and over parts of them: by how many facts an entity is embedded from,
 * by the side that is missing, by relation, and apart for echoes and the rest. A question is an
 * echo if its answer also stands among the entity's other facts: then copying is enough. */
#ifndef KG_RANK_BREAKDOWN_H
#define KG_RANK_BREAKDOWN_H

#include "rank/metrics.h"
#include "rank/queries.h"

/* Questions about entities that are embedded from `fewest` to `most` facts. */
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
    bool unseen; /* only then there are the following */
    kg_bin *bins;
    size_t bin_count;
    kg_metrics echo;
    kg_metrics fresh;
} kg_breakdown;

/* At most `bins` bins of about the same size; entities with the same number of facts stay together.
 */
KG_MUST_CHECK kg_status kg__breakdown_make(kg_breakdown *out, const kg_queries *questions,
                                           const double *ranks, size_t relation_count, size_t bins,
                                           kg_error *error);
void kg__breakdown_free(kg_breakdown *report);

/* Whether the answer also stands among the entity's other facts. */
bool kg__query_is_echo(const kg_queries *questions, const kg_query *question);

#endif
