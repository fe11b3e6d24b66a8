/* The queries that a model is evaluated on, and their vectors.
 *
 * A query is an entity and a directed relation, with one right answer; other known answers are
 * filtered out. An unseen entity has a query for each of its facts, embedded from the others (leave
 * one out). An in-sample fact gives two queries, for its tail and for its head, with the rows of
 * its entities or, in models trained with psi 1 alone, with embeddings from their training facts. A
 * candidate u scores u . vector.
 *
 * Entities that came later to a live graph (live/live.h) have a query for each of their facts, too,
 * but all of them are there at once. All entities of the live graph are candidates, but for the one
 * that is asked about.
 *
 * A fact of a new graph gives two queries, too. Entities and candidates are those of the new graph,
 * by its ids; an entity is known by the facts of the part graph alone, and filtered is what is
 * known or asked for in any of its three parts. */
#ifndef KG_RANK_QUERIES_H
#define KG_RANK_QUERIES_H

#include "graph/dataset.h"
#include "terms/scorer.h"

typedef struct kg_query {
    kg_id entity;
    kg_link target;       /* the directed relation and the right answer */
    const kg_link *known; /* all known answers, this one among them */
    uint32_t known_count;
    uint32_t position; /* of `target` among the entity's links */
} kg_query;

typedef struct kg_queries {
    kg_query *list; /* entity by entity in unseen parts, fact by fact in others */
    size_t count;
    size_t candidates; /* how many there are; they have the first ids */
    bool unseen;       /* entities are not in-sample: they have no rows */
    bool new_graph;    /* unseen, and in a graph of their own */
    bool came_later;   /* unseen, and in the graph by now: they have rows that are candidates */
    kg_adjacency adjacency; /* all facts of the entities, which are filtered by */
    kg_adjacency given;     /* those to embed entities from, if these are others: of a new graph its
                             * known facts, of in-sample entities training facts; all zeroes: rows of
                             * in-sample entities are used, and of unseen ones all other facts */
} kg_queries;

/* The queries of a part, but for KG_GRAPH, of which nothing is asked. */
KG_MUST_CHECK kg_status kg__queries_make(kg_queries *out, const kg_dataset *dataset, kg_part part,
                                         kg_error *error);
void kg__queries_free(kg_queries *queries);

/* The queries about all entities that came later in a snapshot of a live graph, which has to
 * outlive them.
 *
 * No query knows its own fact. The entity is embedded without it. Propagation does not follow it
 * from either end, and counts no fact of the entity at other ends. And the rows of candidates are
 * not made of it, if every entity that came later has facts with the model's own and is of level 1
 * (live/later_rows.h), as in a data set: for such a row is made of these facts alone, and the only
 * row that is made of a queried one is that of the entity itself, which is no candidate. */
KG_MUST_CHECK kg_status kg__queries_make_later(kg_queries *out, const kg_model *snapshot,
                                               kg_error *error);

/* Whether a model embeds in-sample entities like unseen ones: it was trained with psi 1. */
bool kg__queries_by_facts(const kg_model *model);

/* In-sample entities will be embedded from their training facts, the queried one left out if it is
 * among them. For one that has no others its row is used, if the model has rows. */
KG_MUST_CHECK kg_status kg__queries_give_facts(kg_queries *queries, const kg_dataset *dataset,
                                               kg_error *error);

/* Keeps about `most` of them, at equal distances, or all. */
void kg__queries_sample(kg_queries *queries, double most);

/* What was left out. */
typedef struct kg_dropped {
    size_t entities;
    size_t queries;
} kg_dropped;

/* Leaves out queries about unseen entities whose names are known: a model that was trained with
 * them has seen their facts. In a new graph the same name is another entity. */
kg_dropped kg__queries_drop_known(kg_queries *queries, const kg_dataset *dataset,
                                  const kg_names *known);

/* Leaves out queries that a new entity cannot have: with no other facts to embed it from, and of
 * reflexive facts. */
void kg__queries_keep_embeddable(kg_queries *queries);

/* The facts that a query's entity is embedded from. */
typedef struct kg_query_links {
    const kg_link *links;
    size_t count;
    size_t left_out; /* the queried one, or KG_NOTHING */
} kg_query_links;

kg_query_links kg__query_links(const kg_queries *queries, const kg_query *query);

/* How many they are, without the one that is left out. */
size_t kg__query_facts(const kg_queries *queries, const kg_query *query);

/* Whether it is embedded from them: rows are used where there are rows, and no facts. */
bool kg__query_is_embedded(const kg_queries *queries, const kg_query *query,
                           const kg_params *params);

/* Computes the vectors of queries; one per thread. */
typedef struct kg_query_embedder {
    kg_scorer scorer;
    const real *average; /* borrowed; NULL if unseen entities are aggregated */
    kg_id loaded;        /* the entity in the scorer, or KG_NO_ID */
    real *z;
    kg_score_offsets offsets;
} kg_query_embedder;

/* How unseen entities are embedded: from their facts, or, as a baseline, all by the same vector,
 * the `average` of what is known. */
typedef struct kg_embedding {
    kg_aggregate_options aggregate;
    const real *average; /* NULL: aggregated */
} kg_embedding;

KG_MUST_CHECK kg_status kg__query_embedder_open(kg_query_embedder *embedder,
                                                const kg_params *params,
                                                const kg_embedding *embedding, kg_error *error);
void kg__query_embedder_close(kg_query_embedder *embedder);

/* The embedding of a query's entity, the queried fact left out, for a query with `relation`, which
 * may be another. Borrowed until the next call; consecutive queries about the same entity are
 * cheaper. */
KG_MUST_CHECK kg_status kg__query_embedder_embed(kg_query_embedder *embedder, const real **z,
                                                 const kg_queries *queries, const kg_query *query,
                                                 kg_directed relation, kg_error *error);

/* Adds the score offsets for the last embedding; an entity that is not embedded has none. */
KG_MUST_CHECK kg_status kg__query_embedder_offsets(kg_query_embedder *embedder,
                                                   kg_score_offsets *offsets,
                                                   const kg_queries *queries, const kg_query *query,
                                                   kg_error *error);

/* The vectors, `*done` x dim, of the queries from `from` up to `to`, or as many as there is room
 * for, at least one; and their score offsets: those of a query are
 * embedder->offsets.items[starts[i]] up to starts[i + 1], until the next call. */
KG_MUST_CHECK kg_status kg__query_embedder_vectors(kg_query_embedder *embedder, real *vectors,
                                                   size_t *starts, size_t *done,
                                                   const kg_queries *queries, size_t from,
                                                   size_t to, kg_error *error);

#endif
