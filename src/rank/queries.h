/* The questions by which a model is judged, and the vectors that they ask with.
 *
 * A question is about an entity and a directed relation, and one answer is right; other known
 * answers do not count. An unseen entity is asked for each of its facts, embedded from the others
 * (leave one out). An in-sample fact is asked twice, for its tail and for its head, by the rows of
 * its entities or, of models that never learned to ask by rows, by their training facts. A
 * candidate u scores u . vector. */
#ifndef KG_RANK_QUERIES_H
#define KG_RANK_QUERIES_H

#include "aggregate/embedder.h"
#include "graph/dataset.h"

typedef struct kg_query {
    kg_id entity;
    kg_link asked;        /* the directed relation, and the answer */
    const kg_link *known; /* all known answers, this one among them */
    uint32_t known_count;
    uint32_t position; /* of `asked` among the entity's links */
} kg_query;

typedef struct kg_queries {
    kg_query *list; /* entity by entity if they are unseen, fact by fact if not */
    size_t count;
    bool unseen;
    kg_adjacency adjacency; /* what is known of the entities */
    kg_adjacency given;     /* facts to embed in-sample entities from; all zeroes: by their rows */
} kg_queries;

/* The questions of a part, be it unseen or not. */
KG_MUST_CHECK kg_status kg__queries_make(kg_queries *out, const kg_dataset *dataset, kg_part part,
                                         kg_error *error);
void kg__queries_free(kg_queries *questions);

/* Whether a model asks for in-sample entities as for unseen ones: it was trained with psi 1. */
bool kg__queries_by_facts(const kg_model *model);

/* In-sample entities will be embedded from their training facts, but for the one that is asked for,
 * if it is among them. One that has no others is asked by its row. */
KG_MUST_CHECK kg_status kg__queries_give_facts(kg_queries *questions, const kg_dataset *dataset,
                                               kg_error *error);

/* What was left out. */
typedef struct kg_dropped {
    size_t entities;
    size_t queries;
} kg_dropped;

/* Leaves out questions about unseen entities with names that are known: a model that was trained
 * with them would be asked what it has seen. */
kg_dropped kg__queries_drop_known(kg_queries *questions, const kg_dataset *dataset,
                                  const kg_names *known);

/* Leaves out what cannot be asked about a new entity: one that has no other facts to be embedded
 * from, and a fact with itself. */
void kg__queries_like_new(kg_queries *questions);

/* How many facts there are to embed the entity from. */
size_t kg__query_facts(const kg_queries *questions, const kg_query *question);

/* Whether it is embedded from them. */
bool kg__query_is_embedded(const kg_queries *questions, const kg_query *question);

/* Makes the vectors of questions; one for each thread. */
typedef struct kg_query_embedder {
    kg_embedder blend;
    const real *average; /* borrowed; NULL if unseen entities are aggregated */
    kg_id loaded;        /* the entity in the blend, or KG_NO_ID */
    real *z;
    kg_score_offsets bonuses;
} kg_query_embedder;

/* How unseen entities are embedded: from their facts, or, as a baseline, all by the same vector,
 * the `average` of what is known. */
typedef struct kg_embedding {
    kg_aggregate_options aggregate;
    const real *average; /* NULL: aggregated */
} kg_embedding;

KG_MUST_CHECK kg_status kg__query_embedder_open(kg_query_embedder *asker, const kg_params *params,
                                                const kg_embedding *embedding, kg_error *error);
void kg__query_embedder_close(kg_query_embedder *asker);

/* The entity of a question as it is known without the fact that is asked for, to be asked that
 * question or another one. Borrowed until the next call; questions about the same entity are
 * cheaper one after the other. */
KG_MUST_CHECK kg_status kg__query_embedder_embed(kg_query_embedder *asker, const real **z,
                                                 const kg_queries *questions,
                                                 const kg_query *question, kg_directed asked,
                                                 kg_error *error);

/* Adds the bonuses of the question that was asked last; an entity that is not embedded has none. */
KG_MUST_CHECK kg_status kg__query_embedder_bonuses(kg_query_embedder *asker,
                                                   kg_score_offsets *bonuses,
                                                   const kg_queries *questions,
                                                   const kg_query *question, kg_error *error);

/* The vectors (to - from) x dim of the questions `from` up to `to`, and their bonuses: those of a
 * question are asker->bonuses.items[starts[i]] up to starts[i + 1], until the next call. */
KG_MUST_CHECK kg_status kg__query_embedder_ask(kg_query_embedder *asker, real *vectors,
                                               size_t *starts, const kg_queries *questions,
                                               size_t from, size_t to, kg_error *error);

#endif
