/* What the evidence for an answer is made of: named facts and counts, one reason for each path,
 * each fact that others share, and each vote. Nothing is left over: the shares of a feature's
 * reasons come to its phi, as a product of doubts (rules), the largest (company), or a sum (votes).
 */
#ifndef KG_EVIDENCE_EXPLAIN_H
#define KG_EVIDENCE_EXPLAIN_H

#include "evidence/witness.h"

typedef struct kg_reason {
    kg_feature feature;
    /* A rule's path, from the entity's fact to the answer; the fact that others share; or, of a
     * vote, who has it, by the relation that is asked for. */
    kg_link path[KG_MOST_STEPS];
    size_t steps;
    double hits;    /* right predictions of the rule; others with the fact that give the answer */
    double chances; /* its predictions; others with the fact that have an answer */
    double share;
} kg_reason;

/* The reasons for an answer to the last question, as it was asked; at most `most`, those with the
 * largest shares first. Returns how many there are in all. */
size_t kg_witness_explain(kg_witness *witness, kg_reason *out, size_t most, kg_id answer);

#endif
