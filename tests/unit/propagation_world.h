/* A small random graph and propagation over it with random parameters, for tests of the computing
 * core of propagation. */
#ifndef KG_TESTS_PROPAGATION_WORLD_H
#define KG_TESTS_PROPAGATION_WORLD_H

#include "terms/propagation/propagation.h"

#include "support.h"

#define ENTITIES 24
#define RELATIONS 3
#define DIRECTED (2 * RELATIONS)
#define WIDTH 32
#define CLASSES KG_DEGREE_CLASSES

typedef struct propagation_world {
    kg_triples facts;
    size_t entity_count;
    kg_adjacency graph;
    kg_relation_degrees counts;
    kg_propagation model;
    real *values[KG_PROPAGATION_TENSORS];
    double *precise[KG_PROPAGATION_TENSORS]; /* the same, for the twin */
    kg_propagation_shape shapes[KG_PROPAGATION_TENSORS];
    kg_grads grads;
    kg_propagation_worker worker;
    kg_arena arena;
} propagation_world;

/* Options that differ in everything: layers, pooling, rank, profiles, few or all sources. */
#define SOME_OPTIONS 4
extern const kg_propagation_options some_options[SOME_OPTIONS];

/* Random facts with a hub, entity 0, and an entity that no path leads to, the last. */
void open_propagation_world(propagation_world *w, kg_propagation_options options, uint64_t seed);

/* With these facts instead. */
void open_small_propagation_world(propagation_world *w, const kg_triple *facts, size_t count,
                                  kg_propagation_options options);
void close_propagation_world(propagation_world *w);

/* What is made of w->facts and w->entity_count; made anew where these change. */
void open_graph(propagation_world *w);
void close_graph(propagation_world *w);

/* A query for one of an entity's own facts. */
kg_propagation_query query_of(const propagation_world *w, kg_id entity, size_t fact);

/* One about an entity that is not in the graph. */
kg_propagation_query new_query(const kg_link *links, size_t count, size_t left_out);

/* What it returns lasts until the next call. */
kg_propagation_pass go_forward(propagation_world *w, const kg_propagation_query *query);

/* Uniform in [0, 1). */
double next_unit(uint64_t *state);

/* Up to `exact`, relative to 1 + |expected|. */
void assert_close(const char *what, size_t i, double found, double expected, double exact);

#endif
