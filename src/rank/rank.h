/* Filtered ranking: the rank of the right answer among all candidates without other known answers.
 * Candidates are the in-sample entities, with those that came later in a live graph, or the
 * entities of a new graph. Ranks are exactly those of a plain loop over all candidates, for any
 * number of threads and ranks. */
#ifndef KG_RANK_RANK_H
#define KG_RANK_RANK_H

#include "base/progress.h"
#include "rank/metrics.h"
#include "rank/row_source.h"

typedef struct kg_rank_options {
    kg_embedding embedding; /* of unseen entities */
    kg_ties ties;
    int threads;
    kg_ranks *ranks;             /* that share queries and candidates; NULL: this process alone */
    const kg_row_source *rows;   /* of entities, for several ranks; NULL: all rows are there */
    const char *stage;           /* what progress calls it; NULL: "ranking" */
    const kg_progress *progress; /* may be NULL */
    double *own_ranks; /* of each query whose answer did not come later: its rank among those that
                        * did not; NULL: not wanted */
} kg_rank_options;

/* The rank of each query's answer. Params are moved to the graph of queries about a new one. */
KG_MUST_CHECK kg_status kg__rank(double *ranks, const kg_queries *queries, const kg_params *params,
                                 const kg_rank_options *options, kg_error *error);

/* Their metrics. */
KG_MUST_CHECK kg_status kg__rank_metrics(kg_metrics *out, const kg_queries *queries,
                                         const kg_params *params, const kg_rank_options *options,
                                         kg_error *error);

#endif
