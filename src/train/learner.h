/* A table that takes steps: the rows that a step touches catch up with what they missed before they
 * are read, and in the end add up their gradient vectors and move. On all threads, each row by one
 * of them, so with the same bits for any number. */
#ifndef KG_TRAIN_LEARNER_H
#define KG_TRAIN_LEARNER_H

#include "train/optimizer.h"
#include "train/touched.h"

typedef struct kg_learner {
    kg_learned which;              /* of the sheaves' targets */
    kg_table *table;               /* borrowed */
    const kg_optimizer *optimizer; /* borrowed */
    kg_touched touched;
    real *gradients; /* threads x dim */
    int threads;
} kg_learner;

/* All zeroes is a learner without a table, which can be closed. */
KG_MUST_CHECK kg_status kg__learner_open(kg_learner *learner, kg_learned which, kg_table *table,
                                         const kg_optimizer *optimizer, int threads,
                                         kg_error *error);
void kg__learner_close(kg_learner *learner);

/* Lets the touched rows take the steps that they missed, up to and with `step`; returns how many
 * these were. */
uint64_t kg__learner_catch_up(kg_learner *learner, uint64_t step);

/* Lets the first `rows` do so, touched or not. */
void kg__learner_catch_up_all(kg_learner *learner, size_t rows, uint64_t step);

/* Groups what the sheaves hold for the touched rows. */
KG_MUST_CHECK kg_status kg__learner_group(kg_learner *learner, const kg_sheaf *sheaves,
                                          size_t count, kg_error *error);

/* Lets the touched rows take `step` with the sums of what was grouped. */
void kg__learner_step(kg_learner *learner, uint64_t step);

/* Adds these sums to the rows of `gradients` instead, which has the shape of the table. */
void kg__learner_add(const kg_learner *learner, real *gradients);

#endif
