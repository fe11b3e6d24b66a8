/* Trains the runs of a grid or of experiments, several at once: they share the data set and the
 * processors, each run has threads of its own, and comes to the bytes that it comes to alone. Many
 * runs of one thread take less time than one after the other with many, since threads need not wait
 * for each other at every batch. */
#ifndef KG_EXPERIMENT_RUNS_AT_ONCE_H
#define KG_EXPERIMENT_RUNS_AT_ONCE_H

#include "experiment/run.h"

typedef struct experiment_job {
    experiment_run *run; /* that is waiting */
    const kg_dataset *dataset;
    size_t number; /* among all runs of the command, from 0 */
} experiment_job;

typedef struct experiment_runs_options {
    const char *stage; /* of progress */
    const kg_progress *progress;
    size_t run_count; /* of the command */
    uint64_t threads; /* of all together; 0: as many as there are processors */
    uint64_t at_once; /* most runs at once; 0: as many as there are threads */
    /* Called as a run ends (KG_OK, also if it failed) or is stopped (KG_CANCELLED); never two calls
     * at once. */
    kg_status (*on_end)(void *payload, const experiment_job *job, kg_status status,
                        kg_error *error);
    void *payload;
} experiment_runs_options;

/* Trains all of them, fewer at once where memory is short. The first error stops the others, at
 * their next batch, with a checkpoint. */
KG_MUST_CHECK kg_status experiment_runs_train(const experiment_job *jobs, size_t count,
                                              const experiment_runs_options *options,
                                              kg_error *error);

#endif
