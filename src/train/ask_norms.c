/* N3, the weighted nuclear 3-norm (Lacroix et al. 2018): a question's loss gets
 *
 *     weight * sum of |x|^3 over the numbers x of z, of the relation's row and of the answer's
 *
 * where numbers are those that the model multiplies: complex ones by their moduli, quaternions
 * likewise. What is often asked about is held back as often. z is the entity's row, or what its
 * facts make of an unseen one. */
#include <math.h>

#include "train/asking.h"

/* Adds the gradient of the norm of one vector, whose numbers have so many parts, and returns the
 * norm. */
static inline double add_cubes(real *restrict gradient, const real *restrict vector, real weight,
                               size_t dim, size_t parts) {
    size_t n = dim / parts;
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        real square = 0;
        for (size_t k = 0; k < parts; k++)
            square += vector[k * n + i] * vector[k * n + i];
        real length = (real)sqrt((double)square);
        norm += (double)(square * length);
        for (size_t k = 0; k < parts; k++)
            gradient[k * n + i] += 3 * weight * length * vector[k * n + i];
    }
    return (double)weight * norm;
}

/* Each with a number that the compiler knows. */
KG_CLONES static double add_norm(real *gradient, const real *vector, real weight, size_t dim,
                                 size_t parts) {
    return parts == 1   ? add_cubes(gradient, vector, weight, dim, 1)
           : parts == 2 ? add_cubes(gradient, vector, weight, dim, 2)
                        : add_cubes(gradient, vector, weight, dim, 4);
}

void kg__ask_norms(const kg_asking *a, real *g_locals) {
    const kg_scoring *kind = a->params->scoring;
    real weight = (real)a->scene->n3;
    double norms = 0;
    for (size_t i = 0; i < a->question_count; i++) {
        kg_id answer = a->asked[i].other;
        norms +=
            add_norm(a->gradients + i * a->dim, a->z + i * a->dim, weight, a->dim, kind->joined);
        norms += add_norm(g_locals + a->answers[i] * a->dim, kg__entity_row(a->params, answer),
                          weight, a->dim, kind->joined);
    }
    for (kg_asked_run run = {0}; kg__asked_next(a, &run) && !kind->is_turn;) {
        size_t row = kg__relation_number(a->params, run.directed);
        norms += add_norm(a->worker->relation_sums[KG_OF_QUESTIONS] + row * a->dim,
                          kg__relation_row(a->params, run.directed),
                          weight * (real)(run.to - run.from), a->dim, kind->joined);
    }
    a->inquiry->loss += norms;
}
