/* The models. Each scores a triple by a form that is linear in each entity, so for a fact with one
 * end missing there is a query vector q, made of the relation and the known end, with
 *
 *     score = z_missing . q(relation, known, missing)
 *
 * A model is the function q, and its derivative by the relation. Since the score is trilinear, the
 * derivative by the known end is q itself: if g is the gradient on q(r, x, missing), the gradient
 * on x is q(r, g, other end). Nothing else in the program knows which model it is. */
#ifndef KG_MODEL_SCORING_H
#define KG_MODEL_SCORING_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/adjacency.h"
#include "math/real.h"

/* All rows, of entities and relations, have `dim` numbers, a multiple of `parts`: that many parts
 * of equal length, one after the other. A number of q depends on the numbers at the same place of
 * the parts, and on no others. */
typedef struct kg_scoring {
    const char *name;
    size_t parts;
    size_t joined;   /* parts that are one number together: 2 of a complex, 4 of a quaternion */
    bool is_encoded; /* rows of entities are made by an encoder (encoder.h), not learned */
    bool is_turn;    /* relations have an effect by their directions alone, not by their lengths */

    /* q, of a fact whose end `missing` is not known. */
    void (*query)(real *q, const real *relation, const real *known, kg_end missing, size_t dim);

    /* Adds to `gradient` what a gradient g on q(relation, known, missing) means for the relation.
     */
    void (*relation_gradient)(real *gradient, const real *relation, const real *known,
                              const real *g, kg_end missing, size_t dim);
} kg_scoring;

/* distmult, simple, complex, quate, rgcn-d; ended by a row without name. */
extern const kg_scoring kg__scorings[];
extern const char *const kg__scoring_names[]; /* ended by NULL */

/* Turns a relation's row around, in place: what (head, relation, tail) scores by it is what (tail,
 * relation, head) scored before. */
void kg__scoring_turn(const kg_scoring *kind, real *relation, size_t dim);

/* The row of that name, or NULL. */
const kg_scoring *kg__scoring_find(const char *name);

#endif
