/* The messages of a layer of propagation.h, one for each source and directed relation: the source's
 * gated vector times the weights w_l[q,r] of the relation; forward and backward. */
#ifndef KG_TERMS_MESSAGES_H
#define KG_TERMS_MESSAGES_H

#include "terms/propagation/propagation.h"

/* Once sources and messages of the layer are known (frontier.h). False if memory is short. */
bool kg__messages_make(kg_propagation_pass *pass, size_t layer, kg_arena *scratch);

/* In scratch memory; vectors that get no gradient are not filled in. */
typedef struct kg_message_gradients {
    real *on_messages; /* message_count x width: whoever uses messages adds to them */
    bool *is_used;
    real *on_gated; /* source_count x width */
    bool *is_source;
    real *on_relations; /* directed_count x width */
    bool *is_relation;
} kg_message_gradients;

/* Without any gradient yet. False if memory is short. */
bool kg__message_gradients_open(kg_message_gradients *out, const kg_propagation_pass *pass,
                                size_t layer, kg_arena *scratch);

/* From gradients on messages to those on gated vectors, and on what the weights are made of. */
KG_MUST_CHECK kg_status kg__messages_backward(kg_message_gradients *gradients,
                                              const kg_propagation_pass *pass, size_t layer,
                                              kg_grads *grads, kg_error *error);

#endif
