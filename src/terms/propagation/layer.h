/* The numbers of a layer of propagation.h, once its rows, messages and edges are known
 * (frontier.h): what sets of messages (messages.h) are pooled to, and the update of vectors by it;
 * forward and backward. */
#ifndef KG_TERMS_LAYER_H
#define KG_TERMS_LAYER_H

#include "terms/propagation/propagation.h"

KG_MUST_CHECK kg_status kg__layer_forward(kg_propagation_pass *pass, size_t layer,
                                          kg_propagation_worker *worker, kg_error *error);

/* Gradients on the vectors of some rows, in increasing order. */
typedef struct kg_row_gradients {
    size_t count;
    uint32_t *rows;
    real *vectors; /* count x width */
} kg_row_gradients;

/* From gradients on rows of a layer to those on rows of the layer before, in scratch memory. */
KG_MUST_CHECK kg_status kg__layer_backward(const kg_propagation_pass *pass, size_t layer,
                                           kg_row_gradients *gradients,
                                           kg_propagation_worker *worker, kg_grads *grads,
                                           kg_error *error);

#endif
