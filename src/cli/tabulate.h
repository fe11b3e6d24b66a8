/* What comes of an experiment: text, tables and plots, as JSON that says nothing about layout. A
 * report shows it to people; see report.h for the form. */
#ifndef KG_CLI_TABULATE_H
#define KG_CLI_TABULATE_H

#include "cli/experiment.h"
#include "cli/runner.h"

/* Less than what is described. */
typedef struct cli_tabulate_limits {
    uint64_t seeds;   /* at most so many for each entry; 0: as described */
    const char *only; /* the one data set; NULL: all */
} cli_tabulate_limits;

/* Plans all that the experiment needs. */
KG_MUST_CHECK kg_status cli_tabulate_plan(const cli_experiment *experiment,
                                          const cli_tabulate_limits *limits, cli_runner *campaign,
                                          kg_error *error);

/* Judges what the campaign has trained. A new reference. */
KG_MUST_CHECK kg_status cli_tabulate(json_t **out, const cli_experiment *experiment,
                                     const cli_tabulate_limits *limits, cli_runner *campaign,
                                     const kg_progress *progress, kg_error *error);

#endif
