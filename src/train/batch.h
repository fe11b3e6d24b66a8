/* What a step learns from: training facts, each with a number of corrupted twins, and for each of
 * these the choice which end is treated as unseen. A batch is a function of the seed, the epoch and
 * its number, whoever makes it. */
#ifndef KG_TRAIN_BATCH_H
#define KG_TRAIN_BATCH_H

#include "graph/adjacency.h"

typedef enum kg_unseen { KG_UNSEEN_HEAD, KG_UNSEEN_TAIL, KG_UNSEEN_NONE } kg_unseen;

typedef struct kg_item {
    kg_triple triple;
    int8_t label; /* 1 for a fact, -1 for a corrupted one */
    uint8_t unseen;
} kg_item;

typedef struct kg_batches {
    const kg_triples *facts; /* borrowed */
    size_t entity_count;     /* entities that corruption draws from */
    size_t size;             /* facts in a batch */
    size_t negatives;        /* corrupted twins of each */
    double psi;              /* how often one end is unseen */
    bool shuffle;
    uint64_t seed;
} kg_batches;

/* Batches in an epoch; the last may be smaller. */
size_t kg__batches_count(const kg_batches *batches);

/* Items in the largest batch. */
size_t kg__batches_items(const kg_batches *batches);

/* Fills in the items of a batch, both numbers from 0, and returns how many they are. */
size_t kg__batches_make(const kg_batches *batches, kg_item *items, uint64_t epoch, size_t number);

/* The facts of the epoch's other batches; returns how many they are. */
size_t kg__batches_others(const kg_batches *batches, kg_triple *facts, uint64_t epoch,
                          size_t number);

#endif
