/* Vacancies: whether an entity still has room for one more question whose answer it is.
 *
 * Some can be the answer only once (an entity has one place of birth), others are the likelier an
 * answer the more often they have been one. For each directed relation it is counted how often
 * entities with n facts of it (seen from the answer's side) turn out to have one more, against how
 * many entities have n:
 *
 *     vacancy = log(P(n | answers, the fact that is asked for left out) / P(n | all entities))
 *
 * with n in classes that get wider. It depends on the question's relation and the candidate alone,
 * so there is one for every entity, with evidence or without. */
#ifndef KG_TERMS_DEGREE_PRIOR_H
#define KG_TERMS_DEGREE_PRIOR_H

#include "graph/adjacency.h"
#include "math/real.h"

#define KG_DEGREE_PRIOR_CLASSES 16

typedef struct kg_degree_prior {
    const kg_adjacency *graph; /* borrowed */
    real *values;              /* directed_count x KG_DEGREE_PRIOR_CLASSES */
    size_t directed_count;
} kg_degree_prior;

KG_MUST_CHECK kg_status kg__degree_prior_open(kg_degree_prior *out, const kg_adjacency *graph,
                                              size_t directed_count, kg_error *error);
void kg__degree_prior_close(kg_degree_prior *vacancy);

/* How many facts a candidate has of what is asked for, seen from its side; and the vacancy of one
 * with so many. */
size_t kg__degree_prior_facts(const kg_degree_prior *vacancy, kg_directed asked, kg_id candidate);
real kg__degree_prior_value(const kg_degree_prior *vacancy, kg_directed asked, size_t facts);

/* Of a candidate for an answer, as if it had no fact with `self`, which may be KG_NO_ID. */
real kg__degree_prior_of(const kg_degree_prior *vacancy, kg_directed asked, kg_id self,
                         kg_id candidate);

/* Of some entities, for several questions: out[kind * count + i] is that of entity i for the
 * question asked[kind]. `kinds` has for each directed relation its place in `asked`, or KG_NO_ID.
 */
void kg__degree_prior_fill(const kg_degree_prior *vacancy, real *out, const kg_directed *asked,
                           size_t asked_count, const uint32_t *kinds, const kg_id *entities,
                           size_t count);

#endif
