/* What the evidence for an answer is made of: named facts and counts, one reason for each path,
 * each fact that others share, and each vote. Nothing is left over: phi of a feature is
 * the sum of its reasons' shares (rules, votes), or the largest of them (company). All of it runs
 * through facts of the entity: a path through its first one, a vote through those that the voter
 * shares, in proportion to what each adds to the similarity. */
#ifndef KG_TERMS_REASONS_H
#define KG_TERMS_REASONS_H

#include "terms/features/extractor.h"

/* Room for reasons, those with the largest shares first. */
typedef struct kg_reasons {
    kg_reason *items;
    size_t most;
    size_t count;    /* found, listed or not */
    double *through; /* of each fact of the entity: how much of phi runs through it; may be NULL */
} kg_reasons;

/* The reasons of each feature for an answer to the last question, as it was asked. */
void kg__extractor_explain(kg_extractor *witness, kg_reasons lists[KG_EXTRACTED_COUNT],
                           kg_id answer);

#endif
