/* The progress of a run, told as that of all runs. */
#include "cli/runs_progress.h"

#include <stdio.h>
#include <string.h>

/* Counting evidence, validating and calibrating are parts of a run, but have no triples. */
bool cli_runs_progress_report(void *payload, const kg_progress_report *report) {
    cli_runs_progress *work = payload;
    bool trains = strcmp(report->unit, "triples") == 0;
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
                                .note = note};
    return work->progress->report(work->progress->payload, &whole);
}
