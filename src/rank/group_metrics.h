/* Metrics by groups of a part's facts, of a data set whose dataset.json names such groups, as those
 * of `kgraft generate` do: "groups": {"test": [{"name": "1 step", "facts": 1000}, ...]}, in the
 * order of the facts. */
#ifndef KG_RANK_GROUP_METRICS_H
#define KG_RANK_GROUP_METRICS_H

#include "rank/metrics.h"
#include "rank/queries.h"

typedef struct kg_metrics_group {
    const char *name; /* of the data set's history */
    kg_metrics all;
    kg_metrics by_side[2]; /* the missing end: KG_HEAD, KG_TAIL */
} kg_metrics_group;

typedef struct kg_group_metrics {
    kg_metrics_group *list;
    size_t count;
} kg_group_metrics;

/* Of queries for both ends of each fact of an in-sample part. There are none where the groups that
 * are named do not add up to the part: then they are not about it. */
KG_MUST_CHECK kg_status kg__group_metrics_make(kg_group_metrics *out, const kg_queries *queries,
                                               const double *ranks, const kg_dataset *dataset,
                                               kg_part part, kg_error *error);
void kg__group_metrics_free(kg_group_metrics *groups);

/* {name: metrics and "by_side"}; NULL if memory is short. */
json_t *kg__group_metrics_json(const kg_group_metrics *groups);

#endif
