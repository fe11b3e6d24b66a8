/* The progress of a run, reported as that of all runs. */
#include "experiment/runs_progress.h"

#include <stdio.h>

/* Validating and calibrating are parts of a run, but not measured in triples. */
bool experiment_runs_progress_report(void *payload, const kg_progress_report *report) {
    experiment_runs_progress *work = payload;
    bool trains = report->phase == KG_PHASE_TRAINING;
    char note[512];
    if (trains)
        work->within = report->done;
    snprintf(note, sizeof note, ", run %zu of %zu%s%s%s", work->run + 1, work->run_count,
             work->name, trains ? "" : ", ",
             !trains                ? report->stage
             : report->note == NULL ? ""
                                    : report->note);
    kg_progress_report whole = {.stage = work->stage,
                                .unit = "triples",
                                .done = work->done + work->within,
                                .total = work->total,
                                .note = note,
                                .phase = KG_PHASE_TRAINING};
    return work->progress->report(work->progress->payload, &whole);
}
