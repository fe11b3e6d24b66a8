/* Baselines without training, by counts of training facts, or of the known facts of a new graph:
 *
 *   popularity           number of facts of the candidate
 *   relation-popularity  number of facts in which it is on the queried side of the relation
 *   echo                 number of the query entity's other facts that lead to it
 *
 * Ties in one are broken by the one above it. */
#ifndef KG_RANK_BASELINES_H
#define KG_RANK_BASELINES_H

#include "rank/metrics.h"
#include "rank/queries.h"

typedef enum kg_baseline { KG_POPULARITY, KG_RELATION_POPULARITY, KG_ECHO } kg_baseline;

/* The rank of each query's answer among the candidates, other known answers left out. */
KG_MUST_CHECK kg_status kg__baseline_rank(double *ranks, kg_baseline baseline,
                                          const kg_queries *queries, const kg_dataset *dataset,
                                          kg_ties ties, kg_error *error);

#endif
