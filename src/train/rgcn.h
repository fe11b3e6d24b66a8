/* Learning an encoder end to end: a step encodes all entities, scores the batch by the rows that
 * come out, and follows the gradients on these rows back through both layers to the weights.
 *
 * The facts of the batch are left out of the graph that is encoded, as an unseen entity is encoded
 * without the fact that it is asked for: otherwise the encoder learns to find in its input what it
 * is to predict. Only a batch of all facts leaves nothing out, since nothing would be left. */
#ifndef KG_TRAIN_RGCN_H
#define KG_TRAIN_RGCN_H

#include "train/step.h"

/* All borrowed. */
typedef struct kg_rgcn_parts {
    const kg_batches *batches;
    const kg_adjacency *graph; /* of all training facts */
    kg_stepper *stepper;       /* of the two params below */
    const kg_optimizer *optimizer;
    kg_table *entities;                    /* computed */
    kg_table *relations;                   /* learned */
    kg_table *tensors[KG_ENCODER_TENSORS]; /* features and hidden rows computed, weights learned */
    kg_encoder encoder;                    /* the view of these */
    size_t trained_relations;              /* those with ids below */
    int threads;
} kg_rgcn_parts;

typedef struct kg_rgcn kg_rgcn;

KG_MUST_CHECK kg_status kg__rgcn_open(kg_rgcn **out, const kg_rgcn_parts *parts, kg_error *error);
void kg__rgcn_close(kg_rgcn *rgcn);

/* Takes step number `step` (from 1) with the items of that batch, like kg__stepper_step. */
KG_MUST_CHECK kg_status kg__rgcn_step(kg_rgcn *rgcn, const kg_item *items, size_t count,
                                      uint64_t step, double *loss, kg_error *error);

/* Makes the computed params what the weights make of all training facts. */
KG_MUST_CHECK kg_status kg__rgcn_encode(kg_rgcn *rgcn, kg_error *error);

#endif
