/* Answering for an entity that is known by its facts alone. Every aggregator but an encoder's makes
 * z as a sum of rows, one for each fact,
 *
 *     z = sum over i of w_i row_i           (ials: M^-1 times the sum, all w_i being 1)
 *
 * so that z, and any score that is made of it, splits exactly over the facts. Weights are found in
 * double precision and z is rounded once, in the end: it has the same bits whether a fact is left
 * out or was never there (of entities with many facts, but for rare roundings: see blend.c).
 * Learning needs gradients instead, and has them from aggregate.h. */
#ifndef KG_AGGREGATE_EMBEDDER_H
#define KG_AGGREGATE_EMBEDDER_H

#include "aggregate/aggregate.h"
#include "aggregate/ials.h"
#include "terms/features/extractor.h"

/* A loaded entity, and room to work in: one for each thread, used again and again. */
typedef struct kg_embedder {
    kg_aggregate_options options;
    kg_params params;     /* borrows the embeddings */
    const kg_link *links; /* of the loaded entity; borrowed */
    size_t count;         /* of these */
    kg_directed asked;    /* the question */
    size_t capacity;      /* links that there is room for */
    bool is_broken;       /* ials: the embeddings are not finite, so neither is z */

    /* Row i is scales[i] times that of the fact. */
    double *rows; /* count x dim */
    double *scales;
    double *alpha; /* count: the weights of these rows in the last z */
    double *sum;   /* dim: the last z, before it is rounded */
    kg_fact_map map;

    /* ls: equation i is row_i . z = targets[i]. */
    double *targets;
    kg_ridge ridge;

    kg_ials ials;         /* what only ials needs */
    kg_aggregate encoder; /* does it for a model that has one: then there are no weights */
    kg_extractor witness; /* of the loaded entity, if the params have evidence */
} kg_embedder;

void kg__embedder_open(kg_embedder *blend, kg_aggregate_options options, kg_params params);
void kg__embedder_close(kg_embedder *blend);

/* Room for entities of that many links, so that loading them allocates nothing. */
KG_MUST_CHECK kg_status kg__embedder_reserve(kg_embedder *blend, size_t count, kg_error *error);

/* Loads an entity by its links, which must differ from each other, be sorted and outlive their use.
 * `self` is its id if it is one of the params' entities; KG_NO_ID if it is new. */
KG_MUST_CHECK kg_status kg__embedder_load(kg_embedder *blend, kg_id self, const kg_link *links,
                                          size_t count, kg_error *error);

/* What the entity will be asked for: only graft answers each question by another z. */
void kg__embedder_ask(kg_embedder *blend, kg_directed asked);

/* z of all links but the one at `left_out`; the zero vector if there are none. */
void kg__embedder_embed(kg_embedder *blend, real *z, size_t left_out);

/* The part that a link has of the score z . vector of the last z, before that was rounded; and its
 * weight in z. An encoder has neither. */
double kg__embedder_part(kg_embedder *blend, size_t i, const real *vector);
double kg__embedder_weight(const kg_embedder *blend, size_t i);

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

void kg__score_offsets_free(kg_score_offsets *bonuses);

/* Those from `start` on; NULL if there never were any. */
static inline const kg_score_offset *kg__score_offsets_from(const kg_score_offsets *bonuses,
                                                            size_t start) {
    return bonuses->items == NULL ? NULL : bonuses->items + start;
}

/* Room for `more` further ones. */
KG_MUST_CHECK kg_status kg__score_offsets_reserve(kg_score_offsets *bonuses, size_t more,
                                                  kg_error *error);

/* How many bonuses a question about an entity with so many links has at most. */
size_t kg__embedder_most_bonuses(const kg_embedder *blend, size_t links);

/* Adds the bonuses of answers to the question, by the links but the one at `left_out`, by entity.
 */
KG_MUST_CHECK kg_status kg__embedder_bonuses(kg_embedder *blend, kg_score_offsets *bonuses,
                                             size_t left_out, kg_error *error);

/* The bonus that a link alone gives its other end. */
double kg__embedder_echo(const kg_embedder *blend, size_t i);

#endif
