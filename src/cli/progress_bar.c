/* The progress bar, and how often it is drawn: ten times a second on a terminal; elsewhere a line
 * is written every ten seconds, so that a log stays readable. */
#include "cli/progress_bar.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/text.h"

#define REDRAW_SECONDS 0.1
#define LINE_SECONDS 10.0
#define BAR_WIDTH 24

void cli_bar_open(cli_bar *bar, FILE *stream, const volatile sig_atomic_t *stop) {
    *bar = (cli_bar){.stream = stream, .stop = stop};
    bar->is_terminal = stream != NULL && isatty(fileno(stream));
}

void cli_bar_close(cli_bar *bar) {
    if (bar->drawn)
        fputs("\r\033[K", bar->stream);
    bar->drawn = false;
}

/* 12345678 as "12.3 M". */
static void print_count(FILE *stream, double count) {
    const char *scale = "\0kMGT";
    while (count >= 1000 && scale[1] != '\0') {
        count /= 1000;
        scale++;
    }
    if (*scale == '\0')
        fprintf(stream, "%.0f ", count);
    else
        fprintf(stream, "%.1f %c", count, *scale);
}

static void print_amount(const cli_bar *bar, const kg_progress_report *report, double elapsed) {
    FILE *stream = bar->stream;
    double here =
        (double)report->done - (double)bar->stage_first; /* done since the stage started */
    print_count(stream, (double)report->done);
    fputs(report->unit, stream);
    if (elapsed > 0.5) {
        fputs(", ", stream);
        print_count(stream, fmax(here, 0) / elapsed);
        fprintf(stream, "%s/s", report->unit);
    }
    if (report->total > 0 && here > 0 && elapsed > 1)
        fprintf(stream, ", %.0f s left",
                elapsed * ((double)report->total - (double)report->done) / here);
    if (report->note != NULL)
        fputs(report->note, stream);
}

static void draw(cli_bar *bar, const kg_progress_report *report, double elapsed) {
    fprintf(bar->stream, "\r\033[K%s ", report->stage);
    if (report->total > 0) {
        double share = (double)report->done / (double)report->total;
        int full = (int)(share * BAR_WIDTH);
        fputc('[', bar->stream);
        for (int i = 0; i < BAR_WIDTH; i++)
            fputc(i < full ? '#' : ' ', bar->stream);
        fprintf(bar->stream, "] %3.0f%% ", 100 * share);
    }
    print_amount(bar, report, elapsed);
    fflush(bar->stream);
    bar->drawn = true;
}

static void write_line(cli_bar *bar, const kg_progress_report *report, double elapsed) {
    fprintf(bar->stream, "%s: ", report->stage);
    if (report->total > 0)
        fprintf(bar->stream, "%.0f%%, ", 100 * (double)report->done / (double)report->total);
    print_amount(bar, report, elapsed);
    fputc('\n', bar->stream);
}

static bool show(void *payload, const kg_progress_report *report) {
    cli_bar *bar = payload;
    if (bar->stop != NULL && *bar->stop)
        return false;
    if (bar->stream == NULL)
        return true;
    double now = kg__seconds();
    if (strncmp(bar->stage, report->stage, sizeof bar->stage - 1) != 0) {
        snprintf(bar->stage, sizeof bar->stage, "%s", report->stage);
        bar->stage_started = now;
        bar->stage_first = report->done;
        bar->last_shown = now;
    }
    double elapsed = now - bar->stage_started;
    if (now - bar->last_shown < (bar->is_terminal ? REDRAW_SECONDS : LINE_SECONDS))
        return true;
    bar->last_shown = now;
    /* Stages and notes may contain file names. */
    char stage[512];
    char note[512];
    kg_progress_report shown = *report;
    shown.stage = kg__show_controls(stage, sizeof stage, report->stage);
    if (report->note != NULL)
        shown.note = kg__show_controls(note, sizeof note, report->note);
    if (bar->is_terminal)
        draw(bar, &shown, elapsed);
    else
        write_line(bar, &shown, elapsed);
    return true;
}

kg_progress cli_bar_progress(cli_bar *bar) {
    return (kg_progress){show, bar};
}
