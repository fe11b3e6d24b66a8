/* A layer of an encoder over a whole graph, forward and backward, on all threads.
 *
 * Entities are taken in tiles, each of which is mixed from its neighbours' rows and then multiplied
 * by the bases at once. Gradients of weights are summed over a fixed number of parts of the graph,
 * and these in order, so the bits do not depend on the number of threads. What a tile mixes is
 * mixed again on the way back: that costs little next to the products, and the memory of all tiles
 * would be several times that of the rows. */
#ifndef KG_TRAIN_CONVOLVE_H
#define KG_TRAIN_CONVOLVE_H

#include "model/rgcn_encoder.h"

/* out (entities x outputs) = the layer of rows (entities x inputs), for the graph's entities. */
KG_MUST_CHECK kg_status kg__convolve(real *out, const kg_layer *layer, const real *rows,
                                     const kg_adjacency *graph, int threads, kg_error *error);

/* Where gradients go, each of the shape of what it is the gradient of. */
typedef struct kg_layer_gradients {
    real *mix;
    real *bases;
    real *self; /* NULL without self-loops */
    real *rows; /* NULL if nobody wants it */
} kg_layer_gradients;

/* Sets the gradients, for g (entities x outputs) on what the layer gave. */
KG_MUST_CHECK kg_status kg__convolve_back(const kg_layer_gradients *gradients,
                                          const kg_layer *layer, const real *rows, const real *g,
                                          const kg_adjacency *graph, int threads, kg_error *error);

#endif
