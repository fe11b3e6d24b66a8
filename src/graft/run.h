/* A training run from a data set to a model directory: trains, calibrates, writes. */
#ifndef KG_GRAFT_RUN_H
#define KG_GRAFT_RUN_H

#include "learn/train.h"

typedef struct kg_run {
    const kg_train_options *options;
    const char *preset; /* what the settings came from, for the record */
    const kg_dataset *dataset;
    const char *path; /* that becomes a model directory */
    bool resume;
    bool force;
    const kg_train_watcher *watcher;
} kg_run;

/* The model that came out. */
typedef struct kg_run_result {
    size_t epochs;
    kg_epoch best; /* the one that was kept */
} kg_run_result;

/* Trains to the end and writes the model. KG_DIVERGED, KG_CANCELLED: there is no model, but perhaps
 * a checkpoint. */
KG_MUST_CHECK kg_status kg_run_train(kg_run_result *out, const kg_run *run, kg_error *error);

#endif
