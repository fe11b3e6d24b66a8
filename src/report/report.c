/* The report as one self-contained HTML page: style and plots are part of it, and a content
 * security policy forbids everything else, so that no text of results can become a script.
 *
 * The page is made in memory. It and the plots beside it are on disk before the first of them gets
 * its name. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "report/html_escape.h"
#include "report/results.h"
#include "report_style.h" /* generated from report.css: REPORT_STYLE */

#define PAGE "report.html"
#define MARKDOWN "report.md"

/* ---- Files ---- */

struct file {
    char *path;
    kg_output *output;
};

struct files {
    const char *folder;
    struct file *list;
    size_t count;
};

static kg_status open_files(struct files *files, const json_t *results, kg_error *error) {
    const json_t *experiment = NULL;
    size_t i = 0;
    size_t most = 2; /* pages */
    json_array_foreach(json_object_get(results, "experiments"), i, experiment) {
        most += json_array_size(json_object_get(experiment, "plots"));
    }
    files->list = kg__alloc(most, sizeof *files->list);
    return files->list == NULL ? kg__fail_memory(error) : KG_OK;
}

static void close_files(struct files *files) {
    for (size_t i = 0; i < files->count; i++) {
        kg__output_close(files->list[i].output);
        kg__free(files->list[i].path);
    }
    kg__free(files->list);
}

static kg_status add_file(struct files *files, const char *name, const char *bytes, size_t size,
                          kg_error *error) {
    struct file *file = &files->list[files->count++];
    file->path = kg__path_join(files->folder, name);
    if (file->path == NULL)
        return kg__fail_memory(error);
    KG_TRY(kg__output_open(&file->output, file->path, file->path, error));
    KG_TRY(kg__output_write(file->output, bytes, size, error));
    return kg__output_finish(file->output, error);
}

static kg_status place_files(const struct files *files, kg_error *error) {
    for (size_t i = 0; i < files->count; i++)
        KG_TRY(kg__output_place(files->list[i].output, files->list[i].path, error));
    return kg__sync_folder(files->folder, error);
}

/* ---- Small parts ---- */

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* An element that holds nothing but text; `tag` may have attributes. */
static void write_element(FILE *page, const char *tag, const char *text) {
    fprintf(page, "<%s>", tag);
    report_html_text(page, text);
    fprintf(page, "</%.*s>", (int)strcspn(tag, " "), tag);
}

/* A number with a minus sign in place of a hyphen. */
static void write_figure(FILE *page, const char *text) {
    fprintf(page, "%s%s", *text == '-' ? "\u2212" : "", *text == '-' ? text + 1 : text);
}

static void write_duration(FILE *page, double seconds) {
    double minutes = seconds / 60;
    if (seconds < 60)
        fprintf(page, "%.1f s", seconds);
    else if (minutes < 60)
        fprintf(page, "%.0f min", minutes);
    else
        fprintf(page, "%.1f h", minutes / 60);
}

/* ---- Tables ---- */

#define MOST_BESIDE \
    6 /* most columns for which deviation and difference are beside the numbers, not below */

static const char *const verdict_names[REPORT_VERDICTS] = {
    [REPORT_NO_VERDICT] = "none", [REPORT_EQUAL] = "equal", [REPORT_NEAR] = "near",
    [REPORT_BETTER] = "better",   [REPORT_WORSE] = "worse", [REPORT_DIFFERENT] = "different",
};

/* Numbers are in two lines, ours and the paper's, and in two halves that are aligned over a whole
 * column: on the left the numbers, on the right in small type their deviation and their difference.
 * This is the width in characters of the right half of a column; 0 if it is empty. */
static size_t find_side(const json_t *table, size_t column) {
    size_t width = 0;
    for (size_t i = 0; i < json_array_size(json_object_get(table, "rows")); i++) {
        report_cell cell = report_read_cell(table, i, column);
        size_t sd = strlen(cell.sd.text);
        size_t difference = strlen(cell.difference.text);
        width = sd > width ? sd : width;
        width = difference > width ? difference : width;
    }
    return width == 0 ? 0 : width + 2; /* for the sign before it */
}

static void start_side(FILE *page, const char *class, size_t side) {
    fprintf(page, " <span class=\"%s\" style=\"min-width: %zuch\">", class, side);
}

static void write_ours(FILE *page, const report_cell *cell, size_t side) {
    fputs("<span class=\"value\">", page);
    write_figure(page, cell->value.text);
    fputs("</span>", page);
    if (side > 0) {
        start_side(page, "sd", side);
        fprintf(page, "%s%s</span>", cell->sd.text[0] == '\0' ? "" : "± ", cell->sd.text);
    }
}

static void write_theirs(FILE *page, const report_cell *cell, size_t side, const char *beside) {
    fputs(" <br /><span class=\"paper\"><span class=\"unseen\">", page);
    report_html_text(page, beside);
    fputs("'s </span>", page);
    write_figure(page, cell->paper.text);
    fputs("</span>", page);
    start_side(page, "difference", side);
    fputs(report_verdict_sign(cell->verdict), page);
    if (cell->verdict != REPORT_EQUAL) {
        putc(' ', page);
        write_figure(page, cell->difference.text);
    }
    fprintf(page, "<span class=\"unseen\"> %s</span></span>", verdict_names[cell->verdict]);
}

static void write_cell(FILE *page, const report_cell *cell, size_t side, const char *beside) {
    if (cell->text != NULL) {
        write_element(page, "td class=\"words\"", cell->text);
        return;
    }
    fprintf(page, "<td class=\"%s\">", verdict_names[cell->verdict]);
    if (cell->value.text[0] != '\0')
        write_ours(page, cell, side);
    if (cell->verdict != REPORT_NO_VERDICT)
        write_theirs(page, cell, side, beside);
    fputs("</td>", page);
}

static void write_row(FILE *page, const json_t *table, size_t number, const size_t *sides,
                      const char *beside) {
    const json_t *row = json_array_get(json_object_get(table, "rows"), number);
    fputs(json_is_true(json_object_get(row, "rule")) ? "<tr class=\"rule\">" : "<tr>", page);
    write_element(page, "th scope=\"row\"", text_of(row, "label"));
    for (size_t k = 0; k < json_array_size(json_object_get(table, "columns")); k++) {
        report_cell cell = report_read_cell(table, number, k);
        write_cell(page, &cell, sides[k], beside);
    }
    fputs("</tr>\n", page);
}

static void write_head(FILE *page, const json_t *table, const size_t *sides) {
    const json_t *column = NULL;
    size_t k = 0;
    fputs("<thead><tr>", page);
    write_element(page, "th scope=\"col\"", text_of(table, "head"));
    json_array_foreach(json_object_get(table, "columns"), k, column) {
        fprintf(page, "<th scope=\"col\"%s>",
                report_column_has_words(table, k) ? " class=\"words\"" : "");
        report_html_text(page, text_of(column, "label"));
        if (sides[k] > 0) {
            start_side(page, "sd", sides[k]);
            fputs("</span>", page);
        }
        fputs("</th>", page);
    }
    fputs("</tr></thead>\n", page);
}

static kg_status write_grid(FILE *page, const json_t *table, const char *beside, kg_error *error) {
    size_t column_count = json_array_size(json_object_get(table, "columns"));
    size_t *sides = kg__alloc(column_count, sizeof *sides);
    if (sides == NULL)
        return kg__fail_memory(error);
    for (size_t k = 0; k < column_count; k++)
        sides[k] = find_side(table, k);
    bool is_wide = json_array_size(json_object_get(table, "columns")) > MOST_BESIDE;
    fputs(is_wide ? "<table class=\"wide\">" : "<table>", page);
    write_element(page, "caption", text_of(table, "title"));
    write_head(page, table, sides);
    fputs("<tbody>\n", page);
    for (size_t i = 0; i < json_array_size(json_object_get(table, "rows")); i++)
        write_row(page, table, i, sides, beside);
    fputs("</tbody></table>", page);
    kg__free(sides);
    return KG_OK;
}

/* How each row or column was made, in a collapsed element. */
static void write_notes(FILE *page, const json_t *lines, const char *what) {
    const json_t *line = NULL;
    size_t i = 0;
    bool is_open = false;
    json_array_foreach(lines, i, line) {
        const char *note = text_of(line, "note");
        if (note == NULL)
            continue;
        if (!is_open)
            fprintf(page, "<details><summary>How each %s was made</summary><dl>\n", what);
        is_open = true;
        write_element(page, "dt", text_of(line, "label"));
        fputs("<dd>", page);
        write_element(page, "code", note);
        fputs("</dd>\n", page);
    }
    if (is_open)
        fputs("</dl></details>\n", page);
}

static kg_status write_table(FILE *page, const json_t *table, const char *beside, kg_error *error) {
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", page);
    report_html_text(page, text_of(table, "title"));
    fputs("\">", page);
    KG_TRY(write_grid(page, table, beside, error));
    fputs("</div>\n", page);
    write_notes(page, json_object_get(table, "rows"), "row");
    write_notes(page, json_object_get(table, "columns"), "column");
    return KG_OK;
}

/* ---- Plots ---- */

/* Draws it twice: with its title for the file beside the page, without for the page, where the
 * caption has it. */
static kg_status write_plot(FILE *page, struct files *files, const json_t *json, kg_error *error) {
    const char *name = text_of(json, "name");
    char file[256];
    report_drawing drawing;
    char *svg = NULL;
    size_t size = 0;
    kg_status status = KG_OK;
    snprintf(file, sizeof file, "%s.svg", name);
    KG_CHECK(report_drawing_open(&drawing, json, error));
    KG_CHECK(report_draw(&svg, &size, &drawing.plot, 1, error));
    KG_CHECK(add_file(files, file, svg, size, error));
    kg__free(svg);
    svg = NULL;
    drawing.plot.title = NULL;
    KG_CHECK(report_draw(&svg, &size, &drawing.plot, 1, error));
    fputs("<figure>\n", page);
    report_html_svg(page, svg, name, text_of(json, "title"));
    write_element(page, "figcaption", text_of(json, "title"));
    fputs("\n</figure>\n", page);
done:
    kg__free(svg);
    report_drawing_free(&drawing);
    return status;
}

/* ---- The page ---- */

static void write_fact(FILE *page, const char *what, const char *text) {
    write_element(page, "dt", what);
    write_element(page, "dd", text);
    putc('\n', page);
}

static void write_header(FILE *page, const json_t *results) {
    const json_t *machine = json_object_get(results, "machine");
    fputs("<header>\n", page);
    write_element(page, "h1", report_title(results));
    if (json_object_get(results, "title") == NULL)
        fputs(
            "\n<p class=\"soft\">What we measure, beside what Albooyeh, Goel and Kazemi report in "
            "<cite>Out-of-Sample Representation Learning for Knowledge Graphs</cite> (2020).</p>",
            page);
    fputs("\n<dl class=\"facts\">\n", page);
    write_fact(page, "Made", text_of(results, "made"));
    fputs("<dt>By</dt><dd>kgraft ", page);
    report_html_text(page, text_of(results, "version"));
    fputs("</dd>\n", page);
    if (machine != NULL) {
        write_fact(page, "Processor", text_of(machine, "processor"));
        if (json_object_get(machine, "kernels") != NULL)
            write_fact(page, "Matrix kernels", text_of(machine, "kernels"));
        fputs("<dt>BLAS</dt><dd>", page);
        report_html_text(page, text_of(machine, "blas"));
        json_int_t threads = json_integer_value(json_object_get(machine, "threads"));
        fprintf(page, ", %" JSON_INTEGER_FORMAT " thread%s</dd>\n", threads,
                threads == 1 ? "" : "s");
    }
    fputs("<dt>Command</dt><dd>", page);
    write_element(page, "code", text_of(results, "command"));
    fputs("</dd>\n</dl>\n</header>\n", page);
}

/* How many numbers of an experiment are better than the paper's, and so on. */
static void write_verdicts(FILE *page, const json_t *experiment) {
    size_t counts[REPORT_VERDICTS];
    const char *comma = "";
    report_count_verdicts(counts, experiment);
    for (report_verdict verdict = REPORT_NO_VERDICT + 1; verdict < REPORT_VERDICTS; verdict++) {
        if (counts[verdict] == 0)
            continue;
        fprintf(page, "%s%s %zu %s", comma, report_verdict_sign(verdict), counts[verdict],
                verdict_names[verdict]);
        comma = ", ";
    }
}

static void write_contents(FILE *page, const json_t *experiments) {
    const json_t *experiment = NULL;
    size_t i = 0;
    fputs("<nav aria-label=\"Contents\"><ol>\n", page);
    json_array_foreach(experiments, i, experiment) {
        fprintf(page, "<li><a href=\"#%s\">", text_of(experiment, "name"));
        report_html_text(page, text_of(experiment, "title"));
        fputs("</a><span>", page);
        write_verdicts(page, experiment);
        fputs("</span></li>\n", page);
    }
    fputs(
        "</ol></nav>\n<p class=\"legend\">Under each number of ours stand the paper's (or those of "
        "whom the section names) and the difference: ▲\u00a0ours is better, ▼\u00a0ours is worse, "
        "≈\u00a0within two standard "
        "deviations of ours, =\u00a0the same to the last digit, ≠\u00a0different where neither "
        "is better. ±\u00a0is the standard deviation over seeds. Echoes are queries whose answer "
        "another "
        "fact of the entity already leads to; all others are fresh.</p>\n",
        page);
}

static kg_status write_experiment(FILE *page, struct files *files, const json_t *experiment,
                                  kg_error *error) {
    const json_t *seconds = json_object_get(experiment, "seconds");
    const json_t *plots = json_object_get(experiment, "plots");
    const json_t *part = NULL;
    size_t i = 0;
    fprintf(page, "<section id=\"%s\">\n", text_of(experiment, "name"));
    write_element(page, "h2", text_of(experiment, "title"));
    putc('\n', page);
    json_array_foreach(json_object_get(experiment, "text"), i, part) {
        write_element(page, "p", json_string_value(part));
        putc('\n', page);
    }
    if (json_object_get(experiment, "beside") != NULL) {
        fputs("<p>Under ours stand the numbers of ", page);
        report_html_text(page, report_beside(experiment));
        fputs(", not of the paper.</p>\n", page);
    }
    if (seconds != NULL) {
        fputs("<p class=\"time\">Training took ", page);
        write_duration(page, json_number_value(seconds));
        fputs(".</p>\n", page);
    }
    json_array_foreach(json_object_get(experiment, "tables"), i, part) {
        KG_TRY(write_table(page, part, report_beside(experiment), error));
    }
    if (json_array_size(plots) > 0)
        fputs("<div class=\"plots\">\n", page);
    json_array_foreach(plots, i, part) {
        KG_TRY(write_plot(page, files, part, error));
    }
    fputs(json_array_size(plots) > 0 ? "</div>\n</section>\n" : "</section>\n", page);
    return KG_OK;
}

static kg_status write_page(FILE *page, struct files *files, const json_t *results,
                            kg_error *error) {
    const json_t *experiments = json_object_get(results, "experiments");
    const json_t *experiment = NULL;
    size_t i = 0;
    fputs("<!DOCTYPE html>\n"
          "<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
          "<meta charset=\"utf-8\" />\n"
          "<meta http-equiv=\"Content-Security-Policy\" "
          "content=\"default-src 'none'; style-src 'unsafe-inline'\" />\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n",
          page);
    write_element(page, "title", report_title(results));
    fputs("\n<style>\n" REPORT_STYLE "</style>\n</head>\n<body>\n", page);
    write_header(page, results);
    write_contents(page, experiments);
    fputs("<main>\n", page);
    json_array_foreach(experiments, i, experiment) {
        KG_TRY(write_experiment(page, files, experiment, error));
    }
    fputs("</main>\n</body>\n</html>\n", page);
    return KG_OK;
}

static kg_status write_markdown(FILE *page, struct files *files, const json_t *results,
                                kg_error *error) {
    (void)files;
    return report_print_page(results, page, error);
}

/* A page is made in memory. */
typedef kg_status write_any_page(FILE *page, struct files *files, const json_t *results,
                                 kg_error *error);

static kg_status add_page(struct files *files, const char *name, write_any_page *write,
                          const json_t *results, kg_error *error) {
    char *bytes = NULL;
    size_t size = 0;
    FILE *page = open_memstream(&bytes, &size);
    kg_status status = page == NULL ? kg__fail_memory(error) : write(page, files, results, error);
    if (page != NULL && fclose(page) != 0 && status == KG_OK)
        status = kg__fail_memory(error);
    if (status == KG_OK)
        status = add_file(files, name, bytes, size, error);
    free(bytes); /* which open_memstream allocated */
    return status;
}

kg_status report_write(const char *folder, const json_t *results, kg_error *error) {
    struct files files = {.folder = folder};
    kg_status status = KG_OK;
    KG_CHECK(report_check_results(results, error));
    KG_CHECK(open_files(&files, results, error));
    KG_CHECK(add_page(&files, PAGE, write_page, results, error));
    KG_CHECK(add_page(&files, MARKDOWN, write_markdown, results, error));
    KG_CHECK(place_files(&files, error));
done:
    close_files(&files);
    return status;
}
