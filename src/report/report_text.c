/* Tables as Markdown that is readable as text: numbers of the same kind are aligned, with the
 * paper's in brackets, on the page with their difference; and the page, which has all that
 * report.html has. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/report.h"
#include "report/results.h"

/* Widths of the parts of a column, in characters. */
struct width {
    size_t value;
    size_t sd;
    size_t paper;
    size_t whole; /* with the head, and with cells of text */
};

/* Characters with a meaning in Markdown get a backslash; those that control a terminal become
 * spaces. Returns the width; without a stream it only measures. */
static size_t write_text(FILE *stream, const char *text) {
    size_t width = 0;
    for (size_t left = strlen(text); left > 0;) {
        size_t length = kg__utf8_length(text, left);
        length = length == 0 ? 1 : length;
        bool is_escaped = strchr("|\\<`*", *text) != NULL;
        bool is_control = (unsigned char)*text < ' ' || *text == '\x7f' ||
                          (length == 2 && *text == '\xc2' && (unsigned char)text[1] < 0xa0);
        if (stream != NULL)
            fprintf(stream, "%s%.*s", is_escaped ? "\\" : "", is_control ? 1 : (int)length,
                    is_control ? " " : text);
        width += is_escaped ? 2 : 1;
        text += length;
        left -= length;
    }
    return width;
}

static size_t width_of(const char *text) {
    return write_text(NULL, text);
}

static void pad(FILE *stream, size_t width) {
    while (width-- > 0)
        putc(' ', stream);
}

static void widen(size_t *width, size_t needed) {
    *width = needed > *width ? needed : *width;
}

/* "±0.0017" and "(0.3904 ▲)", or "(0.3904, +0.0112 ▲)": the two parts behind a value, where there
 * are any. */
struct parts {
    char sd[sizeof(report_figure) + 4];
    char paper[2 * sizeof(report_figure) + 8];
};

static struct parts make_parts(const report_cell *cell, bool is_page) {
    struct parts out = {"", ""};
    if (cell->sd.text[0] != '\0')
        snprintf(out.sd, sizeof out.sd, "±%s", cell->sd.text);
    if (cell->paper.text[0] != '\0')
        snprintf(out.paper, sizeof out.paper, "(%s%s%s %s)", cell->paper.text, is_page ? ", " : "",
                 is_page ? cell->difference.text : "", report_verdict_sign(cell->verdict));
    return out;
}

static const char *read_label(const json_t *list, size_t i) {
    return json_string_value(json_object_get(json_array_get(list, i), "label"));
}

static struct width measure(const json_t *table, size_t column, bool is_page) {
    struct width out = {0, 0, 0, 3};
    for (size_t i = 0; i < json_array_size(json_object_get(table, "rows")); i++) {
        report_cell cell = report_read_cell(table, i, column);
        struct parts parts = make_parts(&cell, is_page);
        widen(&out.value, width_of(cell.value.text));
        widen(&out.sd, width_of(parts.sd));
        widen(&out.paper, width_of(parts.paper));
        if (cell.text != NULL)
            widen(&out.whole, width_of(cell.text));
    }
    widen(&out.whole, width_of(read_label(json_object_get(table, "columns"), column)));
    widen(&out.whole, out.value + out.sd + out.paper + (out.sd > 0) + (out.paper > 0));
    return out;
}

static void write_part(FILE *stream, const char *text, size_t width) {
    pad(stream, width - width_of(text));
    fputs(text, stream);
}

static void write_cell(FILE *stream, const report_cell *cell, const struct width *width,
                       bool is_page) {
    struct parts parts = make_parts(cell, is_page);
    if (cell->text != NULL) {
        pad(stream, width->whole - write_text(stream, cell->text));
        return;
    }
    pad(stream, width->whole - width->value - width->sd - width->paper - (width->sd > 0) -
                    (width->paper > 0));
    write_part(stream, cell->value.text, width->value);
    if (width->sd > 0)
        putc(' ', stream);
    write_part(stream, parts.sd, width->sd);
    if (width->paper > 0)
        putc(' ', stream);
    write_part(stream, parts.paper, width->paper);
}

static void write_head(FILE *stream, const json_t *table, size_t first, const struct width *widths,
                       size_t count) {
    const char *head = json_string_value(json_object_get(table, "head"));
    fputs("| ", stream);
    pad(stream, first - write_text(stream, head));
    for (size_t k = 0; k < count; k++) {
        const char *label = read_label(json_object_get(table, "columns"), k);
        size_t air = widths[k].whole - width_of(label);
        fputs(" | ", stream);
        pad(stream, widths[k].value > 0 ? air : 0);
        write_text(stream, label);
        pad(stream, widths[k].value > 0 ? 0 : air);
    }
    fputs(" |\n|", stream);
    for (size_t i = 0; i < first + 2; i++)
        putc('-', stream);
    for (size_t k = 0; k < count; k++) {
        putc('|', stream);
        for (size_t i = 0; i < widths[k].whole + 1; i++)
            putc('-', stream);
        putc(widths[k].value > 0 ? ':' : '-', stream);
    }
    fputs("|\n", stream);
}

static kg_status print_table(FILE *stream, const json_t *table, bool is_page, kg_error *error) {
    const json_t *rows = json_object_get(table, "rows");
    size_t count = json_array_size(json_object_get(table, "columns"));
    struct width *widths = kg__alloc(count, sizeof *widths);
    if (widths == NULL)
        return kg__fail_memory(error);
    size_t first = width_of(json_string_value(json_object_get(table, "head")));
    widen(&first, 3);
    for (size_t i = 0; i < json_array_size(rows); i++)
        widen(&first, width_of(read_label(rows, i)));
    for (size_t k = 0; k < count; k++)
        widths[k] = measure(table, k, is_page);
    fputs("\n### ", stream);
    write_text(stream, json_string_value(json_object_get(table, "title")));
    fputs("\n\n", stream);
    write_head(stream, table, first, widths, count);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        fputs("| ", stream);
        pad(stream, first - write_text(stream, read_label(rows, i)));
        for (size_t k = 0; k < count; k++) {
            report_cell cell = report_read_cell(table, i, k);
            fputs(" | ", stream);
            write_cell(stream, &cell, &widths[k], is_page);
        }
        fputs(" |\n", stream);
    }
    kg__free(widths);
    return KG_OK;
}

static void print_legend(FILE *stream, const json_t *experiment) {
    size_t counts[REPORT_VERDICTS];
    report_count_verdicts(counts, experiment);
    for (report_verdict verdict = REPORT_NO_VERDICT + 1; verdict < REPORT_VERDICTS; verdict++)
        if (counts[verdict] > 0) {
            fputs("\nIn brackets ", stream);
            write_text(stream, report_beside(experiment));
            fputs("'s: ▲ ours is better, ▼ worse, ≈ within two standard deviations,\n= the same, "
                  "≠ different.\n",
                  stream);
            return;
        }
}

static void explain_echoes(FILE *stream, const json_t *tables) {
    const json_t *table = NULL;
    size_t i = 0;
    json_array_foreach(tables, i, table) {
        const json_t *column = NULL;
        size_t k = 0;
        json_array_foreach(json_object_get(table, "columns"), k, column) {
            const char *label = json_string_value(json_object_get(column, "label"));
            if (label == NULL || strstr(label, "echoes") == NULL)
                continue;
            fputs("\nEchoes: another fact of the entity already leads to the answer; fresh: none "
                  "does.\n",
                  stream);
            return;
        }
    }
}

/* How each row or column was made. */
static void print_notes(FILE *stream, const json_t *lines) {
    const json_t *line = NULL;
    size_t i = 0;
    const char *space = "\n";
    json_array_foreach(lines, i, line) {
        const char *note = json_string_value(json_object_get(line, "note"));
        if (note == NULL)
            continue;
        fprintf(stream, "%s- ", space);
        write_text(stream, read_label(lines, i));
        fputs(": ", stream);
        write_text(stream, note);
        fputs("\n", stream);
        space = "";
    }
}

static void print_paragraphs(FILE *stream, const json_t *texts) {
    const json_t *text = NULL;
    size_t i = 0;
    json_array_foreach(texts, i, text) {
        fputs("\n", stream);
        write_text(stream, json_string_value(text));
        fputs("\n", stream);
    }
}

static void print_plots(FILE *stream, const json_t *plots) {
    const json_t *plot = NULL;
    size_t i = 0;
    json_array_foreach(plots, i, plot) {
        const char *name = json_string_value(json_object_get(plot, "name"));
        fprintf(stream, "\n![%s](%s.svg)\n", name, name);
    }
}

static kg_status print_experiment(FILE *stream, const json_t *experiment, bool is_page,
                                  kg_error *error) {
    const json_t *table = NULL;
    size_t i = 0;
    KG_TRY(report_check_experiment(experiment, error));
    fputs("## ", stream);
    write_text(stream, json_string_value(json_object_get(experiment, "title")));
    fputs("\n", stream);
    if (is_page)
        print_paragraphs(stream, json_object_get(experiment, "text"));
    json_array_foreach(json_object_get(experiment, "tables"), i, table) {
        KG_TRY(print_table(stream, table, is_page, error));
        if (is_page) {
            print_notes(stream, json_object_get(table, "rows"));
            print_notes(stream, json_object_get(table, "columns"));
        }
    }
    explain_echoes(stream, json_object_get(experiment, "tables"));
    print_legend(stream, experiment);
    if (is_page)
        print_plots(stream, json_object_get(experiment, "plots"));
    return KG_OK;
}

kg_status report_print(const json_t *experiment, FILE *stream, kg_error *error) {
    KG_TRY(print_experiment(stream, experiment, false, error));
    fputs("\n", stream); /* before the next one */
    return KG_OK;
}

/* ---- The page ---- */

static void print_fact(FILE *stream, const char *before, const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL)
        return;
    fputs(before, stream);
    write_text(stream, text);
}

kg_status report_print_page(const json_t *results, FILE *stream, kg_error *error) {
    const json_t *machine = json_object_get(results, "machine");
    const json_t *experiment = NULL;
    size_t i = 0;
    fputs("# ", stream);
    write_text(stream, report_title(results));
    print_fact(stream, "\n\nMade ", results, "made");
    print_fact(stream, " by kgraft ", results, "version");
    print_fact(stream, " on ", machine, "processor");
    print_fact(stream, ", matrix kernels ", machine, "kernels");
    print_fact(stream, ", ", machine, "blas");
    print_fact(stream, ": ", results, "command");
    fputs(".\n", stream);
    json_array_foreach(json_object_get(results, "experiments"), i, experiment) {
        fputs("\n", stream);
        KG_TRY(print_experiment(stream, experiment, true, error));
    }
    return KG_OK;
}
