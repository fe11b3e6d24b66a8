/* Evidence for tests of what works with it: counted over a random graph, and worth random numbers.
 */
#ifndef KG_TESTS_SOME_EVIDENCE_H
#define KG_TESTS_SOME_EVIDENCE_H

#include "terms/features/features.h"

struct some_evidence {
    kg_adjacency graph;
    kg_features evidence;
    real *weights;
};

/* Of facts that are not the test's own; KG_WITHOUT_REFLEXIVE is how they are taken. */
void open_evidence(struct some_evidence *some, const kg_triples *facts, size_t entities,
                   size_t relations, kg_feature_set features);

/* Of `facts` random facts, of which some have popular ends. */
void make_evidence(struct some_evidence *some, size_t entities, size_t relations, size_t facts,
                   kg_feature_set features);
void free_evidence(struct some_evidence *some);

#endif
