/* The embeddings of a model, as everything that computes with them sees them. Borrowed. */
#ifndef KG_MODEL_TABLES_H
#define KG_MODEL_TABLES_H

#include "model/encoder.h"
#include "model/kinds.h"

typedef struct kg_tables {
    const kg_kind *kind;
    const real *entities;  /* a row for each entity */
    const real *relations; /* a row for each relation */
    size_t dim;            /* of every row */

    const kg_encoder *encoder; /* what made the entities' rows; NULL if they were learned */
} kg_tables;

static inline const real *kg_entity_row(const kg_tables *tables, kg_id entity) {
    return tables->entities + (size_t)entity * tables->dim;
}

/* The relation's row, whichever way it is directed. */
static inline const real *kg_relation_row(const kg_tables *tables, kg_directed directed) {
    return tables->relations + (size_t)(directed / 2) * tables->dim;
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

#endif
