/* The settings of training among those of kgraft train, which experiments and kgraft tune use as
 * well. */
#ifndef KG_CLI_TRAIN_OPTIONS_H
#define KG_CLI_TRAIN_OPTIONS_H

#include "cli/cli.h"
#include "train/training_run.h"

/* Those of training among the settings of cli_train. */
const kg_settings *cli_train_settings(const void *settings);

/* The training options that they give, checked; on all processors if no number of threads is given.
 */
KG_MUST_CHECK kg_status cli_train_options(kg_train_options *out, const kg_settings *settings,
                                          kg_error *error);

#endif
