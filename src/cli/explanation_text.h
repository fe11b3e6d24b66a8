/* The terms of a score and the reasons of features, in words. */
#ifndef KG_CLI_EXPLANATION_TEXT_H
#define KG_CLI_EXPLANATION_TEXT_H

#include "cli/inference.h"

/* What is described, and of which entity. */
typedef struct cli_contributions {
    const cli_inference *inference;
    const cli_subject *subject;
    kg_link asked;
    const kg_explanation *explanation;
    double magnitudes; /* of all parts of the score, summed */
} cli_contributions;

/* A list of the features that have reasons. NULL if memory is short. */
json_t *cli_contributions_json(const cli_contributions *contributions);

/* What a term is, as in "paths of two facts". */
const char *cli_term_title(const kg_score_term *term);

/* The largest reasons of a term that contribute through a fact, a line each. */
KG_MUST_CHECK kg_status cli_contributions_print(const cli_contributions *contributions, size_t term,
                                                kg_link fact, kg_error *error);

#endif
