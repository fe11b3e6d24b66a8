/* Pooling of the messages that reach a row of a layer (kg_pooling), forward and backward. */
#ifndef KG_TERMS_POOLING_H
#define KG_TERMS_POOLING_H

#include "terms/propagation/propagation.h"

/* Rows of a layer that messages reach, and how they are pooled. */
typedef struct kg_pooled_rows {
    const kg_propagation_layer *layer;
    const uint32_t *rows;
    size_t count;
    unsigned pooling;
    size_t poolings; /* how many ways these are */
    size_t width;
} kg_pooled_rows;

/* out: count x (poolings x width). */
void kg__pool(real *out, const kg_pooled_rows *rows);

/* From gradients on what was pooled to those on messages (x width), which are added. Those that get
 * their first are cleared before, and noted. */
void kg__pool_backward(real *on_messages, bool *is_used, const real *on_pooled, const real *pooled,
                       const kg_pooled_rows *rows);

#endif
