/* The paths of an explanation, drawn. */
#ifndef KG_CLI_EXPLANATION_PLOT_H
#define KG_CLI_EXPLANATION_PLOT_H

#include "cli/explanation_text.h"

/* Writes a file with the paths that propagation reached the answer along. A model without that term
 * is refused. */
KG_MUST_CHECK kg_status cli_contributions_draw(const cli_contributions *contributions,
                                               const char *path, kg_error *error);

#endif
