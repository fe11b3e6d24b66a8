/* Bars of text, and gnuplot as a child process: it reads a script from a temporary file and
 * writes SVG to a pipe, from which the output is made, so a failed plot leaves no file. */
#define _GNU_SOURCE
#include "cli/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"
#include "cli/cli.h"

#define BAR_WIDTH 40
#define PLOT_HEIGHT 320
#define PLOT_WIDTH 640

void cli_print_bars(const cli_bar_row *rows, size_t count) {
    uint64_t largest = 1;
    for (size_t i = 0; i < count; i++)
        largest = rows[i].count > largest ? rows[i].count : largest;
    for (size_t i = 0; i < count; i++) {
        uint64_t width = (rows[i].count * BAR_WIDTH + largest / 2) / largest;
        printf("  %12s ", rows[i].label);
        for (uint64_t j = 0; j < BAR_WIDTH; j++)
            putchar(j < width ? '#' : ' ');
        printf(" %s\n", cli_grouped(rows[i].count).text);
    }
}

static void write_data(FILE *script, size_t number, const kg_histogram *histogram) {
    fprintf(script, "$data%zu << EOD\n", number);
    for (size_t k = 0; k < histogram->size; k++)
        if (histogram->counts[k] > 0)
            fprintf(script, "%zu %ju\n", k, (uintmax_t)histogram->counts[k]);
    fputs("EOD\n", script);
}

/* Like the paper, a plain histogram leaves out the few values far to the right. */
static void write_plot(FILE *script, size_t number, const cli_plot *plot) {
    fprintf(script, "set title \"%s\"\nset xlabel \"%s\"\nset ylabel \"%s\"\n", plot->title,
            plot->x, plot->y);
    if (plot->logarithmic) {
        fprintf(script,
                "set logscale xy\nset autoscale\n"
                "plot $data%zu using 1:2 with points pointtype 7 pointsize 0.4 "
                "linecolor rgb \"#3b6ea5\"\nunset logscale\n",
                number);
        return;
    }
    size_t right = kg_histogram_quantile(plot->histogram, 0.98) + 1;
    fprintf(
        script,
        "set xrange [0:%zu]\nset yrange [0:*]\nset boxwidth 0.9\nset style fill solid noborder\n"
        "plot $data%zu using 1:2 with boxes linecolor rgb \"#3b6ea5\"\n",
        right, number);
}

static void write_script(FILE *script, const cli_plot *plots, size_t count) {
    fprintf(script, "set terminal svg size %d,%zu font \"sans-serif,12\" background \"white\"\n",
            PLOT_WIDTH, count * PLOT_HEIGHT);
    for (size_t i = 0; i < count; i++)
        write_data(script, i, plots[i].histogram);
    fprintf(script, "unset key\nset multiplot layout %zu,1\n", count);
    for (size_t i = 0; i < count; i++)
        write_plot(script, i, &plots[i]);
    fputs("unset multiplot\n", script);
}

static kg_status start_gnuplot(pid_t *child, int input, int output, kg_error *error) {
    char name[] = "gnuplot";
    char from_input[] = "-";
    char *arguments[] = {name, from_input, NULL};
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

static kg_status copy_to(kg_output *output, int from, kg_error *error) {
    char buffer[1 << 14];
    for (;;) {
        ssize_t got = read(from, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return kg_fail_errno(error, "gnuplot", "read its answer");
        if (got == 0)
            return KG_OK;
        KG_TRY(kg_output_write(output, buffer, (size_t)got, error));
    }
}

static kg_status run_gnuplot(FILE *script, kg_output *output, kg_error *error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return kg_fail_errno(error, "gnuplot", "open a pipe to it");
    pid_t child = 0;
    kg_status status = start_gnuplot(&child, fileno(script), ends[1], error);
    close(ends[1]);
    if (status == KG_OK) {
        status = copy_to(output, ends[0], error);
        close(ends[0]); /* before we wait: gnuplot may have more to say than we can take */
        ends[0] = -1;
        int result = 0;
        while (waitpid(child, &result, 0) < 0 && errno == EINTR)
            continue;
        if (status == KG_OK && (!WIFEXITED(result) || WEXITSTATUS(result) != 0))
            status = kg_fail(error, KG_SYSTEM, "gnuplot failed to draw the plot");
    }
    if (ends[0] >= 0)
        close(ends[0]);
    return status;
}

kg_status cli_write_svg(const char *path, const cli_plot *plots, size_t count, kg_error *error) {
    FILE *script = tmpfile();
    kg_output *output = NULL;
    kg_status status = KG_OK;
    if (script == NULL) {
        status = kg_fail_errno(error, "gnuplot's script", "create it");
        goto done;
    }
    write_script(script, plots, count);
    if (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0) {
        status = kg_fail_errno(error, "gnuplot's script", "write it");
        goto done;
    }
    KG_CHECK(kg_output_open(&output, path, path, error));
    KG_CHECK(run_gnuplot(script, output, error));
    KG_CHECK(kg_output_commit(output, error));
done:
    kg_output_close(output);
    if (script != NULL)
        fclose(script);
    return status;
}
