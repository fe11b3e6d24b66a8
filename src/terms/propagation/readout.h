/* Scores from the vectors of the last layer of propagation.h, and what all gets that is not
 * reached; forward and backward. */
#ifndef KG_TERMS_READOUT_H
#define KG_TERMS_READOUT_H

#include "terms/propagation/layer.h"

KG_MUST_CHECK kg_status kg__readout_forward(kg_propagation_pass *pass,
                                            kg_propagation_worker *worker, kg_error *error);

/* Gives gradients on the last layer's rows, in scratch memory. */
KG_MUST_CHECK kg_status kg__readout_backward(const kg_propagation_pass *pass, const real *on_scores,
                                             const real *on_unreached, kg_row_gradients *out,
                                             kg_propagation_worker *worker, kg_grads *grads,
                                             kg_error *error);

#endif
