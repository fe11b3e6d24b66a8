/* What commands that train have in common: kgraft train makes one model directory of its settings,
 * kgraft tune many. */
#ifndef KG_CLI_TRAIN_H
#define KG_CLI_TRAIN_H

#include "cli/grid.h"
#include "train/fit.h"

/* Refuses options that are given where they would have no effect, so before others are filled in,
 * and a share to hold out that is none. */
KG_MUST_CHECK kg_status cli_train_check(const void *settings, kg_error *error);

/* Puts the values that are usual for the preset and the model where no others are given. */
void cli_train_fill_in(void *settings);

/* What the settings of cli_train come to. */
kg_train_options cli_train_options(const void *settings);

/* A name for a run whose settings are filled in: the options that are not those of its preset, and
 * the preset, unless it is the paper's. */
KG_MUST_CHECK kg_status cli_train_name(cli_run_name *out, const void *settings, kg_error *error);

/* The share of entities to hold out that the settings ask for. */
double cli_train_hold_out(const void *settings);

typedef struct cli_training {
    const void *settings; /* of cli_train */
    const kg_dataset *dataset;
    const char *path; /* that becomes a model directory */
    double hold_out;  /* as in kg_fit_options, and the following */
    bool refit;
    bool resume;
    bool force;
    const kg_train_watcher *watcher;
} cli_training;

/* Trains to the end and writes the model. KG_DIVERGED, KG_CANCELLED: there is no model, but perhaps
 * a checkpoint. */
KG_MUST_CHECK kg_status cli_train_model(kg_fit_result *out, const cli_training *training,
                                        kg_error *error);

#endif
