/* The part of a step that one thread computes on its own: a range of items, ordered by the entity
 * that they treat as unseen. It reads parameters and leaves behind vectors, with the rows that they
 * have to be added to as gradients. Gradients of relations, which all items share, are summed
 * within the chunk. */
#ifndef KG_TRAIN_CHUNK_H
#define KG_TRAIN_CHUNK_H

#include "train/sheaf.h"
#include "train/step.h"

/* An item in the order of work. */
typedef struct kg_job {
    kg_id unseen; /* KG_NO_ID if neither end is */
    uint32_t item;
} kg_job;

/* What all chunks of a step see. */
typedef struct kg_scene {
    const kg_stepper_options *options;
    const kg_adjacency *adjacency;
    kg_params params;
    size_t relation_count;
    const kg_item *items;
    size_t items_before; /* in the same step */
    const kg_job *jobs;
    double *scores; /* of items; each is written by one chunk */
    uint64_t step;
} kg_scene;

typedef struct kg_chunk {
    size_t from; /* jobs */
    size_t to;
    double loss;
} kg_chunk;

/* What a thread needs to compute chunks. */
typedef struct kg_worker {
    kg_aggregate aggregate;
    real *z;
    real *q;
    real *g;
    real *relation_sums; /* relations x dim, zero between chunks */
    bool *is_summed;     /* relations */
    size_t *left_out;
    size_t left_capacity;
} kg_worker;

KG_MUST_CHECK kg_status kg__worker_open(kg_worker *worker, const kg_scene *scene, kg_error *error);
void kg__worker_close(kg_worker *worker);

/* What is in the sheaf is forgotten. */
KG_MUST_CHECK kg_status kg__chunk_compute(kg_chunk *chunk, kg_sheaf *sheaf, kg_worker *worker,
                                          const kg_scene *scene, kg_error *error);

#endif
