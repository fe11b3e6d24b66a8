/* The encoder of RGCN-D: it computes the rows of entities from their facts, where other models
 * learn them, by two layers of relational graph convolution (Schlichtkrull et al. 2018). The input
 * features x_v of an entity are log(1 + the number of its facts) by directed relation, and
 *
 *     h_v = relu(layer 1 of x),   z_v = layer 2 of h,
 *
 *     layer of y = sum over directed relations rho of W_rho mean(y_u : v has the link (rho, u))
 *                  + W_self y_v, if there are self-loops
 *
 * where W_rho = sum over b of mix[rho, b] basis_b: a few bases are shared by all relations. An
 * unseen entity is encoded like any other, but does not contribute to its neighbours.
 *
 * Albooyeh et al. (2020) use plain counts. With them a few hubs, whose counts are thousands of
 * times those of other entities, dominate the first layer, and little is learned. */
#ifndef KG_MODEL_RGCN_ENCODER_H
#define KG_MODEL_RGCN_ENCODER_H

#include "graph/adjacency.h"
#include "model/safetensors.h"

/* The tensors of an encoder: rows of seen entities, and weights. */
typedef enum kg_encoder_tensor {
    KG_FEATURES, /* entities x inputs */
    KG_HIDDEN,   /* entities x dim */
    KG_MIX_1,    /* relations x both directions' bases */
    KG_BASES_1,  /* bases' inputs x dim */
    KG_SELF_1,   /* relations x both directions' rows of W_self */
    KG_MIX_2,    /* like the first */
    KG_BASES_2,  /* bases' dim x dim */
    KG_SELF_2,   /* dim x dim */
    KG_ENCODER_TENSORS,
} kg_encoder_tensor;

typedef struct kg_encoder_shape {
    size_t entities;
    size_t relations; /* inputs are twice as many */
    size_t dim;
    size_t bases;
    bool self_loops;
} kg_encoder_shape;

#define KG_MOST_BASES 1000

typedef struct kg_encoder {
    kg_encoder_shape shape;
    const real *tensors[KG_ENCODER_TENSORS]; /* borrowed; NULL for those that it does not have */
} kg_encoder;

/* Name on disk, rows and columns of a tensor; no rows if the shape does not have it. */
kg_tensor kg__encoder_describe(const kg_encoder_shape *shape, kg_encoder_tensor which);

/* What the rows of a tensor stand for. */
typedef enum kg_rows { KG_ROWS_OF_ENTITIES, KG_ROWS_OF_RELATIONS, KG_ROWS_OF_WEIGHTS } kg_rows;
kg_rows kg__encoder_rows(kg_encoder_tensor which);

/* One of the two layers. */
typedef struct kg_layer {
    const real *mix;   /* directed relations x bases */
    const real *bases; /* (bases x inputs) x outputs */
    const real *self;  /* inputs x outputs; NULL without self-loops */
    size_t directed_count;
    size_t base_count;
    size_t inputs;
    size_t outputs;
} kg_layer;

kg_layer kg__encoder_layer(const kg_encoder *encoder, size_t number);

/* mixed (bases x inputs) = for each basis b the sum over directed relations of mix[directed, b]
 * times the mean of the other ends' rows. With a gradient g_mixed on it, adds that on mix to g_mix;
 * both are NULL otherwise. `sum` (inputs) is scratch memory. */
void kg__layer_mix(const kg_layer *layer, real *mixed, const real *rows, const kg_link *links,
                   size_t count, real *sum, const real *g_mixed, real *g_mix);

/* features (of `count` directed relations) of an entity with these links. */
void kg__encoder_count(real *features, size_t count, const kg_link *links, size_t link_count);

/* How many numbers of scratch memory kg__encoder_embed needs. */
size_t kg__encoder_scratch(const kg_encoder *encoder);

/* z (dim) of an unseen entity with these links. */
void kg__encoder_embed(const kg_encoder *encoder, real *z, const kg_link *links, size_t count,
                       real *scratch);

#endif
