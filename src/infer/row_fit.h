/* Rows that follow facts which training did not know.
 *
 * The row of an entity that came later is fitted to the questions that its facts answer.
 *
 * The question of a fact is what its other end asks, and the entity is the answer: with the vector
 * v of that query, its row E scores E . v. A row starts at random, as rows do in training, as long
 * as those of the model; what it is to begin with follows from the entity's name. From there it is
 * moved by ridge regression towards the score that right answers have on average:
 *
 *     E = E_0 + x,    x = argmin sum over facts of (target - v . (E_0 + x))^2 + ridge |x|^2
 *
 * The start is what tells an entity from all others, so that a query that knows it as the other end
 * of a fact can copy it; the questions are what it is as an answer that is not known yet. The
 * aggregate of its facts would be neither: in a model that was trained to embed the entities that
 * ask, vectors of these are in another space than rows of candidates.
 *
 * An entity asks by its row or, in a model that was trained for that (kg__queries_by_facts), by its
 * facts: if it is the model's own by training facts that are live, so that rows do not depend on
 * what others get.
 *
 * The row of one of the model's own entities that asks by its row is corrected in the same way: it
 * starts as it is, and is moved towards scores of right answers for facts that were added, and of
 * others for facts that were withdrawn.
 *
 * Targets and ridge are those of the model's own rows, which were learned as answers to such
 * questions: a sample of them. */
#ifndef KG_INFER_ROW_FIT_H
#define KG_INFER_ROW_FIT_H

#include "aggregate/embedder.h"
#include "model/model.h"

/* Facts that a row is fitted to, and that an entity asks by; of more, so many at equal distances.
 */
#define KG_MOST_FITTED 64
#define KG_MOST_ASKING 8

/* One for each thread. */
typedef struct kg_row_fit {
    bool is_by_facts; /* entities ask by their facts */
    double size;      /* root mean square of the numbers of the model's rows */
    double target;    /* score of right answers, */
    double wrong;     /* and of others */
    double ridge;     /* 0: right answers are not known, and rows stay as they start */
    kg_arena arena;   /* of the row at hand */

    kg_link asking[KG_MOST_ASKING];
    real *z;           /* dim: of who asks */
    real *vector;      /* dim: of the question */
    double *start;     /* dim */
    double *questions; /* KG_MOST_FITTED x dim */
    double targets[KG_MOST_FITTED];
    size_t count; /* of these */
} kg_row_fit;

/* The embedder has the model's params. */
KG_MUST_CHECK kg_status kg__row_fit_open(kg_row_fit *fit, const kg_model *model,
                                         kg_embedder *embedder, kg_error *error);
void kg__row_fit_close(kg_row_fit *fit);

/* Another one of the same model, for another thread. To be closed also when this failed. */
KG_MUST_CHECK kg_status kg__row_fit_fork(kg_row_fit *out, const kg_row_fit *fit, size_t dim,
                                         kg_error *error);

/* Starts with the row of an entity of that name that came later, or with a row. */
void kg__row_fit_start(kg_row_fit *fit, kg_name name, size_t dim);
void kg__row_fit_start_at(kg_row_fit *fit, const real *row, size_t dim);

/* Adds the question that `link.other` asks by these facts, sorted like those of any entity, and
 * that link.directed, seen from there, is the relation of. At most KG_MOST_FITTED are added. */
KG_MUST_CHECK kg_status kg__row_fit_add(kg_row_fit *fit, kg_embedder *embedder, kg_link link,
                                        double target, const kg_link *facts, size_t count,
                                        kg_error *error);

/* The row. */
KG_MUST_CHECK kg_status kg__row_fit_finish(kg_row_fit *fit, real *row, size_t dim, kg_error *error);

#endif
