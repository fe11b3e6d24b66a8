/* The progress of many runs as one, measured in triples. */
#ifndef KG_EXPERIMENT_RUNS_PROGRESS_H
#define KG_EXPERIMENT_RUNS_PROGRESS_H

#include "base/progress.h"

typedef struct experiment_runs_progress {
    const char *stage;
    const kg_progress *progress; /* where it is reported to */
    uint64_t total;
    uint64_t done;   /* by the runs before the current one */
    uint64_t within; /* by the current one */
    size_t run;      /* its number, from 0 */
    size_t run_count;
    const char *name; /* appended to the message, with its own punctuation */
} experiment_runs_progress;

/* Turns a run's progress into that of all runs; for a kg_progress whose payload is an
 * experiment_runs_progress. */
bool experiment_runs_progress_report(void *work, const kg_progress_report *report);

#endif
