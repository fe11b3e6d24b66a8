/* Quoting for gnuplot, and running it. Its script is a file and its output a pipe, so that the two
 * processes cannot block each other. */
#define _GNU_SOURCE
#include "report/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

/* Far more than any plot here needs. */
#define MOST_BYTES ((size_t)64 << 20)

/* gnuplot cuts the label of a tic after so many bytes, even within a character. */
#define LONGEST_TIC 49

/* gnuplot does not escape ']]>', which XML forbids: a space is inserted before its end. */
static bool needs_space(const char *text, size_t i) {
    return i >= 2 && text[i] == '>' && text[i - 1] == ']' && text[i - 2] == ']';
}

/* Anything but letters and spaces is written as an octal escape, so that nothing is left that has a
 * meaning for gnuplot: not even digits, which would extend the escape before them. */
static void quote(FILE *script, const char *text, size_t length, bool is_format) {
    putc('"', script);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (needs_space(text, i))
            putc(' ', script);
        if (c <= ' ' || c == '\x7f')
            putc(' ', script);
        else
            fprintf(script, is_plain ? "%c" : "\\%03o", c);
        if (is_format && c == '%')
            fprintf(script, "\\%03o", c);
    }
    putc('"', script);
}

void report_gnuplot_quote(FILE *script, const char *text) {
    quote(script, text, strlen(text), false);
}

static size_t drawn_length(const char *text, size_t length) {
    size_t out = length;
    for (size_t i = 0; i < length; i++)
        out += needs_space(text, i);
    return out;
}

void report_gnuplot_quote_tic(FILE *script, const char *text) {
    static const char dots[] = "…";
    size_t length = strnlen(text, LONGEST_TIC + 1);
    bool is_cut = drawn_length(text, length) > LONGEST_TIC;
    if (!is_cut) {
        quote(script, text, length, true);
        return;
    }
    while (drawn_length(text, length) > LONGEST_TIC - strlen(dots) ||
           ((unsigned char)text[length] & 0xc0) == 0x80) /* within a character */
        length--;
    char cut[LONGEST_TIC + 1];
    snprintf(cut, sizeof cut, "%.*s%s", (int)length, text, dots);
    quote(script, cut, strlen(cut), true);
}

static kg_status start(pid_t *child, int input, int output, kg_error *error) {
    char name[] = "gnuplot";
    char without_settings_of_users[] = "-d";
    char from_input[] = "-";
    char *arguments[] = {name, without_settings_of_users, from_input, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int code = posix_spawnp(child, name, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0)
        return kg_fail(error, KG_SYSTEM, "cannot start gnuplot, which draws the plot: %s",
                       strerror(code));
    return KG_OK;
}

/* Reads to the end, and appends a zero. */
static kg_status read_all(char **out, size_t *size, int from, kg_error *error) {
    size_t capacity = 0;
    size_t used = 0;
    for (;;) {
        char *grown = kg__grow(*out, &capacity, used + (1 << 14), 1);
        if (grown == NULL)
            return kg__fail_memory(error);
        *out = grown;
        ssize_t got = read(from, grown + used, capacity - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return kg__fail_errno(error, "gnuplot", "read its answer");
        used += (size_t)got;
        grown[used] = '\0';
        *size = used;
        if (got == 0)
            return KG_OK;
        if (used > MOST_BYTES)
            return kg_fail(error, KG_SYSTEM, "expected a drawing by gnuplot, found over %zu bytes",
                           MOST_BYTES);
    }
}

static kg_status wait_for(pid_t child, kg_error *error) {
    int result = 0;
    while (waitpid(child, &result, 0) < 0 && errno == EINTR)
        continue;
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
        return kg_fail(error, KG_SYSTEM, "gnuplot failed to draw the plot");
    return KG_OK;
}

kg_status report_gnuplot_run(char **out, size_t *size, FILE *script, kg_error *error) {
    int ends[2];
    if (ferror(script) || fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0)
        return kg__fail_errno(error, "gnuplot's script", "write it");
    if (pipe2(ends, O_CLOEXEC) != 0)
        return kg__fail_errno(error, "gnuplot", "open a pipe to it");
    pid_t child = 0;
    char *answer = NULL;
    kg_status status = start(&child, fileno(script), ends[1], error);
    close(ends[1]);
    if (status == KG_OK)
        status = read_all(&answer, size, ends[0], error);
    close(ends[0]); /* before waiting: gnuplot may have more output than is read */
    if (child != 0) {
        kg_error unless_known;
        kg_status end = wait_for(child, status == KG_OK ? error : &unless_known);
        status = status == KG_OK ? end : status;
    }
    if (status != KG_OK) {
        kg__free(answer);
        return status;
    }
    *out = answer;
    return KG_OK;
}
