/* Numbers that experiments report, and what becomes of them over several seeds. `runs` is always a
 * list of what cli_runner_judge gives, one for each seed. */
#ifndef KG_CLI_SUMMARY_H
#define KG_CLI_SUMMARY_H

#include <stdbool.h>

#include "base/json.h"

/* A number somewhere in the metrics: at `key`, inside of `group` unless that is NULL. */
typedef struct cli_measure {
    const char *label;
    const char *group;
    const char *key;
    int digits;
    int paper; /* its place among the paper's numbers; -1 if it is not there */
} cli_measure;

/* The columns of a table. The first is the MRR. */
#define CLI_MEASURE_COUNT 10
extern const cli_measure cli_measures[CLI_MEASURE_COUNT];

/* Whether one of the runs came to nothing. */
bool cli_has_failed(const json_t *runs);

/* A cell of a table: mean, deviation, and the paper's number out of `paper`, which may be NULL. A
 * new reference; NULL if memory is short. */
json_t *cli_measure_cell(const json_t *runs, const cli_measure *measure, const json_t *paper);

/* A point of a plot, [x, mean] or [x, mean, deviation]. Likewise. */
json_t *cli_measure_point(const json_t *runs, const cli_measure *measure, double x);

#endif
