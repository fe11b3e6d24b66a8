/* The options of kgraft eval, as an evaluation takes them. */
#ifndef KG_CLI_EVAL_OPTIONS_H
#define KG_CLI_EVAL_OPTIONS_H

#include "experiment/evaluation.h"

/* Of settings of cli_eval; refuses options that would be ignored. */
KG_MUST_CHECK kg_status cli_eval_options(experiment_eval_options *out, const void *settings,
                                         kg_error *error);

#endif
