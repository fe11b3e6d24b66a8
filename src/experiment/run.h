/* A training run of an experiment or a grid: its settings, its folder, and its result. All state is
 * in the folder: that of a finished run is a complete model, that of a failed one has a
 * failed.json, anything else has yet to be trained, from its checkpoint if there is one. */
#ifndef KG_EXPERIMENT_RUN_H
#define KG_EXPERIMENT_RUN_H

#include <limits.h>

#include "base/progress.h"
#include "train/trainer.h"

/* A name for a folder, as in "lr=0.1,l2=0". */
typedef struct experiment_run_name {
    char text[NAME_MAX + 1];
} experiment_run_name;

typedef enum experiment_run_state {
    EXPERIMENT_WAITING,
    EXPERIMENT_FINISHED,
    EXPERIMENT_FAILED
} experiment_run_state;

typedef struct experiment_run {
    kg_train_options options;
    experiment_run_name name;
    char *path;
    experiment_run_state state;
    uint64_t epochs; /* of a finished run, and so the following */
    kg_epoch best;
    double seconds;                  /* of training and of the preparation before it */
    uint64_t memory;                 /* peak of the process in bytes; 0: not known */
    char failure[KG_ERROR_TEXT_MAX]; /* of a failed run */
} experiment_run;

/* Sets the state by what is in the folder. What was made with other settings or data is an error.
 */
KG_MUST_CHECK kg_status experiment_run_look(experiment_run *run, const kg_dataset *dataset,
                                            kg_error *error);

/* Trains it, from its checkpoint if there is one. A run that diverges is recorded as failed and not
 * tried again: with the same settings it would diverge again. */
KG_MUST_CHECK kg_status experiment_run_train(experiment_run *run, const kg_dataset *dataset,
                                             const kg_progress *progress, kg_error *error);

#endif
