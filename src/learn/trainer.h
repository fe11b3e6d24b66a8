/* The state of a run, shared by the loop and the checkpoints. */
#ifndef KG_LEARN_TRAINER_H
#define KG_LEARN_TRAINER_H

#include "learn/train.h"

struct kg_trainer {
    kg_train_options options;
    const kg_dataset *dataset;
    kg_adjacency adjacency;
    kg_table entities;
    kg_table relations;
    kg_optimizer optimizer;
    kg_batches batches;
    kg_item *items;
    kg_stepper *stepper;

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
    real *best_entities;
    real *best_relations;

    double next_checkpoint;
};

#endif
