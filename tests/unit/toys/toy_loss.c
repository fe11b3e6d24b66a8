/* A toy: (score - label)^2. */
#include "math/vector.h"
#include "train/loss.h"

static kg_status query(kg_query_block *b, size_t i) {
    const kg_train_query *query = &b->queries[i];
    const real *row = kg__entity_row(b->params, query->target.other);
    const real *vector = b->vectors + i * b->dim;
    real *out = NULL;
    real miss = kg__dot(vector, row, b->dim) - (real)query->label;
    b->loss += (double)(miss * miss);
    KG_TRY(kg__grads_add(b->grads, &out, KG_PARAM_ENTITIES, b->error));
    for (size_t k = 0; k < b->dim; k++) {
        b->gradients[i * b->dim + k] = 2 * miss * row[k];
        out[k] = 2 * miss * vector[k];
    }
    return kg__grads_send(b->grads, KG_PARAM_ENTITIES, query->target.other, b->error);
}

static kg_status block(kg_query_block *b) {
    return kg__embedding_each(b, query);
}

const kg_loss_row kg__loss_toy = {
    .name = "toy",
    .open_sampler = kg__triple_sampler_open,
    .parts = 400, /* more than threads and queries */
    .block = block,
};
