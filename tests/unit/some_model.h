/* A small model, in memory and in a folder, for tests of model folders. */
#ifndef KG_TESTS_SOME_MODEL_H
#define KG_TESTS_SOME_MODEL_H

#include "model/model.h"
#include "model/model_folder.h"
#include "some_propagation.h"

#define DIM 4
#define ENTITIES 5
#define RELATIONS 2
#define MODEL "model"

/* A model in the making: every number in it is another one. */
typedef struct world {
    kg_dataset dataset;
    real entities[ENTITIES * DIM];
    real relations[RELATIONS * DIM];
    real calibration[2 * RELATIONS * 2];
    struct some_propagation propagation; /* that the params need not have */
    kg_params params;
} world;

/* Every number another one. */
void number(real *values, size_t count, double from);

void open_world(world *w);
void close_world(world *w);

/* Writes it to the folder MODEL. */
void write_model(world *w, const real *calibration);

void assert_same_name(const kg_names *names, kg_id id, const kg_names *expected, kg_id expected_id);

/* Names of `names` are the first of `expected`, with their ids. */
void assert_names(const kg_names *names, const kg_names *expected, size_t count);

/* What is in the folder is this model. */
void assert_model(const world *w, const real *calibration);

#endif
