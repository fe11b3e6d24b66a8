/* What commands that judge have in common: kgraft eval shows one judgement, kgraft reproduce
 * gathers many. */
#ifndef KG_CLI_EVAL_H
#define KG_CLI_EVAL_H

#include <stdbool.h>

#include "base/json.h"
#include "base/progress.h"
#include "graph/dataset.h"
#include "model/scoring.h"

typedef struct cli_evaluation {
    const void *settings; /* of cli_eval */
    const kg_dataset *dataset;
    const char *source; /* where it comes from, for messages */
    const char *model;  /* a model directory; not used by baselines that count facts */
    const kg_progress *progress;
} cli_evaluation;

/* Finds what is wrong before there is a model; `kind` is what it will be, not used by baselines
 * that count facts. */
KG_MUST_CHECK kg_status cli_eval_check(const void *settings, const kg_scoring *kind,
                                       const char *source, const kg_dataset *dataset,
                                       kg_error *error);

/* Baselines that count facts need none. */
bool cli_eval_needs_model(const void *settings);

/* What kgraft eval --json prints. A new reference. */
KG_MUST_CHECK kg_status cli_eval_json(json_t **out, const cli_evaluation *evaluation,
                                      kg_error *error);

#endif
