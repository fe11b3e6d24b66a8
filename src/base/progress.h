/* Progress and cancellation. Long work reports to a kg_progress, a callback with its payload; the
 * callback may ask it to stop by returning false. kg_bar is the one that people see: a bar on a
 * terminal, a plain line now and then elsewhere. */
#ifndef KG_BASE_PROGRESS_H
#define KG_BASE_PROGRESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

/* KG_CANCELLED if the callback asks to stop. `progress` may be NULL: then there is nobody to ask.
 */
KG_MUST_CHECK kg_status kg__progress_tick(const kg_progress *progress,
                                          const kg_progress_report *report, kg_error *error);

typedef struct kg_bar {
    FILE *stream; /* NULL: shows nothing, only asks about cancellation */
    bool is_terminal;
    const volatile sig_atomic_t *stop; /* set by a signal handler; may be NULL */
    double stage_started;
    uint64_t stage_first; /* what was done when the stage started: a run may go on from there */
    double last_shown;
    char stage[128];
    bool drawn; /* the cursor stands behind a bar */
} kg_bar;

void kg__bar_open(kg_bar *bar, FILE *stream, const volatile sig_atomic_t *stop);
kg_progress kg__bar_progress(kg_bar *bar);

/* Wipes the bar, so that the next line starts clean. */
void kg__bar_close(kg_bar *bar);

/* Seconds of a clock that only goes forward. */
double kg__seconds(void);

#endif
