/* What a step of the softmax loss learns from: all facts of an entity are asked for, one after the
 * other, by the other facts. An entity's questions stay together, since they share what the entity
 * is made of; but of a hub at most so many, so that a batch is not about one entity alone. Batches
 * are a function of the seed and the epoch. */
#ifndef KG_TRAIN_PORTION_H
#define KG_TRAIN_PORTION_H

#include "graph/adjacency.h"

#define KG_MOST_ASKED 64   /* questions of a portion */
#define KG_MOST_SAMPLED 64 /* other ends of the entity's facts that a question is asked about */

/* Questions for the links `from` up to `to` of an entity. */
typedef struct kg_portion {
    kg_id entity;
    uint32_t from;
    uint32_t to;
    uint32_t number; /* its place in the list */
} kg_portion;

typedef struct kg_portions {
    kg_portion *list; /* in the order of entities */
    size_t count;
    size_t question_count;
    size_t batch_count;
    size_t batch_size; /* questions, more or less */
    bool shuffle;
    uint64_t seed;

    kg_portion *order; /* in the order of the epoch */
    size_t *starts;    /* batch_count + 1: portions of batch b are starts[b] up to starts[b + 1] */
    uint64_t epoch;
} kg_portions;

/* Entities with fewer than `fewest` links are not asked about. */
KG_MUST_CHECK kg_status kg__portions_open(kg_portions *portions, const kg_adjacency *graph,
                                          size_t fewest, size_t batch_size, bool shuffle,
                                          uint64_t seed, kg_error *error);
void kg__portions_close(kg_portions *portions);

/* The portions of a batch, both numbers from 0; they live until the next epoch is asked for. */
const kg_portion *kg__portions_batch(kg_portions *portions, uint64_t epoch, size_t number,
                                     size_t *count);

/* Questions in the largest batch that there can be. */
size_t kg__portions_most(const kg_portions *portions);

#endif
