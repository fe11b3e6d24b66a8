/* Evidence for an answer, in words. */
#ifndef KG_CLI_FEATURE_TEXT_H
#define KG_CLI_FEATURE_TEXT_H

#include "cli/inference.h"

/* What is told, and of whom. */
typedef struct cli_contributions {
    const cli_inference *graft;
    const cli_subject *subject;
    kg_link asked;
    const kg_contribution *evidence; /* KG_FEATURE_COUNT */
    double magnitudes;               /* of all parts of the score, summed */
} cli_contributions;

/* A list of those that say something. NULL if memory is short. */
json_t *cli_contributions_json(const cli_contributions *testimony);

/* What the evidence of a feature is, as in "paths of two facts". */
const char *cli_feature_title(kg_feature feature);

/* The largest reasons of a feature that run through a fact, a line each. */
KG_MUST_CHECK kg_status cli_contributions_print(const cli_contributions *testimony,
                                                kg_feature feature, kg_link fact, kg_error *error);

#endif
