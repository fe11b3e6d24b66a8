/* Scoring functions. Each is linear in each entity, so for a fact with one end missing there is a
 * query vector q, computed from the relation and the known end, with
 *
 *     score = z_missing . q(relation, known, missing)
 *
 * A scoring function is given by q and its derivative by the relation. Since the score is
 * trilinear, the derivative by the known end is q itself: if g is the gradient on q(r, x, missing),
 * the gradient on x is q(r, g, other end). Nothing else in the program depends on which one it is.
 */
#ifndef KG_MODEL_SCORING_H
#define KG_MODEL_SCORING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "graph/adjacency.h"
#include "math/real.h"

/* All rows, of entities and relations, have `dim` numbers, a multiple of `parts`: that many parts
 * of equal length, one after the other. A number of q depends on the numbers at the same place of
 * the parts, and on no others. */
typedef struct kg_scoring {
    const char *name;
    size_t parts;
    size_t joined;   /* parts that form one number: 2 for complex numbers, 4 for quaternions */
    bool is_encoded; /* entity rows are computed by an encoder (rgcn_encoder.h), not learned */
    bool is_turn;    /* relations are normalised: only their directions matter, not their lengths */

    /* q of a fact whose end `missing` is not known. */
    void (*query)(real *q, const real *relation, const real *known, kg_end missing, size_t dim);

    /* gradient += the gradient on the relation, given the gradient g on q(relation, known,
     * missing). */
    void (*relation_gradient)(real *gradient, const real *relation, const real *known,
                              const real *g, kg_end missing, size_t dim);
} kg_scoring;

/* distmult, simple, complex, quate, rgcn-d; ended by a row without name. */
extern const kg_scoring kg__scorings[];

/* Replaces a relation's row by that of the inverse relation: (head, relation, tail) then has the
 * score that (tail, relation, head) had before. */
void kg__scoring_invert(const kg_scoring *scoring, real *relation, size_t dim);

/* The row of that name, or NULL. */
const kg_scoring *kg__scoring_find(const char *name);

/* Refuses one with an encoder: facts that are added to a graph cannot change its vectors. `path`,
 * for the message, may be NULL. */
KG_MUST_CHECK kg_status kg__scoring_check_live(const kg_scoring *scoring, const char *path,
                                               kg_error *error);

#endif
