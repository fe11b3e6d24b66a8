/* Growing lists of gradient vectors and the rows that they go to. */
#include "model/sparse_grads.h"

#include <string.h>

#include "base/memory.h"

kg_status kg__grads_add_param(kg_grads *grads, size_t rows, size_t columns, kg_error *error) {
    kg_param_grads *params =
        kg__resize(grads->params, grads->count + 1, sizeof *params); /* a handful */
    if (params == NULL)
        return kg__fail_memory(error);
    grads->params = params;
    params[grads->count++] = (kg_param_grads){.rows = rows, .columns = columns};
    return KG_OK;
}

void kg__grads_free(kg_grads *grads) {
    for (size_t i = 0; i < grads->count; i++) {
        kg__free(grads->params[i].vectors);
        kg__free(grads->params[i].targets);
        kg__free(grads->params[i].sums);
    }
    kg__free(grads->params);
    *grads = (kg_grads){0};
}

void kg__grads_clear(kg_grads *grads) {
    for (size_t i = 0; i < grads->count; i++) {
        kg_param_grads *own = &grads->params[i];
        for (size_t k = 0; k < own->target_count && own->sums != NULL; k++)
            own->sums[own->targets[k].row] = 0;
        own->vector_count = 0;
        own->target_count = 0;
    }
}

kg_status kg__grads_add(kg_grads *grads, real **out, size_t param, kg_error *error) {
    kg_param_grads *own = &grads->params[param];
    real *vectors = kg__grow(own->vectors, &own->vector_capacity, own->vector_count + 1,
                             own->columns * sizeof *vectors);
    if (vectors == NULL)
        return kg__fail_memory(error);
    own->vectors = vectors;
    *out = vectors + own->vector_count++ * own->columns;
    return KG_OK;
}

kg_status kg__grads_send(kg_grads *grads, size_t param, size_t row, kg_error *error) {
    kg_param_grads *own = &grads->params[param];
    kg_grad_target *targets =
        kg__grow(own->targets, &own->target_capacity, own->target_count + 1, sizeof *targets);
    if (targets == NULL)
        return kg__fail_memory(error);
    own->targets = targets;
    targets[own->target_count++] =
        (kg_grad_target){(uint32_t)row, (uint32_t)(own->vector_count - 1)};
    return KG_OK;
}

kg_status kg__grads_sum(kg_grads *grads, real **out, size_t param, size_t row, kg_error *error) {
    kg_param_grads *own = &grads->params[param];
    if (own->sums == NULL)
        own->sums = kg__alloc(own->rows, sizeof *own->sums);
    if (own->sums == NULL)
        return kg__fail_memory(error);
    if (own->sums[row] == 0) {
        KG_TRY(kg__grads_add(grads, out, param, error));
        memset(*out, 0, own->columns * sizeof **out);
        KG_TRY(kg__grads_send(grads, param, row, error));
        own->sums[row] = (uint32_t)own->vector_count;
    }
    *out = own->vectors + (own->sums[row] - 1) * own->columns;
    return KG_OK;
}
