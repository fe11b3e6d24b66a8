/* Degree prior: how likely an entity is an answer, given how many facts of the queried relation it
 * has.
 *
 * In some relations an entity is the answer at most once ("born in" seen from the place: a person
 * has one place of birth); in others, those
 * that have been an answer often are likelier to be one again. For each directed relation, the
 * degrees n of answers (number of facts of that relation, seen from the answer's side, the queried
 * fact left out) are compared with those of all entities:
 *
 *     prior = log(P(n | answers) / P(n | all entities))
 *
 * with n in classes of growing width. It depends on the query's directed relation and the candidate
 * alone, so every entity has it, whether or not features were extracted for it. */
#ifndef KG_TERMS_DEGREE_PRIOR_H
#define KG_TERMS_DEGREE_PRIOR_H

#include "graph/adjacency.h"
#include "math/real.h"

#define KG_DEGREE_PRIOR_CLASSES 16

/* The class of a degree: 0, 1, 2, 3, then by powers of two. */
static inline size_t kg__degree_prior_class(size_t facts) {
    if (facts < 4)
        return facts;
    size_t width = (size_t)(63 - __builtin_clzll(facts));
    return width + 2 < KG_DEGREE_PRIOR_CLASSES ? width + 2 : KG_DEGREE_PRIOR_CLASSES - 1;
}

typedef struct kg_degree_prior {
    const kg_adjacency *graph; /* borrowed */
    real *values;              /* directed_count x KG_DEGREE_PRIOR_CLASSES */
    size_t directed_count;
} kg_degree_prior;

KG_MUST_CHECK kg_status kg__degree_prior_open(kg_degree_prior *out, const kg_adjacency *graph,
                                              size_t directed_count, kg_error *error);
void kg__degree_prior_close(kg_degree_prior *prior);

/* The degree of a candidate: how many facts of the queried relation it has, seen from its side; and
 * the prior for a degree. */
size_t kg__degree_prior_facts(const kg_degree_prior *prior, kg_directed query, kg_id candidate);
real kg__degree_prior_value(const kg_degree_prior *prior, kg_directed query, size_t facts);

/* The prior of a candidate, its facts with `self` left out, which may be KG_NO_ID. */
real kg__degree_prior_of(const kg_degree_prior *prior, kg_directed query, kg_id self,
                         kg_id candidate);

/* Of several entities for several directed relations: out[k * count + i] is the prior of entity i
 * for queries[k]. `index` has for each directed relation its position in `queries`, or KG_NO_ID. */
void kg__degree_prior_fill(const kg_degree_prior *prior, real *out, const kg_directed *queries,
                           size_t query_count, const uint32_t *index, const kg_id *entities,
                           size_t count);

#endif
