/* How the tool shows progress: a bar on a terminal, a line every few seconds elsewhere. */
#ifndef KG_CLI_PROGRESS_BAR_H
#define KG_CLI_PROGRESS_BAR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kgraft.h"

typedef struct cli_bar {
    FILE *stream; /* NULL: shows nothing, only checks for cancellation */
    bool is_terminal;
    const volatile sig_atomic_t *stop; /* set by a signal handler; may be NULL */
    double stage_started;
    uint64_t stage_first; /* `done` when the stage started: a run may resume from there */
    double last_shown;
    char stage[128];
    bool drawn; /* the cursor is behind a bar */
} cli_bar;

void cli_bar_open(cli_bar *bar, FILE *stream, const volatile sig_atomic_t *stop);
kg_progress cli_bar_progress(cli_bar *bar);

/* Erases the bar, so that the next line starts in the first column. */
void cli_bar_close(cli_bar *bar);

#endif
