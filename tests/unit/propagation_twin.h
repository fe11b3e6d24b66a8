/* The plain twin of propagation: a vector for every entity, a visit of every edge, in double,
 * sharing nothing with the library but what a link is. */
#ifndef KG_TESTS_PROPAGATION_TWIN_H
#define KG_TESTS_PROPAGATION_TWIN_H

#include "propagation_world.h"

#define QUERIED ENTITIES /* the number of the queried entity */

typedef struct twin {
    const propagation_world *w;
    const kg_propagation_query *query;
    bool is_reached[ENTITIES + 1];
    double vectors[ENTITIES + 1][WIDTH];
    double scores[ENTITIES];
    size_t classes[ENTITIES];
} twin;

/* Reached entities, scores and classes of all. */
void run_twin(twin *t, const propagation_world *w, const kg_propagation_query *query);

/* A number of a tensor. */
double value(const twin *t, kg_propagation_tensor tensor, size_t row, size_t column);

#endif
