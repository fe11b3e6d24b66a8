/* Pooling of the sets of messages of a layer (kg_pooling), forward and backward. What is pooled by
 * share is the sum of messages, since rows have shares of their own. */
#ifndef KG_TERMS_POOLING_H
#define KG_TERMS_POOLING_H

#include "terms/propagation/propagation.h"

/* Sets that are not empty, and how they are pooled. */
typedef struct kg_pooled_sets {
    const kg_propagation_layer *layer;
    const uint32_t *sets;
    size_t count;
    unsigned pooling;
    size_t width;
} kg_pooled_sets;

/* out: for each way, one after the other, count x width. */
void kg__pool(real *out, const kg_pooled_sets *sets);

/* From gradients on what was pooled to those on messages (x width), which are added. Those that get
 * their first are cleared before, and noted. */
void kg__pool_backward(real *on_messages, bool *is_used, const real *on_pooled, const real *pooled,
                       const kg_pooled_sets *sets);

#endif
