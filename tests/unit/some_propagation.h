/* Propagation with random parameters, for tests of what works with a term over a graph. */
#ifndef KG_TESTS_SOME_PROPAGATION_H
#define KG_TESTS_SOME_PROPAGATION_H

#include "terms/propagation_term.h"

struct some_propagation {
    kg_adjacency graph;
    kg_term_view view;
    kg_term_param shapes[KG_MOST_TERM_PARAMS];
    size_t count;                      /* of parameters */
    real *values[KG_MOST_TERM_PARAMS]; /* of each */
};

/* Over facts that are not the test's own; KG_WITHOUT_REFLEXIVE is how they are taken. */
void open_propagation(struct some_propagation *some, const kg_triples *facts, size_t entities,
                      size_t relations);

/* Over `facts` random facts, of which some have popular ends. */
void make_propagation(struct some_propagation *some, size_t entities, size_t relations,
                      size_t facts);
void give_propagation(kg_params *params, struct some_propagation *some);
void free_propagation(struct some_propagation *some);

/* The parameter of that name; `size` is how many numbers it has, and may be NULL. */
real *propagation_param(const struct some_propagation *some, const char *name, size_t *size);

/* What every entity gets for the query, by its facts in the graph. */
real propagation_prior(const struct some_propagation *some, kg_directed query, kg_id entity);

/* What a query about an entity adds to all scores above these priors, without the link at
 * `left_out`, which may be KG_NOTHING; `self` is its id, or KG_NO_ID if it is new. */
void propagate_plainly(double *out, const struct some_propagation *some, kg_id self,
                       const kg_link *links, size_t count, size_t left_out, kg_directed query);

#endif
