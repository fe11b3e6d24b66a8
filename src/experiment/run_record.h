/* The record of a run: what came of it, without the model, as a small JSON file.
 *
 *     {"version", "settings", "dataset", "epochs", "seconds", "memory", "machine": {"processor",
 *      "kernels", "blas", "threads"}, "model": the checksum of its numbers, "best": the best epoch
 *      with its metrics, "validations": [{"epoch", "mrr"}, ...]}
 *
 * and of a failed run the first four, and "message". */
#ifndef KG_EXPERIMENT_RUN_RECORD_H
#define KG_EXPERIMENT_RUN_RECORD_H

#include "base/json.h"

/* The record of the model with that config.json; NULL if memory is short. */
json_t *experiment_record_make(const json_t *config);

/* A record's validations after the best epoch. */
uint64_t experiment_record_since_best(const json_t *record);

/* Reads a record; NULL if there is none, or none that is whole: it can be made again. */
KG_MUST_CHECK kg_status experiment_record_read(json_t **out, const char *path, kg_error *error);

/* Writes it, unless it is there. */
KG_MUST_CHECK kg_status experiment_record_write(const char *path, json_t *record, kg_error *error);

/* Writes any small file of results; folders are made as needed. */
KG_MUST_CHECK kg_status experiment_result_write(const char *path, const json_t *value,
                                                kg_error *error);

#endif
