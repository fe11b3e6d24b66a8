/* Progress: who is asked and how stopping comes through; and what the bar writes, to a terminal
 * (a real one, by a pty) and to a file: how often, how much, and that it cleans up. */
#define _GNU_SOURCE
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "cli/progress_bar.h"

struct log {
    int calls;
    bool go_on;
    kg_progress_report last;
};

static bool note(void *payload, const kg_progress_report *report) {
    struct log *log = payload;
    log->calls++;
    log->last = *report;
    return log->go_on;
}

static void test_tick(void **state) {
    (void)state;
    struct log log = {.go_on = true};
    kg_progress progress = {note, &log};
    kg_progress_report report = {.stage = "reading a.tsv", .unit = "facts", .done = 3, .total = 10};
    kg_error error = {0};
    assert_ok(kg__progress_tick(&progress, &report, &error), &error);
    assert_int_equal(log.calls, 1);
    assert_memory_equal(&log.last, &report, sizeof report);
    log.go_on = false;
    assert_status(kg__progress_tick(&progress, &report, &error), KG_CANCELLED, &error);
    assert_error_text(&error, "stopped while reading a.tsv");
    assert_status(kg__progress_tick(&progress, &report, NULL), KG_CANCELLED, NULL);
    assert_ok(kg__progress_tick(NULL, &report, &error), &error);
    assert_int_equal(log.calls, 3);
}

static void test_clock(void **state) {
    (void)state;
    double before = kg__seconds();
    usleep(20000);
    double elapsed = kg__seconds() - before;
    assert_true(elapsed >= 0.02 && elapsed < 10);
}

static void test_stop(void **state) {
    (void)state;
    FILE *streams[] = {NULL, tmpfile()};
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        volatile sig_atomic_t stop = 0;
        cli_bar bar;
        cli_bar_open(&bar, streams[i], &stop);
        kg_progress progress = cli_bar_progress(&bar);
        kg_progress_report report = {.stage = "working", .unit = "facts", .done = 1, .total = 2};
        assert_ok(kg__progress_tick(&progress, &report, NULL), NULL);
        stop = 1;
        assert_status(kg__progress_tick(&progress, &report, NULL), KG_CANCELLED, NULL);
        cli_bar_close(&bar);
    }
    fclose(streams[1]);
}

/* A terminal and what appeared on it so far. */
struct terminal {
    int master;
    FILE *stream;
    char shown[65536];
    size_t length;
};

static void open_terminal(struct terminal *terminal) {
    *terminal = (struct terminal){.master = posix_openpt(O_RDWR | O_NOCTTY)};
    assert_true(terminal->master >= 0);
    assert_int_equal(grantpt(terminal->master), 0);
    assert_int_equal(unlockpt(terminal->master), 0);
    terminal->stream = fopen(ptsname(terminal->master), "r+");
    assert_non_null(terminal->stream);
    assert_int_equal(fcntl(terminal->master, F_SETFL, O_NONBLOCK), 0);
}

/* What is new since the last look. */
static const char *look(struct terminal *terminal) {
    size_t before = terminal->length;
    fflush(terminal->stream);
    for (ssize_t count = 1; count > 0;) {
        count = read(terminal->master, terminal->shown + terminal->length,
                     sizeof terminal->shown - 1 - terminal->length);
        terminal->length += count > 0 ? (size_t)count : 0;
    }
    terminal->shown[terminal->length] = '\0';
    return terminal->shown + before;
}

static void close_terminal(struct terminal *terminal) {
    fclose(terminal->stream);
    close(terminal->master);
}

/* Lets the bar believe that its stage started so long ago, and nothing was shown since. */
static void pretend(cli_bar *bar, double seconds) {
    bar->stage_started = kg__seconds() - seconds;
    bar->last_shown = bar->stage_started;
}

static void tick(cli_bar *bar, const char *stage, uint64_t done, uint64_t total) {
    kg_progress progress = cli_bar_progress(bar);
    kg_progress_report report = {.stage = stage, .unit = "facts", .done = done, .total = total};
    assert_ok(kg__progress_tick(&progress, &report, NULL), NULL);
}

static void test_bar_on_terminal(void **state) {
    (void)state;
    struct terminal terminal;
    open_terminal(&terminal);
    cli_bar bar;
    cli_bar_open(&bar, terminal.stream, NULL);
    assert_true(bar.is_terminal);
    tick(&bar, "reading", 0, 1000);
    assert_string_equal(look(&terminal), ""); /* what is soon over is not worth a bar */
    pretend(&bar, 0.2);
    tick(&bar, "reading", 500, 1000);
    assert_string_equal(look(&terminal),
                        "\r\033[Kreading [############            ]  50% 500 facts");
    pretend(&bar, 2);
    tick(&bar, "reading", 750, 1000);
    const char *shown = look(&terminal);
    assert_non_null(strstr(shown, "[##################      ]  75% 750 facts, 3"));
    assert_non_null(strstr(shown, " facts/s, 1 s left"));
    pretend(&bar, 10);
    tick(&bar, "reading", 12345678, 0); /* the total is not known */
    shown = look(&terminal);
    assert_non_null(strstr(shown, "\r\033[Kreading 12.3 Mfacts, 1.2 Mfacts/s"));
    assert_null(strstr(shown, "left"));
    assert_null(strstr(shown, "["
                              "#"));
    pretend(&bar, 10);
    tick(&bar, "\x1b\x9b", 1, 0);
    pretend(&bar, 0.2);
    tick(&bar, "\x1b\x9b", 1, 0); /* the name of a file cannot steer the terminal */
    assert_string_equal(look(&terminal), "\r\033[K\\x1b\\x9b 1 facts");
    cli_bar_close(&bar);
    assert_string_equal(look(&terminal), "\r\033[K");
    cli_bar_close(&bar);
    assert_string_equal(look(&terminal), "");
    close_terminal(&terminal);
}

/* However often it is called: ten times a second at most. */
static void test_bar_is_drawn_seldom(void **state) {
    (void)state;
    struct terminal terminal;
    open_terminal(&terminal);
    cli_bar bar;
    cli_bar_open(&bar, terminal.stream, NULL);
    double start = kg__seconds();
    uint64_t calls = 0;
    while (kg__seconds() - start < 0.55)
        tick(&bar, "working", ++calls, 0);
    double elapsed = kg__seconds() - start;
    size_t drawn = 0;
    for (const char *c = look(&terminal); (c = strstr(c, "\r\033[K")) != NULL; c++)
        drawn++;
    assert_true(calls > 1000);
    assert_true(drawn >= 1 && (double)drawn <= elapsed / 0.1);
    cli_bar_close(&bar);
    close_terminal(&terminal);
}

/* Done beyond the total, a stage of any length, counts of any size: nothing breaks. */
static void test_bar_with_strange_numbers(void **state) {
    (void)state;
    static const struct {
        uint64_t done, total;
        const char *expected;
    } cases[] = {
        {0, 5, "]   0% 0 facts"},
        {5, 5, "[########################] 100% 5 facts"},
        {20, 5, "[########################] 400% 20 facts"},
        {999, 0, " 999 facts"},
        {1000, 0, " 1.0 kfacts"},
        {UINT64_MAX, UINT64_MAX, "100% 18446744.1 Tfacts"},
    };
    struct terminal terminal;
    open_terminal(&terminal);
    cli_bar bar;
    cli_bar_open(&bar, terminal.stream, NULL);
    char stage[300];
    memset(stage, 's', sizeof stage - 1);
    stage[sizeof stage - 1] = '\0';
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tick(&bar, stage, cases[i].done, cases[i].total);
        bar.stage_started = bar.last_shown;
        bar.last_shown -= 0.2;
        tick(&bar, stage, cases[i].done, cases[i].total);
        if (strstr(look(&terminal), cases[i].expected) == NULL)
            fail_msg("expected ...%s, found %s", cases[i].expected, terminal.shown);
    }
    cli_bar_close(&bar);
    close_terminal(&terminal);
}

/* In a log: a line every ten seconds, and no control characters. */
static void test_lines_in_a_file(void **state) {
    (void)state;
    char *shown = NULL;
    FILE *stream = tmpfile();
    cli_bar bar;
    cli_bar_open(&bar, stream, NULL);
    assert_false(bar.is_terminal);
    for (uint64_t i = 0; i < 100000; i++)
        tick(&bar, "reading", i, 100000);
    assert_int_equal(ftell(stream), 0);
    pretend(&bar, 20);
    for (uint64_t i = 0; i < 100000; i++)
        tick(&bar, "reading", 50000, 100000);
    pretend(&bar, 20);
    tick(&bar, "reading", 0, 100000); /* when nothing is done, nobody knows how long it takes */
    tick(&bar, "writing", 1, 0);      /* another stage starts anew */
    pretend(&bar, 11);
    tick(&bar, "writing", 11000, 0);
    tick(&bar, "going on", 500, 1000); /* with what others have done: no merit of ours */
    pretend(&bar, 20);
    tick(&bar, "going on", 700, 1000);
    cli_bar_close(&bar);
    size_t size = (size_t)ftell(stream);
    rewind(stream);
    shown = must_allocate(size + 1, 1);
    assert_int_equal(fread(shown, 1, size, stream), size);
    assert_string_equal(shown, "reading: 50%, 50.0 kfacts, 2.5 kfacts/s, 20 s left\n"
                               "reading: 0%, 0 facts, 0 facts/s\n"
                               "writing: 11.0 kfacts, 1000 facts/s\n"
                               "going on: 70%, 700 facts, 10 facts/s, 30 s left\n");
    free(shown);
    fclose(stream);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tick),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_bar_on_terminal),
        cmocka_unit_test(test_bar_is_drawn_seldom),
        cmocka_unit_test(test_bar_with_strange_numbers),
        cmocka_unit_test(test_lines_in_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
