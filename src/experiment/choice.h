/* The settings of an entry, chosen by validation out of a grid: all combinations of the lists in
 * its "grid" are trained with seed 0, and the one with the best validation has the settings that
 * the entry's own runs get. Only epochs count that the entry's own runs validate: so a grid that is
 * validated often serves entries that are validated often and such that are not. */
#ifndef KG_EXPERIMENT_CHOICE_H
#define KG_EXPERIMENT_CHOICE_H

#include "experiment/description.h"
#include "experiment/runner.h"

/* Checks the lists of all entries, and the options with the first values. */
KG_MUST_CHECK kg_status experiment_choice_check(const experiment_description *experiment,
                                                const char *only, experiment_runner *runner,
                                                kg_error *error);

/* Plans the runs of the grids: of all data sets, or `only` one. */
KG_MUST_CHECK kg_status experiment_choice_plan(const experiment_description *experiment,
                                               const char *only, experiment_runner *runner,
                                               kg_error *error);

/* Chooses, when they are trained. */
KG_MUST_CHECK kg_status experiment_choice_make(experiment_description *experiment, const char *only,
                                               experiment_runner *runner, kg_error *error);

#endif
