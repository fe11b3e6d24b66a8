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
#ifndef KG_EVIDENCE_VACANCY_H
#define KG_EVIDENCE_VACANCY_H

#include "graph/adjacency.h"
#include "math/real.h"

#define KG_VACANCY_CLASSES 16

typedef struct kg_vacancy {
    const kg_adjacency *graph; /* borrowed */
    real *values;              /* directed_count x KG_VACANCY_CLASSES */
    size_t directed_count;
} kg_vacancy;

KG_MUST_CHECK kg_status kg_vacancy_open(kg_vacancy *out, const kg_adjacency *graph,
                                        size_t directed_count, kg_error *error);
void kg_vacancy_close(kg_vacancy *vacancy);

/* How many facts a candidate has of what is asked for, seen from its side; and the vacancy of one
 * with so many. */
size_t kg_vacancy_facts(const kg_vacancy *vacancy, kg_directed asked, kg_id candidate);
real kg_vacancy_value(const kg_vacancy *vacancy, kg_directed asked, size_t facts);

/* Of a candidate for an answer, as if it had no fact with `self`, which may be KG_NO_ID. */
real kg_vacancy_of(const kg_vacancy *vacancy, kg_directed asked, kg_id self, kg_id candidate);

/* Of some entities, for several questions: out[kind * count + i] is that of entity i for the
 * question asked[kind]. `kinds` has for each directed relation its place in `asked`, or KG_NO_ID.
 */
void kg_vacancy_fill(const kg_vacancy *vacancy, real *out, const kg_directed *asked,
                     size_t asked_count, const uint32_t *kinds, const kg_id *entities,
                     size_t count);

#endif
