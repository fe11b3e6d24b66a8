/* The state of a run, shared by the loop and the checkpoints. */
#ifndef KG_TRAIN_TRAINER_H
#define KG_TRAIN_TRAINER_H

#include "train/rgcn.h"
#include "train/train.h"

struct kg_trainer {
    kg_train_options options;
    const kg_dataset *dataset;
    kg_adjacency candidates; /* the training facts, of all in-sample entities */
    kg_adjacency adjacency;  /* the same, of the entities that have any; borrows its parts */

    kg_param_list list;
    size_t pair_weights; /* numbers in the list; SIZE_MAX: there is none */
    size_t tensors[KG_ENCODER_TENSORS];
    kg_pairs weighted;                 /* pairs of relations */
    kg_term_view terms[KG_MOST_TERMS]; /* without values */

    kg_sampler sampler;
    kg_batch batch;
    kg_rgcn *rgcn; /* computes the entities' rows; NULL if they are learned */
    kg_computed computed;
    kg_step *step;

    /* Views of the values, and of the best ones. */
    struct kg_trainer_view {
        kg_encoder encoder;
        kg_graft graft;
    } now, best;

    uint64_t steps; /* taken so far */
    uint64_t epoch; /* the current one, from 0 */
    size_t next;    /* batch of the epoch */
    double loss;    /* of the epoch so far */
    double seconds;
    kg_epoch *history;
    size_t history_count;
    size_t history_capacity;

    uint64_t best_epoch; /* from 1; 0: there is none */
    double best_mrr;
    uint64_t since_best; /* validations */

    double next_checkpoint;
    json_t *carried; /* in checkpoints, for others; NULL: nothing */
};

/* The views of all parameters as they are now, or as they were best. */
kg_params kg__trainer_params(kg_trainer *trainer, bool best);

#endif
