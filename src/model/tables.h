/* The embeddings of a model, as everything that computes with them sees them. Borrowed. */
#ifndef KG_MODEL_TABLES_H
#define KG_MODEL_TABLES_H

#include "evidence/evidence.h"
#include "model/encoder.h"
#include "model/kinds.h"
#include "model/pairs.h"

typedef struct kg_tables {
    const kg_kind *kind;
    const real *entities;  /* a row for each entity */
    const real *relations; /* a row for each relation, or for each directed one */
    size_t dim;            /* of every row */

    const kg_encoder *encoder; /* what made the entities' rows; NULL if they were learned */
    bool is_directed;          /* relations have a row for each direction */

    /* Like `relations`, but for the facts that an unseen entity is made of: the way in need not be
     * the way out. NULL: the same. */
    const real *aggregate_relations;

    const kg_graft *graft; /* what was learned about pairs of relations; NULL if nothing was */

    const kg_evidence *evidence; /* what else speaks for answers; NULL if nothing does */

    const double *gram; /* dim x dim: E^T E of the entities' rows E; NULL if nobody asks for it */
} kg_tables;

static inline const real *kg_entity_row(const kg_tables *tables, kg_id entity) {
    return tables->entities + (size_t)entity * tables->dim;
}

/* Which row of the relations' tables it has. */
static inline size_t kg_relation_number(const kg_tables *tables, kg_directed directed) {
    return tables->is_directed ? directed : directed / 2;
}

/* The relation's row for questions. */
static inline const real *kg_relation_row(const kg_tables *tables, kg_directed directed) {
    return tables->relations + kg_relation_number(tables, directed) * tables->dim;
}

/* The relation's row for facts that are aggregated. */
static inline const real *kg_aggregate_relation_row(const kg_tables *tables, kg_directed directed) {
    const real *rows =
        tables->aggregate_relations == NULL ? tables->relations : tables->aggregate_relations;
    return rows + kg_relation_number(tables, directed) * tables->dim;
}

/* The query vector for the end at which the directed relation's entity stands, given the other. */
static inline void kg_query(const kg_tables *tables, real *q, kg_directed directed,
                            const real *other) {
    tables->kind->query(q, kg_relation_row(tables, directed), other, kg_directed_end(directed),
                        tables->dim);
}

/* The adjoint: what a gradient g on that query vector means for the other end's row. */
static inline void kg_query_adjoint(const kg_tables *tables, real *out, kg_directed directed,
                                    const real *g) {
    tables->kind->query(out, kg_relation_row(tables, directed), g,
                        kg_other_end(kg_directed_end(directed)), tables->dim);
}

/* The same two for a fact that is aggregated: its row, given the other end, */
static inline void kg_fact_query(const kg_tables *tables, real *q, kg_directed directed,
                                 const real *other) {
    tables->kind->query(q, kg_aggregate_relation_row(tables, directed), other,
                        kg_directed_end(directed), tables->dim);
}

/* and what a gradient g on that row means for the other end's. */
static inline void kg_fact_adjoint(const kg_tables *tables, real *out, kg_directed directed,
                                   const real *g) {
    tables->kind->query(out, kg_aggregate_relation_row(tables, directed), g,
                        kg_other_end(kg_directed_end(directed)), tables->dim);
}

#endif
