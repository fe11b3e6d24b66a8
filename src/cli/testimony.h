/* Evidence for an answer, in words. */
#ifndef KG_CLI_TESTIMONY_H
#define KG_CLI_TESTIMONY_H

#include "cli/grafting.h"

/* What is told, and of whom. */
typedef struct cli_testimony {
    const cli_graft *graft;
    const cli_subject *subject;
    kg_link asked;
    const kg_testimony *evidence; /* KG_FEATURE_COUNT */
    double magnitudes;            /* of all parts of the score, summed */
} cli_testimony;

/* A list of those that say something. NULL if memory is short. */
json_t *cli_testimony_json(const cli_testimony *testimony);

/* What the evidence of a feature is, as in "paths of two facts". */
const char *cli_feature_title(kg_feature feature);

/* The largest reasons of a feature that run through a fact, a line each. */
KG_MUST_CHECK kg_status cli_testimony_print(const cli_testimony *testimony, kg_feature feature,
                                            kg_link fact, kg_error *error);

#endif
