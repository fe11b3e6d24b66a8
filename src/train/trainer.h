/* The state of a run, shared by the loop and the checkpoints. */
#ifndef KG_TRAIN_TRAINER_H
#define KG_TRAIN_TRAINER_H

#include "train/rgcn.h"
#include "train/train.h"

/* What a model consists of: embeddings, and the tensors of its encoder, if it has one. */
enum {
    KG_ENTITIES,
    KG_RELATIONS,
    KG_AGGREGATE_RELATIONS,
    KG_WEIGHTS,
    KG_ECHOES,
    KG_WORTH,
    KG_ENCODER,
    KG_TABLE_COUNT = KG_ENCODER + KG_ENCODER_TENSORS,
};

typedef struct kg_trained {
    const char *name; /* as in the files; NULL if the model has no such table */
    kg_table table;
    real *best; /* values of the best epoch; NULL if there is none yet */
} kg_trained;

struct kg_trainer {
    kg_train_options options;
    const kg_dataset *dataset;
    kg_adjacency candidates; /* the training facts, of all in-sample entities */
    kg_adjacency adjacency;  /* the same, of the entities that have any; borrows its parts */
    kg_trained params[KG_TABLE_COUNT];
    kg_encoder encoder; /* the views of its params, if it has an encoder */
    kg_encoder best_encoder;
    kg_graft graft; /* likewise, if it learns about pairs of relations */
    kg_graft best_graft;
    kg_features evidence; /* likewise, if anything counts as such */
    kg_features best_evidence;
    kg_clues clues;
    kg_optimizer optimizer;
    kg_optimizer weight_optimizer;
    kg_optimizer echo_optimizer;
    kg_optimizer worth_optimizer;
    kg_batches batches;
    kg_item *items;
    kg_stepper *stepper;
    kg_rgcn *rgcn; /* takes the steps if there is an encoder; NULL if not */
    kg_portions portions;
    kg_quiz *quiz; /* takes the steps of the softmax loss; NULL if it is another */

    uint64_t step;  /* taken so far */
    uint64_t epoch; /* the current one, from 0 */
    size_t batch;   /* the next of the epoch */
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

/* The views of all params as they are now. */
kg_params kg__trainer_params(const kg_trainer *trainer);

/* Batches in an epoch. */
size_t kg__trainer_batches(const kg_trainer *trainer);

/* Room for the best values of all params, unless it is there. */
KG_MUST_CHECK kg_status kg__trainer_make_best(kg_trainer *trainer, kg_error *error);

#endif
