/* Learning an encoder end to end: the entities' rows are a parameter that is computed (step.h). A
 * step encodes all entities, scores the batch by the rows that come out, and follows the gradients
 * on these rows back through both layers to the weights.
 *
 * The facts of the batch are left out of the graph that is encoded, as an unseen entity is encoded
 * without the fact that is queried: otherwise the encoder learns to find in its input what it
 * is to predict. Only a batch of all facts leaves nothing out, since nothing would be left. */
#ifndef KG_TRAIN_RGCN_TRAINING_H
#define KG_TRAIN_RGCN_TRAINING_H

#include "train/step.h"

/* All borrowed. */
typedef struct kg_rgcn_parts {
    const kg_sampler *sampler;
    const kg_adjacency *graph; /* of all training facts */
    kg_param_list *list;
    size_t tensors[KG_ENCODER_TENSORS]; /* their numbers in the list; SIZE_MAX: there is none */
    kg_encoder encoder;                 /* the view of these */
    int threads;
} kg_rgcn_parts;

typedef struct kg_rgcn kg_rgcn;

KG_MUST_CHECK kg_status kg__rgcn_open(kg_rgcn **out, const kg_rgcn_parts *parts, kg_error *error);
void kg__rgcn_close(kg_rgcn *rgcn);

/* The entities' rows, as a step computes them. */
kg_computed kg__rgcn_computed(kg_rgcn *rgcn);

#endif
