/* Scores for the queries about one entity that is known by its facts: the embedder gives the vector
 * that all candidates are multiplied with, the other terms add score offsets to few of them. */
#ifndef KG_TERMS_SCORER_H
#define KG_TERMS_SCORER_H

#include "aggregate/embedder.h"
#include "model/term.h"

/* One for each thread. It must not be moved while an entity is loaded. */
typedef struct kg_scorer {
    kg_embedder embedder;
    kg_id self;                  /* of the loaded entity */
    void *states[KG_MOST_TERMS]; /* of terms */
} kg_scorer;

KG_MUST_CHECK kg_status kg__scorer_open(kg_scorer *scorer, kg_aggregate_options options,
                                        const kg_params *params, kg_error *error);
void kg__scorer_close(kg_scorer *scorer);

/* To params on another overlay of the same graph. Nothing is loaded afterwards. */
KG_MUST_CHECK kg_status kg__scorer_move(kg_scorer *scorer, const kg_params *params,
                                        kg_error *error);

/* Loads an entity by its links, as kg__embedder_load does. `self` is its id if it is one of the
 * params' entities; KG_NO_ID if it is new. */
KG_MUST_CHECK kg_status kg__scorer_load(kg_scorer *scorer, kg_id self, const kg_link *links,
                                        size_t count, kg_error *error);

/* What the entity is queried for. */
void kg__scorer_set_query(kg_scorer *scorer, kg_directed query);

/* What terms add to the score of an entity, because facts of the one that is queried lead to it. */
typedef struct kg_score_offset {
    kg_id entity;
    double value;
} kg_score_offset;

/* Offsets of several queries, one after the other. An empty list is all zeroes. */
typedef struct kg_score_offsets {
    kg_score_offset *items;
    size_t count;
    size_t capacity;
} kg_score_offsets;

/* About so many at a time are enough: those of a graph of a million entities take 16 MB. */
#define KG_ENOUGH_OFFSETS ((size_t)1 << 20)

void kg__score_offsets_free(kg_score_offsets *offsets);

/* Those from `start` on; NULL if there never were any. */
static inline const kg_score_offset *kg__score_offsets_from(const kg_score_offsets *offsets,
                                                            size_t start) {
    return offsets->items == NULL ? NULL : offsets->items + start;
}

/* Takes memory for `more` further ones. */
KG_MUST_CHECK kg_status kg__score_offsets_reserve(kg_score_offsets *offsets, size_t more,
                                                  kg_error *error);

KG_MUST_CHECK kg_status kg__score_offsets_add(kg_score_offsets *offsets, kg_id entity, double value,
                                              kg_error *error);

/* How many offsets a query about an entity with so many links has at most. */
size_t kg__scorer_most_offsets(const kg_scorer *scorer, size_t links);

/* Adds the offsets for the query, by the links but the one at `left_out`, sorted by entity. */
KG_MUST_CHECK kg_status kg__scorer_offsets(kg_scorer *scorer, kg_score_offsets *offsets,
                                           size_t left_out, kg_error *error);

/* An answer's score that is explained, all facts of the loaded entity being known: each term sets
 * its parts of it, adds to the shares of facts, and gives reasons. */
typedef struct kg_explain_use {
    kg_scorer *scorer;
    kg_explanation *out;
    kg_link target;     /* the query and the answer */
    const real *vector; /* the score of embeddings is z . vector */
    size_t first;       /* of the term's parts: its place among out->terms */
} kg_explain_use;

/* Sets the score, its parts, the shares of facts and reasons, but not ranks. */
KG_MUST_CHECK kg_status kg__scorer_explain(kg_explain_use *use, kg_error *error);

/* What a part of the score gets from a fact. */
void kg__explanation_add(kg_explanation *out, size_t part, size_t fact, double value);

/* What parts add by the fact at an index: a row of out->parts, NULL if they are not wanted. */
static inline double *kg__explanation_row(const kg_explanation *out, size_t fact) {
    return out->parts == NULL ? NULL : out->parts + fact * out->term_count;
}

#endif
