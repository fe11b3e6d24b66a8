/* A training run of an experiment or a grid: its settings, its folder, and its result. All state is
 * in the folder: that of a finished run is a complete model, that of a failed one has a
 * failed.json, anything else has yet to be trained, from its checkpoint if there is one.
 *
 * What came of a run is also a record (run_record.h), a small file that can be kept without the
 * model, and carried to another machine: a run with a record is not trained again. */
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
    char *record_path; /* where its record is kept; NULL: nowhere */
    experiment_run_state state;
    bool has_folder; /* its result is in the folder, not only in a record */
    json_t *record;  /* of a finished or failed run; and so the following */
    uint64_t epochs;
    kg_epoch best;
    double seconds;                  /* of training and of the preparation before it */
    uint64_t memory;                 /* peak of the process in bytes; 0: not known */
    char failure[KG_ERROR_TEXT_MAX]; /* of a failed run */
} experiment_run;

void experiment_run_close(experiment_run *run);

/* Sets the state by what is in the folder, or else by the record. What was made with other settings
 * or data is an error. */
KG_MUST_CHECK kg_status experiment_run_look(experiment_run *run, const kg_dataset *dataset,
                                            kg_error *error);

/* A finished run whose model is not there has yet to be trained, if the model is needed. */
void experiment_run_need_model(experiment_run *run);

/* Trains it, from its checkpoint if there is one. A run that diverges is recorded as failed and not
 * tried again: with the same settings it would diverge again. Beside others, in this process, its
 * memory is not known. */
KG_MUST_CHECK kg_status experiment_run_train(experiment_run *run, const kg_dataset *dataset,
                                             bool is_beside_others, const kg_progress *progress,
                                             kg_error *error);

#endif
