/* The results of an experiment: text, tables and plots, as JSON without layout. A report shows
 * them; see report/results.h for the format. */
#ifndef KG_EXPERIMENT_TABULATE_H
#define KG_EXPERIMENT_TABULATE_H

#include "experiment/description.h"
#include "experiment/runner.h"

/* Restrictions of what the description says. */
typedef struct experiment_limits {
    uint64_t seeds;   /* most seeds of an entry; 0: as described */
    const char *only; /* the one data set; NULL: all */
} experiment_limits;

/* Plans all that the experiment needs. */
KG_MUST_CHECK kg_status experiment_tabulate_plan(const experiment_description *experiment,
                                                 const experiment_limits *limits,
                                                 experiment_runner *runner, kg_error *error);

/* Evaluates what the runner has trained. A new reference. */
KG_MUST_CHECK kg_status experiment_tabulate(json_t **out, const experiment_description *experiment,
                                            const experiment_limits *limits,
                                            experiment_runner *runner, const kg_progress *progress,
                                            kg_error *error);

#endif
