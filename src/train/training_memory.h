/* How much memory training takes, from counts and settings, before it begins: so that a run that
 * cannot fit is refused at once, not killed after hours.
 *
 * It is an estimate. What grows with the graph, rows, state and links, is counted exactly; what
 * depends on how facts are distributed, the work on a batch, is not. */
#ifndef KG_TRAIN_TRAINING_MEMORY_H
#define KG_TRAIN_TRAINING_MEMORY_H

#include "train/settings.h"

/* In bytes, as numbers that cannot overflow. */
typedef struct kg_memory_needs {
    double rows;  /* of entities and relations */
    double state; /* of the optimiser */
    double graph; /* names, facts and links */
    double work;  /* on a batch, of all threads, and the program */
} kg_memory_needs;

/* What there is to train on. */
typedef struct kg_memory_counts {
    double facts;
    double entities;
    double relations;
    double name_bytes; /* of entities */
    bool is_held_out;  /* some are held out, so that the data are there twice */
} kg_memory_counts;

kg_memory_counts kg__memory_counts(const kg_dataset *dataset, bool is_held_out);

/* Of that moment of all, from reading to the last epoch, when they are most. */
kg_memory_needs kg__training_memory(const kg_train_options *options,
                                    const kg_memory_counts *counts);

double kg__memory_total(const kg_memory_needs *needs);

/* "14.2 GB: rows 10.0, state 0.1, graph 3.9, work 0.2" */
typedef struct kg_memory_text {
    char text[128];
} kg_memory_text;
kg_memory_text kg__memory_text(const kg_memory_needs *needs);

/* As config.json and the tool's JSON have them: an object; NULL if memory is short. */
json_t *kg__memory_json(const kg_memory_needs *needs);

/* Refuses what does not fit into `limit` bytes, and says which settings would take less. */
KG_MUST_CHECK kg_status kg__training_memory_check(const kg_memory_needs *needs, double limit,
                                                  const kg_train_options *options,
                                                  const kg_memory_counts *counts, kg_error *error);

#endif
