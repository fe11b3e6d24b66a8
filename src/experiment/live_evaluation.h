/* The evaluation of a model on the live graph: all unseen entities of a part are added at once,
 * with all of their facts, those between them included (kgraft split --keep-between). Each fact is
 * queried from the side of its unseen entities, as if it was not there (rank/queries.h); so one
 * between two of them gives two queries, whose answers came later than the model. */
#ifndef KG_EXPERIMENT_LIVE_EVALUATION_H
#define KG_EXPERIMENT_LIVE_EVALUATION_H

#include "graph/dataset.h"
#include "live/live.h"
#include "rank/rank.h"

typedef struct experiment_live {
    kg_live *graph;
    kg_model *snapshot;
    kg_commit added;
    kg_queries queries;
    double *ranks;          /* of each query's answer, */
    double *own_ranks;      /* and among the model's entities alone */
    kg_metrics known;       /* of those whose answer is one of the model's entities, */
    kg_metrics among_known; /* the same ranked among these, as each alone is, */
    kg_metrics later;       /* and of those whose answer came later */
} experiment_live;

/* For the queries of an unseen part. The model, whose entities must be the in-sample ones of the
 * data set, has to outlive it. Unseen entities that the model knows are left out. To be closed also
 * when this failed. */
KG_MUST_CHECK kg_status experiment_live_run(experiment_live *out, const kg_model *model,
                                            const kg_dataset *dataset, kg_part part,
                                            const kg_rank_options *options, kg_error *error);
void experiment_live_close(experiment_live *live);

/* {"entities", "facts", "known", "among_known", "later"}; NULL if memory is short. */
json_t *experiment_live_json(const experiment_live *live);

#endif
