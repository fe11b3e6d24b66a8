/* The terms of a score and the reasons of propagation, in words. */
#ifndef KG_CLI_EXPLANATION_TEXT_H
#define KG_CLI_EXPLANATION_TEXT_H

#include "cli/inference.h"
#include "report/explanation_json.h"

/* What is described, and of which entity. */
typedef struct cli_contributions {
    const cli_inference *inference;
    const cli_subject *subject;
    kg_link asked;
    const kg_explanation *explanation;
} cli_contributions;

/* What a term is, as in "its embedding"; and what its rest is. */
const char *cli_term_title(const kg_score_term *term);
cli_value cli_rest_title(const kg_score_term *term);

/* The largest reasons of a term that contribute through a fact, a line each. */
KG_MUST_CHECK kg_status cli_contributions_print(const cli_contributions *contributions, size_t term,
                                                kg_link fact, kg_error *error);

#endif
