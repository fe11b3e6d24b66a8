/* The embedding z of an entity that is known by its facts alone, when answering. Every aggregator
 * but an encoder's makes z as a sum of rows, one for each fact,
 *
 *     z = sum over i of w_i row_i           (ials: M^-1 times the sum, all w_i being 1)
 *
 * so that z, and any score that is made of it, splits exactly over the facts. It has the same bits
 * whether a fact is left out or was never there (ls and ials of many facts: but for rare
 * roundings). */
#ifndef KG_AGGREGATE_EMBEDDER_H
#define KG_AGGREGATE_EMBEDDER_H

#include "aggregate/aggregate_options.h"
#include "aggregate/ials.h"

/* A loaded entity, and its memory: one for each thread, used again and again. It must not be moved
 * while it is loaded. */
typedef struct kg_embedder {
    kg_aggregate_options options;
    kg_params params; /* borrows the embeddings */
    kg_arena arena;
    kg_aggregate aggregate;
    const kg_link *links; /* of the loaded entity; borrowed */
    size_t count;         /* of these */
    kg_directed query;    /* at hand */
    size_t left_out;      /* of the last z, or KG_NOTHING */
} kg_embedder;

void kg__embedder_open(kg_embedder *embedder, kg_aggregate_options options, kg_params params);
void kg__embedder_close(kg_embedder *embedder);

/* Takes memory for entities of that many links, so that loading them allocates nothing, for a model
 * of so many relations, at least 1. */
KG_MUST_CHECK kg_status kg__embedder_reserve(kg_embedder *embedder, size_t count,
                                             size_t relation_count, kg_error *error);

/* Loads an entity by its links, which must differ from each other, be sorted and outlive their use.
 */
KG_MUST_CHECK kg_status kg__embedder_load(kg_embedder *embedder, const kg_link *links, size_t count,
                                          kg_error *error);

/* The directed relation that the entity is queried for, on which z depends with some aggregators
 * (graft). */
void kg__embedder_set_query(kg_embedder *embedder, kg_directed query);

/* z of all links but the one at `left_out`; the zero vector if there are none. */
void kg__embedder_embed(kg_embedder *embedder, real *z, size_t left_out);

/* The part that a link has of the score z . vector of the last z, before that was rounded; and its
 * weight in z. For aggregators that have them. */
double kg__embedder_part(kg_embedder *embedder, size_t i, const real *vector);
double kg__embedder_weight(const kg_embedder *embedder, size_t i);

#endif
