/* The entities that all questions of a batch are asked about besides their own candidates: as many
 * as wanted, drawn anew for each step, or all there are. */
#ifndef KG_TRAIN_NEGATIVES_H
#define KG_TRAIN_NEGATIVES_H

#include "base/names.h"
#include "base/status.h"
#include "math/real.h"

typedef struct kg_negatives {
    size_t count;
    size_t entity_count; /* that they are drawn from: the first */
    size_t dim;
    uint64_t seed;
    kg_id *entities;  /* count, all different */
    uint32_t *places; /* entity_count: where an entity is among them, UINT32_MAX if it is not */
    real *rows;       /* count x dim */
    real *gradients;  /* count x dim */
} kg_negatives;

/* As many as there are if that is not more than wanted. */
KG_MUST_CHECK kg_status kg__negatives_open(kg_negatives *negatives, uint64_t wanted,
                                           size_t entity_count, size_t dim, uint64_t seed,
                                           kg_error *error);
void kg__negatives_close(kg_negatives *negatives);

/* Draws those of a step. They must be forgotten before others are drawn. */
void kg__negatives_draw(kg_negatives *negatives, uint64_t step);
void kg__negatives_forget(kg_negatives *negatives);

/* Copies their rows. */
void kg__negatives_gather(kg_negatives *negatives, const real *entities);

/* The logarithm of how many entities each stands for. */
real kg__negatives_log_weight(const kg_negatives *negatives);

#endif
