/* Many runs as one piece of work, measured in triples, for those who wait. */
#ifndef KG_CLI_RUNS_PROGRESS_H
#define KG_CLI_RUNS_PROGRESS_H

#include "base/progress.h"

typedef struct cli_runs_progress {
    const char *stage;
    const kg_progress *progress; /* where it is told */
    uint64_t total;
    uint64_t done;   /* by the runs before the current one */
    uint64_t within; /* by the current one */
    size_t run;      /* its number, from 0 */
    size_t run_count;
    const char *name; /* what else to say about it, with its own punctuation */
} cli_runs_progress;

/* Makes of a run's progress that of the whole; for a kg_progress with a cli_runs_progress. */
bool cli_runs_progress_report(void *work, const kg_progress_report *report);

#endif
