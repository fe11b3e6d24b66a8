/* Explaining features: what phi of an answer is composed of, as named facts and counts. A reason is
 * a path, a fact that others share, or a vote. The account is complete: phi of a feature is the sum
 * of its reasons' shares (paths, votes) or their maximum (co-occurrence). Every reason is
 * attributed to facts of the query entity: a path to its first fact, a vote to the facts shared
 * with the voter, in proportion to what each adds to the similarity. */
#ifndef KG_TERMS_REASONS_H
#define KG_TERMS_REASONS_H

#include "terms/features/extractor.h"

/* Space for reasons, sorted by share, largest first. */
typedef struct kg_reasons {
    kg_reason *items;
    size_t most;
    size_t count;    /* found, whether or not there is space for them */
    double *through; /* of each fact of the entity: the part of phi attributed to it; may be NULL */
} kg_reasons;

typedef struct kg_reason_search {
    kg_extractor *extractor;
    kg_id answer;
    kg_reasons *lists;
} kg_reason_search;

/* The reasons of each feature for an answer to the last query, as kg__extractor_candidates had it.
 */
void kg__extractor_explain(kg_extractor *extractor, kg_reasons lists[KG_EXTRACTED_COUNT],
                           kg_id answer);

/* ---- For the files of features; features that are not enabled are ignored ---- */

void kg__reasons_add(kg_reason_search *search, kg_feature feature, const kg_reason *reason);
void kg__reasons_attribute(kg_reason_search *search, kg_feature feature, size_t fact, double share);

#endif
