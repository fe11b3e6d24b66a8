/* One step of learning: scores, loss, gradients, and the update, on all threads and with the same
 * bits for any number of them.
 *
 * Items are put in order by the entity that they treat as unseen, so that its aggregate is made
 * once for all of them, and cut into chunks whose borders depend on the data alone. Threads work on
 * chunks; a chunk leaves behind vectors and a list of the rows that they go to. Then these lists
 * are grouped by row, and each row that was touched sums its vectors in the order of the chunks and
 * takes its step. No atomics, no locks. */
#ifndef KG_TRAIN_STEP_H
#define KG_TRAIN_STEP_H

#include "aggregate/aggregate.h"
#include "train/batch.h"
#include "train/optimizer.h"

/* What the aggregate of an unseen entity leaves out: the triple at hand, or every fact between its
 * two entities. */
typedef enum kg_exclude { KG_EXCLUDE_TRIPLE, KG_EXCLUDE_PAIR } kg_exclude;

typedef struct kg_stepper_options {
    const kg_scoring *scoring;
    kg_aggregate_options aggregate;
    kg_exclude exclude;
    double dropout; /* on the products that a score sums */
    uint64_t seed;
    size_t trained_entities;  /* those with ids below: the others' rows stay as they are */
    size_t trained_relations; /* likewise */
    int threads;
    bool dense; /* every row takes every step at once: slow, the same result */
} kg_stepper_options;

typedef struct kg_stepper kg_stepper;

/* Learns `entities` and `relations`, which are borrowed like everything else here. */
KG_MUST_CHECK kg_status kg__stepper_open(kg_stepper **out, const kg_stepper_options *options,
                                         const kg_adjacency *adjacency, kg_table *entities,
                                         kg_table *relations, const kg_optimizer *optimizer,
                                         kg_error *error);
void kg__stepper_close(kg_stepper *stepper);

/* Takes step number `step` (from 1) with these items; `*loss` is the sum of softplus(-label score).
 * KG_DIVERGED if the loss is no longer finite: no step is taken then. */
KG_MUST_CHECK kg_status kg__stepper_step(kg_stepper *stepper, const kg_item *items, size_t count,
                                         uint64_t step, double *loss, kg_error *error);

/* Adds the gradients of the items' loss to `entities` and `relations`, which have the shapes of the
 * params, and takes no step: that is for whoever knows what these params are made of. The number is
 * that of the step that will be taken. */
KG_MUST_CHECK kg_status kg__stepper_add_gradients(kg_stepper *stepper, const kg_item *items,
                                                  size_t count, uint64_t step, real *entities,
                                                  real *relations, double *loss, kg_error *error);

/* The score of each item of the last step, in the order given. */
const double *kg__stepper_scores(const kg_stepper *stepper);

/* What steps have cost so far. */
typedef struct kg_step_cost {
    double plan;     /* seconds: putting items in order, finding the rows they touch */
    double catch_up; /* seconds: steps that these rows had missed */
    double compute;  /* seconds: scores and gradients */
    double update;   /* seconds: grouping gradients by row, summing and applying them */
    uint64_t items;
    uint64_t links;   /* facts of unseen entities that were aggregated */
    uint64_t rows;    /* that took a step with a gradient */
    uint64_t missed;  /* steps that rows caught up with */
    uint64_t vectors; /* that were added up to gradients */
} kg_step_cost;

kg_step_cost kg__stepper_cost(const kg_stepper *stepper);

/* Lets all rows catch up with `step`. */
void kg__stepper_catch_up(kg_stepper *stepper, uint64_t step);

#endif
