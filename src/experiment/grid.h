/* All combinations of values of settings: what `--lr 0.1,0.01 --l2 0,0.1` means to kgraft tune. */
#ifndef KG_EXPERIMENT_GRID_H
#define KG_EXPERIMENT_GRID_H

#include "experiment/run.h"

/* Enough for weeks of training; more is a mistake. */
#define EXPERIMENT_MOST_RUNS 1000

/* A setting and the values that were given for it. */
typedef struct experiment_axis {
    const kg_setting *setting;
    char *values; /* one after the other, each terminated by a zero */
    size_t count;
} experiment_axis;

typedef struct experiment_grid {
    experiment_axis axes[KG_MOST_SETTINGS]; /* in the order of the table */
    size_t axis_count;
    size_t count;          /* of combinations; the last axis changes fastest */
    kg_settings *settings; /* of all of them */
} experiment_grid;

/* `lists` has a list, or NULL, for each row of the table of settings. */
KG_MUST_CHECK kg_status experiment_grid_make(experiment_grid *out, const char *const *lists,
                                             kg_error *error);
void experiment_grid_free(experiment_grid *grid);

/* Whether an axis has several values. */
static inline bool experiment_axis_varies(const experiment_axis *axis) {
    return axis->count > 1;
}

/* Adds a value; `*length` starts as 0. */
KG_MUST_CHECK kg_status experiment_run_name_add(experiment_run_name *name, size_t *length,
                                                const char *option, const char *value,
                                                kg_error *error);

/* The settings that vary, or "run" if none does. */
KG_MUST_CHECK kg_status experiment_grid_name(experiment_run_name *out, const experiment_grid *grid,
                                             size_t i, kg_error *error);

/* The settings that are not those of the preset, and the preset, unless it is the paper's; as in
 * "preset=graft,seed=1", or "default". */
KG_MUST_CHECK kg_status experiment_train_name(experiment_run_name *out,
                                              const kg_train_options *options, kg_error *error);

#endif
