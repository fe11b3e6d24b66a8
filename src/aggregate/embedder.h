/* Answering for an entity that is known by its facts alone. Every aggregator but an encoder's makes
 * z as a sum of rows, one for each fact,
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
#include "terms/features/extractor.h"

/* A loaded entity, and its memory: one for each thread, used again and again. It must not be moved
 * while it is loaded. */
typedef struct kg_embedder {
    kg_aggregate_options options;
    kg_params params; /* borrows the embeddings */
    kg_arena arena;
    kg_aggregate aggregate;
    const kg_link *links;   /* of the loaded entity; borrowed */
    size_t count;           /* of these */
    kg_directed asked;      /* the question */
    size_t left_out;        /* of the last z, or KG_NOTHING */
    kg_extractor extractor; /* of the loaded entity's features, if the params have any */
} kg_embedder;

void kg__embedder_open(kg_embedder *embedder, kg_aggregate_options options, kg_params params);
void kg__embedder_close(kg_embedder *embedder);

/* Takes memory for entities of that many links, so that loading them allocates nothing, for a model
 * of so many relations, at least 1. */
KG_MUST_CHECK kg_status kg__embedder_reserve(kg_embedder *embedder, size_t count,
                                             size_t relation_count, kg_error *error);

/* Loads an entity by its links, which must differ from each other, be sorted and outlive their use.
 * `self` is its id if it is one of the params' entities; KG_NO_ID if it is new. */
KG_MUST_CHECK kg_status kg__embedder_load(kg_embedder *embedder, kg_id self, const kg_link *links,
                                          size_t count, kg_error *error);

/* What the entity will be asked for: only graft answers each question by another z. */
void kg__embedder_ask(kg_embedder *embedder, kg_directed asked);

/* z of all links but the one at `left_out`; the zero vector if there are none. */
void kg__embedder_embed(kg_embedder *embedder, real *z, size_t left_out);

/* The part that a link has of the score z . vector of the last z, before that was rounded; and its
 * weight in z. An encoder has neither. */
double kg__embedder_part(kg_embedder *embedder, size_t i, const real *vector);
double kg__embedder_weight(const kg_embedder *embedder, size_t i);

/* What an entity gets on top of its score, because facts of the entity that is asked about lead to
 * it: graft's echoes, and what evidence hints at. */
typedef struct kg_score_offset {
    kg_id entity;
    double value;
} kg_score_offset;

/* Bonuses of several questions, one after the other. An empty list is all zeroes. */
typedef struct kg_score_offsets {
    kg_score_offset *items;
    size_t count;
    size_t capacity;
} kg_score_offsets;

void kg__score_offsets_free(kg_score_offsets *offsets);

/* Those from `start` on; NULL if there never were any. */
static inline const kg_score_offset *kg__score_offsets_from(const kg_score_offsets *offsets,
                                                            size_t start) {
    return offsets->items == NULL ? NULL : offsets->items + start;
}

/* Room for `more` further ones. */
KG_MUST_CHECK kg_status kg__score_offsets_reserve(kg_score_offsets *offsets, size_t more,
                                                  kg_error *error);

/* How many offsets a question about an entity with so many links has at most. */
size_t kg__embedder_most_offsets(const kg_embedder *embedder, size_t links);

/* Adds the offsets of answers to the question, by the links but the one at `left_out`, by entity.
 */
KG_MUST_CHECK kg_status kg__embedder_offsets(kg_embedder *embedder, kg_score_offsets *offsets,
                                             size_t left_out, kg_error *error);

/* The bonus that a link alone gives its other end. */
double kg__embedder_echo(const kg_embedder *embedder, size_t i);

#endif
