/* Replaying a data set: the facts that training has not seen (all parts but train and the new
 * graph) come as a stream, in an order that the seed decides, into a live graph that starts as a
 * model's.
 *
 * Facts come in transactions. Each fact is asked about just before its transaction: for its tail
 * given the head, and for its head given the tail, where both are in the graph by then and the
 * given one has a fact to be embedded from. The answer is ranked among all other entities of the
 * graph, other answers that are live by then left out. So no query knows what comes after it
 * (prequential evaluation).
 *
 * Ranks are a function of the model, the data set, the seed and the sizes below, and do not depend
 * on time or threads. */
#ifndef KG_EXPERIMENT_REPLAY_H
#define KG_EXPERIMENT_REPLAY_H

#include "base/progress.h"
#include "graph/dataset.h"
#include "rank/metrics.h"

typedef struct experiment_replay_options {
    const kg_dataset *dataset;
    const char *model;
    uint64_t seed;
    uint64_t batch;  /* facts of a transaction, at least 1 */
    double rate;     /* facts a second at most; 0: as many as can be */
    double withdraw; /* probability that a fact is followed by the withdrawal of one before */
    uint64_t
        compact_every; /* facts; 0: never. It needs a store, which is made for the time being */
    int threads;
    const kg_progress *progress;
} experiment_replay_options;

/* What was asked within a part of the stream. */
typedef struct experiment_window {
    uint64_t facts;      /* that have come when it ends, */
    uint64_t entities;   /* entities of the graph then, */
    uint64_t generation; /* and of the model, from 1 */
    uint64_t unasked;    /* queries about or for entities that were not there yet */
    kg_metrics all;
    kg_metrics known; /* where the answer is an in-sample entity of the data set, */
    kg_metrics later; /* and where it came with the stream */
} experiment_window;

#define EXPERIMENT_WINDOWS 20

typedef struct experiment_replay {
    uint64_t repeated;  /* facts that were there already */
    uint64_t unknown;   /* facts with relations that the model does not know, left out */
    uint64_t withdrawn; /* facts */
    experiment_window windows[EXPERIMENT_WINDOWS];
    size_t count;
    experiment_window total;
    double seconds;
} experiment_replay;

KG_MUST_CHECK kg_status experiment_replay_run(experiment_replay *out,
                                              const experiment_replay_options *options,
                                              kg_error *error);

/* NULL if memory is short. */
json_t *experiment_replay_json(const experiment_replay *replay);

#endif
