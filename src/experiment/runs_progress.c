/* The progress of a run, reported as that of all runs. */
#include "experiment/runs_progress.h"

#include <stdio.h>

static void set_within(experiment_run_progress *run, uint64_t triples) {
    run->runs->done += triples - run->within;
    run->within = triples;
}

/* Validating and calibrating are parts of a run, but not measured in triples. */
bool experiment_runs_progress_report(experiment_run_progress *run,
                                     const kg_progress_report *report) {
    experiment_runs_progress *runs = run->runs;
    bool trains = report->phase == KG_PHASE_TRAINING;
    char note[512];
    if (trains)
        set_within(run, report->done);
    snprintf(note, sizeof note, ", run %zu of %zu, %s%s%s", run->number + 1, runs->run_count,
             run->name, trains ? "" : ", ",
             !trains                ? report->stage
             : report->note == NULL ? ""
                                    : report->note);
    kg_progress_report whole = {.stage = runs->stage,
                                .unit = "triples",
                                .done = runs->done,
                                .total = runs->total,
                                .note = note,
                                .phase = KG_PHASE_TRAINING};
    return runs->progress->report(runs->progress->payload, &whole);
}

void experiment_runs_progress_end(experiment_run_progress *run, uint64_t work) {
    set_within(run, work);
}
