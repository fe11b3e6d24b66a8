/* The work that experiments ask for: models to train and to judge, each once, in one folder.
 *
 *     runs/DATA/NAME           a model directory; NAME tells the options that are not the preset's
 *     judged/DATA/NAME.json    what kgraft eval says about it, or about a baseline
 *
 * Everything that is there already is taken as it is, if it was made of the same data with the same
 * settings; so a campaign that was stopped goes on, and experiments share what they have in common.
 */
#ifndef KG_CLI_RUNNER_H
#define KG_CLI_RUNNER_H

#include "base/json.h"
#include "cli/cli.h"
#include "graph/dataset.h"

typedef struct cli_runner cli_runner;

/* A model, or a baseline, and how it is judged. */
typedef struct cli_request {
    const char *data;   /* the name of a data set */
    const char *train;  /* options of kgraft train; NULL: nothing is trained */
    const char *option; /* one more of them, and its value; NULL: none */
    const char *value;
    uint64_t seed;
    const char *eval; /* options of kgraft eval */
} cli_request;

typedef struct cli_runner_options {
    const char *data; /* the folder that holds the data sets */
    const char *out;  /* the folder of the campaign */
    uint64_t threads; /* 0: as many as there are processors */
    cli_context *context;
} cli_runner_options;

/* What the options point to must live as long as the campaign. To be closed also when this failed.
 */
KG_MUST_CHECK kg_status cli_runner_open(cli_runner **out, const cli_runner_options *options,
                                        kg_error *error);
void cli_runner_close(cli_runner *campaign);

/* Plans what a request needs, and checks all that can be checked before the work starts. */
KG_MUST_CHECK kg_status cli_runner_plan(cli_runner *campaign, const cli_request *request,
                                        kg_error *error);

/* Trains all models of the plan that are not there yet. */
KG_MUST_CHECK kg_status cli_runner_train(cli_runner *campaign, kg_error *error);

/* The metrics of a planned request whose model is trained: those of kgraft eval --json (but for
 * "by_relation"), "seed", and of a model "run" (its folder), "epochs", "best_epoch", "valid_mrr",
 * "seconds" and, where it is known, "megabytes". For a run that came to nothing: "seed", "run" and
 * "failure". A new reference. */
KG_MUST_CHECK kg_status cli_runner_judge(json_t **out, cli_runner *campaign,
                                         const cli_request *request, kg_error *error);

/* A data set by its name, read when it is asked for the first time. */
KG_MUST_CHECK kg_status cli_runner_data(const kg_dataset **out, cli_runner *campaign,
                                        const char *name, kg_error *error);

#endif
