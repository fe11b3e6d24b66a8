/* softplus(-label score): is this the answer? */
#include <math.h>
#include <string.h>

#include "math/vector.h"
#include "train/loss.h"

static double softplus(double x) {
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* y = a x */
KG_CLONES static void multiply(real *restrict y, real a, const real *restrict x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i];
}

/* Adds the loss of query i, leaves the gradient on its vector, and adds that on the candidate's
 * row. */
static kg_status query(kg_query_block *b, size_t i) {
    const kg_train_query *query = &b->queries[i];
    const real *vector = b->vectors + i * b->dim;
    real *g = b->gradients + i * b->dim;
    const real *row = kg__entity_row(b->params, query->target.other);
    double score = (double)kg__dot(vector, row, b->dim);
    real slope = (real)(-query->label / (1 + exp(query->label * score)));
    real *out = NULL;
    b->context->scores[query->number] = score;
    b->loss += softplus(-query->label * score);
    KG_TRY(kg__grads_add(b->grads, &out, KG_PARAM_ENTITIES, b->error));
    multiply(g, slope, row, b->dim);
    multiply(out, slope, vector, b->dim);
    return kg__grads_send(b->grads, KG_PARAM_ENTITIES, query->target.other, b->error);
}

static kg_status block(kg_query_block *b) {
    return kg__embedding_each(b, query);
}

const kg_loss_row kg__loss_softplus = {
    .name = "softplus",
    .open_sampler = kg__triple_sampler_open,
    .parts = 32,
    .block = block,
};
