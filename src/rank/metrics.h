/* Ranks, and their means: MRR, Hits@k, MR. */
#ifndef KG_RANK_METRICS_H
#define KG_RANK_METRICS_H

#include "base/json.h"

/* What rank an answer has among candidates with the same score: the mean of best and worst, the
 * best, the worst, or, as the paper's authors count, the mean rounded down. */
typedef enum kg_ties { KG_REALISTIC, KG_OPTIMISTIC, KG_PESSIMISTIC, KG_REFERENCE } kg_ties;

/* `higher` candidates have a better score, `equal` the same, the answer itself not counted. */
double kg__rank_of(uint64_t higher, uint64_t equal, kg_ties ties);

/* Sums are gathered rank by rank in metrics that start as zeroes, and become means in the end. */
void kg__metrics_add(kg_metrics *metrics, double rank);
void kg__metrics_mean(kg_metrics *metrics);

/* NULL if memory is short. */
json_t *kg__metrics_json(const kg_metrics *metrics);

#endif
