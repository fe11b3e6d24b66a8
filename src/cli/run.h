/* A run of kgraft tune or kgraft reproduce: its settings, its folder, and what came of it. The
 * folder tells all: that of a finished run is a complete model, one that came to nothing has a
 * failed.json, anything else has yet to be trained, from its checkpoint if there is one. */
#ifndef KG_CLI_RUN_H
#define KG_CLI_RUN_H

#include "base/progress.h"
#include "cli/grid.h"
#include "train/train.h"

typedef enum cli_run_state { CLI_WAITING, CLI_FINISHED, CLI_FAILED } cli_run_state;

typedef struct cli_run {
    const void *settings; /* of cli_train */
    kg_train_options options;
    cli_run_name name;
    char *path;
    cli_run_state state;
    uint64_t epochs; /* the rest is about a run that is finished, */
    kg_epoch best;
    double seconds;                  /* of training, and of what had to be counted before */
    uint64_t memory;                 /* of the process, in bytes, at most; 0 if nobody knows */
    char failure[KG_ERROR_TEXT_MAX]; /* or one that failed */
} cli_run;

/* Finds out what is in the folder. What was made with other settings or data is an error. */
KG_MUST_CHECK kg_status cli_run_look(cli_run *trial, const kg_dataset *dataset, kg_error *error);

/* Trains it, from its checkpoint if there is one. One that comes to nothing becomes a failed one,
 * for good: with the same settings it would fail again. */
KG_MUST_CHECK kg_status cli_run_train(cli_run *trial, const kg_dataset *dataset,
                                      const kg_progress *progress, kg_error *error);

#endif
