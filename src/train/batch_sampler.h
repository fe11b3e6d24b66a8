/* What steps learn from, batch by batch: queries in blocks of one entity. A batch is a function of
 * the seed, the epoch and its number.
 *
 * Of triples (triple_batch_sampler.c): facts in random order, each with a number of corrupted
 * copies. For each of these an end is chosen that the query is about, as if it were unseen or by
 * its row, with the other end as the candidate.
 *
 * Of entities (entity_batch_sampler.c): all facts of an entity are queried, one after the other, by
 * the other facts; but of a hub at most so many at a time, so that a batch is not about one entity
 * alone. */
#ifndef KG_TRAIN_BATCH_SAMPLER_H
#define KG_TRAIN_BATCH_SAMPLER_H

#include "terms/query_block.h"

#define KG_MOST_QUERIES 64 /* of a block that queries an entity's facts */

/* An empty one is all zeroes. */
typedef struct kg_batch {
    kg_train_query *queries; /* by entity, directed relation, number */
    size_t query_count;
    size_t query_capacity;
    kg_query_range *blocks;
    size_t block_count;
    size_t block_capacity;
} kg_batch;

void kg__batch_free(kg_batch *batch);

/* Adds a query, to the last block if that has the same entity, unless it is to start another. */
KG_MUST_CHECK kg_status kg__batch_add(kg_batch *batch, kg_id entity, bool is_start,
                                      kg_train_query query, kg_error *error);

typedef struct kg_sampler_options {
    const kg_triples *facts;
    const kg_adjacency *graph; /* the same; corrupted ends are drawn from its entities */
    size_t size;               /* facts or queries in a batch, more or less */
    size_t negatives;          /* triples: corruptions of each fact */
    size_t block_limit;        /* entities: queries of a block at most; 0: KG_MOST_QUERIES */
    size_t epoch_limit;        /* entities: queries of an epoch at most; 0: all */
    double psi;                /* how often the entity is treated as unseen */
    bool shuffle;
    uint64_t seed;
} kg_sampler_options;

typedef struct kg_sampler {
    kg_sampler_options options;
    size_t batch_count;  /* of an epoch */
    size_t query_count;  /* of an epoch */
    size_t most_queries; /* of a batch */
    kg_status (*fill)(struct kg_sampler *sampler, kg_batch *out, uint64_t epoch, size_t number,
                      kg_error *error);
    void *state;
    kg_arena arena; /* holds the state */
} kg_sampler;

KG_MUST_CHECK kg_status kg__triple_sampler_open(kg_sampler *out, const kg_sampler_options *options,
                                                kg_error *error);
KG_MUST_CHECK kg_status kg__entity_sampler_open(kg_sampler *out, const kg_sampler_options *options,
                                                kg_error *error);

/* Also one that is all zeroes. */
void kg__sampler_close(kg_sampler *sampler);

/* The batch of an epoch, both numbers from 0. */
KG_MUST_CHECK kg_status kg__sampler_fill(kg_sampler *sampler, kg_batch *out, uint64_t epoch,
                                         size_t number, kg_error *error);

/* The facts of the epoch's other batches of triples; returns how many they are. */
size_t kg__triple_sampler_others(const kg_sampler *sampler, kg_triple *facts, uint64_t epoch,
                                 size_t number);

#endif
