/* The embeddings of a model, as everything that computes with them sees them. Borrowed. */
#ifndef KG_MODEL_PARAMS_H
#define KG_MODEL_PARAMS_H

#include "graph/adjacency.h"
#include "model/half_rows.h"
#include "model/rgcn_encoder.h"
#include "model/scoring.h"

/* Numbers of parameters in kg_grads, those of terms follow; and their names in files. */
enum { KG_PARAM_ENTITIES, KG_PARAM_RELATIONS, KG_PARAM_AGGREGATE_RELATIONS };
extern const char *const kg__param_names[];

/* What one of the terms of a score (model/term.h) has counted and learned. That of the embedding,
 * which is the first, is what its aggregator has (aggregate/aggregate.h). */
#define KG_MOST_TERMS 8
#define KG_MOST_TERM_PARAMS 16
#define KG_TERM_EMBEDDING 0
typedef struct kg_term_view {
    const struct kg_learned *learned;        /* what can be done with the following */
    void *counted;                           /* its own; NULL: the model is without it */
    const real *values[KG_MOST_TERM_PARAMS]; /* of its parameters, in their order */
    size_t param;                            /* number of the first in kg_grads, in training */
} kg_term_view;

/* Rows of entities that came later (live/later_rows.h), in pages. */
typedef struct kg_later_rows {
    size_t first;          /* entity with the first of them */
    kg_pages rows;         /* dim numbers each */
    const kg_names *names; /* of all entities */
} kg_later_rows;

typedef struct kg_params {
    const kg_scoring *scoring;
    const real *entities;  /* a row for each entity: see kg__entity_rows */
    const real *relations; /* a row for each relation, or for each directed one */
    size_t dim;            /* of every row */

    const kg_encoder *encoder; /* what made the entities' rows; NULL if they were learned */
    bool is_directed;          /* relations have a row for each direction */

    /* Like `relations`, but for the facts that an unseen entity is aggregated from. NULL: the same
     * serve for aggregation and queries. */
    const real *aggregate_relations;

    const kg_adjacency *graph;         /* what terms look at; NULL if none needs it */
    kg_term_view terms[KG_MOST_TERMS]; /* of each of kg__terms */

    const kg_half_rows *half;   /* what makes `entities` when they are read; NULL: they are there */
    const kg_later_rows *later; /* rows of further entities; NULL if there are none */

    const double
        *gram; /* dim x dim: E^T E of the entities' rows E; NULL if no aggregator needs it */
} kg_params;

/* What `entities` and `relations` are of a model without the embedding, whose dim is 0. */
extern const real kg__no_rows[1];

/* Rows of `count` entities, which came later all, and are in one page, or not at all. */
static inline const real *kg__entity_rows(const kg_params *params, kg_id entity, size_t count) {
    if (params->later != NULL && entity >= params->later->first) {
        size_t i = entity - params->later->first;
        return (const real *)params->later->rows.pages[i / KG_PAGE] + i % KG_PAGE * params->dim;
    }
    if (params->half != NULL && count > 0)
        kg__half_rows_need(params->half, entity, count);
    return params->entities + (size_t)entity * params->dim;
}

static inline const real *kg__entity_row(const kg_params *params, kg_id entity) {
    return kg__entity_rows(params, entity, 1);
}

/* Which row of the relations' params it has. */
static inline size_t kg__relation_number(const kg_params *params, kg_directed directed) {
    return params->is_directed ? directed : directed / 2;
}

/* The relation's row for queries. */
static inline const real *kg__relation_row(const kg_params *params, kg_directed directed) {
    return params->relations + kg__relation_number(params, directed) * params->dim;
}

/* The relation's row for facts that are aggregated. */
static inline const real *kg__aggregate_relation_row(const kg_params *params,
                                                     kg_directed directed) {
    const real *rows =
        params->aggregate_relations == NULL ? params->relations : params->aggregate_relations;
    return rows + kg__relation_number(params, directed) * params->dim;
}

/* The parameter that these are rows of. */
static inline size_t kg__aggregate_relations_param(const kg_params *params) {
    return params->aggregate_relations == NULL ? KG_PARAM_RELATIONS : KG_PARAM_AGGREGATE_RELATIONS;
}

/* The query vector for the end at which the directed relation's entity stands, given the other. */
static inline void kg__query_vector(const kg_params *params, real *q, kg_directed directed,
                                    const real *other) {
    params->scoring->query(q, kg__relation_row(params, directed), other, kg_directed_end(directed),
                           params->dim);
}

/* The adjoint: what a gradient g on that query vector means for the other end's row. */
static inline void kg__query_vector_adjoint(const kg_params *params, real *out,
                                            kg_directed directed, const real *g) {
    params->scoring->query(out, kg__relation_row(params, directed), g,
                           kg__other_end(kg_directed_end(directed)), params->dim);
}

/* The same two for a fact that is aggregated: its row, given the other end, */
static inline void kg__fact_vector(const kg_params *params, real *q, kg_directed directed,
                                   const real *other) {
    params->scoring->query(q, kg__aggregate_relation_row(params, directed), other,
                           kg_directed_end(directed), params->dim);
}

/* and what a gradient g on that row means for the other end's. */
static inline void kg__fact_vector_adjoint(const kg_params *params, real *out, kg_directed directed,
                                           const real *g) {
    params->scoring->query(out, kg__aggregate_relation_row(params, directed), g,
                           kg__other_end(kg_directed_end(directed)), params->dim);
}

#endif
