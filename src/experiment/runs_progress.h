/* The progress of many runs as one, measured in triples. Several of them may be under way. */
#ifndef KG_EXPERIMENT_RUNS_PROGRESS_H
#define KG_EXPERIMENT_RUNS_PROGRESS_H

#include "base/progress.h"

typedef struct experiment_runs_progress {
    const char *stage;
    const kg_progress *progress; /* where it is reported to */
    uint64_t total;
    uint64_t done; /* of all runs, also of those under way */
    size_t run_count;
} experiment_runs_progress;

/* One of the runs. */
typedef struct experiment_run_progress {
    experiment_runs_progress *runs;
    uint64_t within; /* triples done, which are a part of `done` */
    size_t number;   /* among all runs, from 0 */
    const char *name;
} experiment_run_progress;

/* Turns a run's progress into that of all runs. */
bool experiment_runs_progress_report(experiment_run_progress *run,
                                     const kg_progress_report *report);

/* The run has ended, and `work` triples of the total with it. */
void experiment_runs_progress_end(experiment_run_progress *run, uint64_t work);

#endif
