/* The evaluation of a model or a baseline on a data set: what kgraft eval shows, and experiments
 * collect. */
#ifndef KG_EXPERIMENT_EVALUATION_H
#define KG_EXPERIMENT_EVALUATION_H

#include "aggregate/aggregate.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/ranks.h"
#include "experiment/live_evaluation.h"
#include "model/match_ids.h"
#include "rank/breakdown.h"
#include "rank/group_metrics.h"

/* Baselines that count facts, in the order of kg_baseline, then "oov", by which a model gives every
 * unseen entity the mean of all embeddings; ended by NULL. */
extern const char *const experiment_baseline_names[];

typedef struct experiment_eval_options {
    bool valid;     /* the validation part, not the test part */
    bool in_sample; /* facts between seen entities */
    bool live;      /* also with all unseen entities in the graph (experiment/live_evaluation.h) */
    kg_aggregate_overrides overrides;
    const char *baseline; /* one of experiment_baseline_names; NULL: the model itself */
    kg_ties ties;
    uint64_t bins;    /* groups by number of facts */
    uint64_t threads; /* 0: as many as there are processors */
    kg_ranks *ranks;  /* that share the queries; NULL: this process alone */
} experiment_eval_options;

typedef struct experiment_evaluation {
    experiment_eval_options options;
    const char *source;        /* where the data set comes from, for messages */
    const kg_dataset *dataset; /* borrowed, or with the ids of the model */
    kg_part part;              /* that the queries are of */
    kg_model model;
    kg_aligned aligned;
    kg_queries queries;
    kg_dropped known; /* unseen entities that are left out, since the model has them */
    real *mean;       /* of all in-sample embeddings, for "oov" */
    double *ranks;    /* of each query's answer */
    kg_breakdown breakdown;
    kg_group_metrics groups; /* of an in-sample part that has some */
    experiment_live live;    /* if the options ask for it */
} experiment_evaluation;

/* False for baselines that count facts. */
bool experiment_eval_needs_model(const experiment_eval_options *options);

/* Checks all that can be checked before there is a model; `scoring` is what it will have, not used
 * by baselines that count facts. */
KG_MUST_CHECK kg_status experiment_eval_check(const experiment_eval_options *options,
                                              const kg_scoring *scoring, const char *source,
                                              const kg_dataset *dataset, kg_error *error);

/* Checks the options and opens the model, a directory, if one is needed: what can fail without the
 * data set, which may take long to read. To be closed also when this failed. */
KG_MUST_CHECK kg_status experiment_evaluation_open(experiment_evaluation *out,
                                                   const experiment_eval_options *options,
                                                   const char *model, kg_error *error);
void experiment_evaluation_close(experiment_evaluation *evaluation);

/* Ranks the answers to all queries of the data set, which must outlive the evaluation. */
KG_MUST_CHECK kg_status experiment_evaluation_run(experiment_evaluation *evaluation,
                                                  const kg_dataset *dataset, const char *source,
                                                  const kg_progress *progress, kg_error *error);

/* How in-sample entities were embedded; all zeroes for unseen ones, and for baselines that count.
 */
typedef struct experiment_embedded_by {
    size_t facts; /* queries whose entity was embedded from its training facts, */
    size_t rows;  /* or by its row */
} experiment_embedded_by;
experiment_embedded_by experiment_evaluation_embedded_by(const experiment_evaluation *evaluation);

/* What kgraft eval --json prints; NULL if memory is short. A new reference. */
json_t *experiment_evaluation_json(const experiment_evaluation *evaluation);

#endif
