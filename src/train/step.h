/* One step of learning, on all threads and with the same bits for any number of them.
 *
 *     batch -> blocks of queries -> terms forward -> loss -> terms backward -> parameters
 *
 * The blocks of a batch are cut into shards, and these into parts, whose borders depend on the data
 * alone. Threads work on parts; a part leaves gradients behind, which are added up row by row in a
 * fixed order (grad_tree.h). No atomics, no locks. */
#ifndef KG_TRAIN_STEP_H
#define KG_TRAIN_STEP_H

#include "base/ranks.h"
#include "train/loss.h"

/* A parameter, the entities' rows, that is computed from others. */
typedef struct kg_computed {
    void *payload;
    /* Computes it for the batch of step `step`, or, for step 0, for good. */
    kg_status (*forward)(void *payload, uint64_t step, kg_error *error);
    /* From gradients on its rows to those on the others, which take the step. */
    kg_status (*backward)(void *payload, const real *gradients, uint64_t step, kg_error *error);
} kg_computed;

typedef struct kg_step_options {
    const kg_loss *loss;
    kg_aggregate_options aggregate;
    kg_exclude exclude;
    double psi;
    double dropout;
    double n3;
    uint64_t negatives; /* of a whole batch */
    uint64_t seed;
    int threads;
    kg_ranks *ranks; /* that share batches and rows; NULL: this process alone */
    bool dense;      /* every row takes every step at once: slow, the same result */
} kg_step_options;

/* All borrowed. */
typedef struct kg_step_parts {
    kg_param_list *list;
    kg_params params; /* the views of these */
    const kg_adjacency *graph;
    size_t most_queries;         /* of a batch */
    const kg_computed *computed; /* NULL if nothing is */
} kg_step_parts;

/* What steps have cost so far. */
typedef struct kg_step_cost {
    double plan;     /* seconds: cutting into parts, finding the rows that are read */
    double catch_up; /* seconds: steps that these rows had missed */
    double compute;  /* seconds: scores and gradients */
    double update;   /* seconds: grouping gradients by row, summing and applying them */
    double exchange; /* seconds: rows and gradients to and from other ranks, and waiting */
    uint64_t queries;
    uint64_t links;   /* facts that were aggregated */
    uint64_t rows;    /* that took a step */
    uint64_t missed;  /* steps that rows caught up with */
    uint64_t vectors; /* that were added up to gradients */
} kg_step_cost;

typedef struct kg_step kg_step;

KG_MUST_CHECK kg_status kg__step_open(kg_step **out, const kg_step_options *options,
                                      const kg_step_parts *parts, kg_error *error);
void kg__step_close(kg_step *step);

/* Takes step `number` (from 1) with a batch; `*loss` is the sum over queries. KG_DIVERGED if it is
 * no longer finite: no step is taken then. Ranks all succeed or all fail. */
KG_MUST_CHECK kg_status kg__step_take(kg_step *step, const kg_batch *batch, uint64_t number,
                                      double *loss, kg_error *error);

/* Makes all parameters what they are after step `number`: of several ranks, each the rows that it
 * owns. */
KG_MUST_CHECK kg_status kg__step_catch_up(kg_step *step, uint64_t number, kg_error *error);

/* The score of each query's own candidate in the last step, by the query's number, where the loss
 * is of these. */
const double *kg__step_scores(const kg_step *step);

kg_step_cost kg__step_cost(const kg_step *step);

#endif
