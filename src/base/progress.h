/* Progress and cancellation. Long work reports to a kg_progress, a callback with its payload, which
 * cancels the work by returning false. kg_bar is the callback of the tool: a bar on a terminal, a
 * line every few seconds elsewhere. */
#ifndef KG_BASE_PROGRESS_H
#define KG_BASE_PROGRESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

/* KG_CANCELLED if the callback returns false. `progress` may be NULL: then nothing is reported. */
KG_MUST_CHECK kg_status kg__progress_tick(const kg_progress *progress,
                                          const kg_progress_report *report, kg_error *error);

typedef struct kg_bar {
    FILE *stream; /* NULL: shows nothing, only checks for cancellation */
    bool is_terminal;
    const volatile sig_atomic_t *stop; /* set by a signal handler; may be NULL */
    double stage_started;
    uint64_t stage_first; /* `done` when the stage started: a run may resume from there */
    double last_shown;
    char stage[128];
    bool drawn; /* the cursor is behind a bar */
} kg_bar;

void kg__bar_open(kg_bar *bar, FILE *stream, const volatile sig_atomic_t *stop);
kg_progress kg__bar_progress(kg_bar *bar);

/* Erases the bar, so that the next line starts in the first column. */
void kg__bar_close(kg_bar *bar);

/* Seconds of a monotonic clock. */
double kg__seconds(void);

#endif
