/* Metrics in reports, and their mean and deviation over several seeds. `runs` is always a list of
 * what experiment_runner_evaluate gives, one for each seed. */
#ifndef KG_EXPERIMENT_SUMMARY_H
#define KG_EXPERIMENT_SUMMARY_H

#include <stdbool.h>

#include "base/json.h"

/* A number in the metrics: at `key`, inside of `group` unless that is NULL. */
typedef struct experiment_measure {
    const char *label;
    const char *group;
    const char *key;
    int digits;
    int paper; /* its index among the paper's numbers; -1 if it is not there */
} experiment_measure;

/* The columns of a table. The first is the MRR. */
#define EXPERIMENT_MEASURE_COUNT 10
extern const experiment_measure experiment_measures[EXPERIMENT_MEASURE_COUNT];

/* Whether one of the runs failed. */
bool experiment_has_failed(const json_t *runs);

/* A cell of a table: mean, deviation, and the paper's number out of `paper`, which may be NULL. A
 * new reference; NULL if memory is short. */
json_t *experiment_measure_cell(const json_t *runs, const experiment_measure *measure,
                                const json_t *paper);

/* A point of a plot, [x, mean] or [x, mean, deviation]. Likewise. */
json_t *experiment_measure_point(const json_t *runs, const experiment_measure *measure, double x);

#endif
