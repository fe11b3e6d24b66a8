/* The settings of training among those of kgraft train, which experiments and kgraft tune use as
 * well. */
#ifndef KG_CLI_TRAIN_OPTIONS_H
#define KG_CLI_TRAIN_OPTIONS_H

#include "cli/cli.h"
#include "train/fit.h"

/* Those of training among the settings of cli_train. */
const kg_settings *cli_train_settings(const void *settings);

/* The training options that they give, checked; on all processors if no number of threads is given.
 */
KG_MUST_CHECK kg_status cli_train_options(kg_train_options *out, const kg_settings *settings,
                                          kg_error *error);

/* The share of entities to hold out that the settings ask for. */
double cli_train_hold_out(const kg_settings *settings);

#endif
