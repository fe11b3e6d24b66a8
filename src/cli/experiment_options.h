/* Options in descriptions of experiments, read by the option tables of kgraft train and kgraft
 * eval. */
#ifndef KG_CLI_EXPERIMENT_OPTIONS_H
#define KG_CLI_EXPERIMENT_OPTIONS_H

#include "experiment/runner.h"

extern const experiment_parser cli_experiment_parser;

#endif
