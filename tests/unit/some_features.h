/* Evidence for tests of what works with it: counted over a random graph, and worth random numbers.
 */
#ifndef KG_TESTS_SOME_EVIDENCE_H
#define KG_TESTS_SOME_EVIDENCE_H

#include "give_term.h"
#include "terms/feature_term.h"

struct some_evidence {
    kg_adjacency graph;
    kg_feature_counts counts;
    real *weights;
};

/* Of facts that are not the test's own; KG_WITHOUT_REFLEXIVE is how they are taken. */
void open_evidence(struct some_evidence *some, const kg_triples *facts, size_t entities,
                   size_t relations, kg_feature_set features);

/* Of `facts` random facts, of which some have popular ends. */
void make_evidence(struct some_evidence *some, size_t entities, size_t relations, size_t facts,
                   kg_feature_set features);
void give_evidence(kg_params *params, struct some_evidence *some);
void free_evidence(struct some_evidence *some);

#endif
