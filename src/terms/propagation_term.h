/* The propagation term, for the loss that it is trained with (train/propagation_loss.c), and for
 * its explanation (propagation_explain.c). */
#ifndef KG_TERMS_PROPAGATION_TERM_H
#define KG_TERMS_PROPAGATION_TERM_H

#include "model/term.h"
#include "terms/propagation/propagation.h"

extern const kg_term kg__term_propagation;

/* Views of what was learned. */
kg_propagation kg__propagation_view(const kg_term_view *view);

/* ---- Explanation ---- */

/* A pass for the scorer's query, without the fact at `left_out`. The next one overwrites it. */
KG_MUST_CHECK kg_status kg__propagation_query(kg_propagation_pass *out,
                                              const struct kg_scorer *scorer, size_t number,
                                              size_t left_out, kg_error *error);

/* The place of an entity among those that are scored; as many as these are: it is not reached. */
size_t kg__propagation_place(const kg_propagation_pass *pass, kg_id entity);

/* What the term adds to an entity's score. */
double kg__propagation_part(const kg_propagation_pass *pass, const kg_term_view *view,
                            kg_id entity);

KG_MUST_CHECK kg_status kg__propagation_explain(struct kg_explain_use *use, size_t number,
                                                kg_error *error);

#endif
