/* Reading checked results: cells as texts, plots as arrays. */
#include "report/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "report/number_text.h"

/* ---- Cells ---- */

/* Integers in groups of three digits; those that are too long, in powers of ten. */
static report_figure show(double value, int digits) {
    report_figure out;
    if (fabs(value) >= 1e15)
        snprintf(out.text, sizeof out.text, "%.4g", value);
    else if (digits == 0 && fabs(value) >= 999.5)
        snprintf(out.text, sizeof out.text, "%s%s", value < 0 ? "-" : "",
                 report_grouped((uint64_t)(fabs(value) + 0.5)).text);
    else
        snprintf(out.text, sizeof out.text, "%.*f", digits, value);
    return out;
}

static report_verdict judge(double difference, const report_cell *cell, double sd,
                            const char *better) {
    if (strcmp(cell->value.text, cell->paper.text) == 0)
        return REPORT_EQUAL;
    if (fabs(difference) <= 2 * sd)
        return REPORT_NEAR;
    if (better != NULL && strcmp(better, "same") == 0)
        return REPORT_DIFFERENT;
    bool higher_is_better = better == NULL || strcmp(better, "higher") == 0;
    return (difference > 0) == higher_is_better ? REPORT_BETTER : REPORT_WORSE;
}

static const json_t *find_cell(const json_t *table, size_t row, size_t column) {
    const json_t *rows = json_object_get(table, "rows");
    return json_array_get(json_object_get(json_array_get(rows, row), "cells"), column);
}

report_cell report_read_cell(const json_t *table, size_t row, size_t column) {
    const json_t *cell = find_cell(table, row, column);
    const json_t *about = json_array_get(json_object_get(table, "columns"), column);
    json_int_t seeds = json_integer_value(json_object_get(cell, "seeds"));
    report_cell out = {.text = json_string_value(json_object_get(cell, "text"))};
    int digits = (int)json_integer_value(json_object_get(about, "digits"));
    const json_t *value = json_object_get(cell, "value");
    const json_t *sd = seeds == 1 ? NULL : json_object_get(cell, "sd");
    const json_t *paper = json_object_get(cell, "paper");
    if (value != NULL)
        out.value = show(json_number_value(value), digits);
    if (sd != NULL)
        out.sd = show(json_number_value(sd), digits);
    if (paper != NULL) {
        double difference = json_number_value(value) - json_number_value(paper);
        report_figure size = show(fabs(difference), digits);
        out.paper = show(json_number_value(paper), digits);
        snprintf(out.difference.text, sizeof out.difference.text, "%c%.40s",
                 difference < 0 ? '-' : '+', size.text);
        out.verdict = judge(difference, &out, json_number_value(sd),
                            json_string_value(json_object_get(about, "better")));
    }
    return out;
}

const char *report_verdict_sign(report_verdict verdict) {
    static const char *const signs[REPORT_VERDICTS] = {
        [REPORT_NO_VERDICT] = "", [REPORT_EQUAL] = "=", [REPORT_NEAR] = "≈",
        [REPORT_BETTER] = "▲",    [REPORT_WORSE] = "▼", [REPORT_DIFFERENT] = "≠",
    };
    return signs[verdict];
}

static void count_table(size_t counts[REPORT_VERDICTS], const json_t *table) {
    for (size_t i = 0; i < json_array_size(json_object_get(table, "rows")); i++)
        for (size_t k = 0; k < json_array_size(json_object_get(table, "columns")); k++)
            counts[report_read_cell(table, i, k).verdict]++;
}

void report_count_verdicts(size_t counts[REPORT_VERDICTS], const json_t *experiment) {
    const json_t *table = NULL;
    size_t i = 0;
    memset(counts, 0, REPORT_VERDICTS * sizeof *counts);
    json_array_foreach(json_object_get(experiment, "tables"), i, table) {
        count_table(counts, table);
    }
}

const char *report_title(const json_t *results) {
    const json_t *title = json_object_get(results, "title");
    return title == NULL ? "kgraft: the paper, reproduced" : json_string_value(title);
}

const char *report_beside(const json_t *experiment) {
    const json_t *name = json_object_get(experiment, "beside");
    return name == NULL ? "the paper" : json_string_value(name);
}

bool report_column_has_words(const json_t *table, size_t column) {
    bool has_words = false;
    for (size_t i = 0; i < json_array_size(json_object_get(table, "rows")); i++) {
        const json_t *cell = find_cell(table, i, column);
        if (json_object_get(cell, "value") != NULL)
            return false;
        has_words = has_words || json_object_get(cell, "text") != NULL;
    }
    return has_words;
}

/* ---- Plots ---- */

const char *const report_style_names[] = {[REPORT_LINE] = "line",
                                          [REPORT_DASHED] = "dashed",
                                          [REPORT_POINTS] = "points",
                                          [REPORT_BARS] = "bars",
                                          NULL};

static report_style find_style(const char *text) {
    report_style style = REPORT_LINE;
    while (style < REPORT_BARS && strcmp(report_style_names[style], text) != 0)
        style++;
    return style;
}

static double item(const json_t *list, size_t i) {
    return json_number_value(json_array_get(list, i));
}

/* Allocates everything of the plot, in one array for each type. */
static kg_status make_room(report_drawing *out, const json_t *plot, kg_error *error) {
    const json_t *all = json_object_get(plot, "series");
    const json_t *series = NULL;
    size_t i = 0;
    size_t point_count = 0;
    size_t group_count = 0;
    json_array_foreach(all, i, series) {
        point_count += json_array_size(json_object_get(series, "points"));
        group_count += json_array_size(json_object_get(series, "groups"));
    }
    out->plot.series_count = json_array_size(all);
    out->plot.x_label_count = json_array_size(json_object_get(plot, "x_labels"));
    out->series = kg__alloc(out->plot.series_count, sizeof *out->series);
    out->points = kg__alloc(point_count, sizeof *out->points);
    out->groups = kg__alloc(group_count, sizeof *out->groups);
    out->labels = kg__alloc(out->plot.x_label_count, sizeof(char *));
    if (out->series == NULL || out->points == NULL || out->groups == NULL || out->labels == NULL)
        return kg__fail_memory(error);
    return KG_OK;
}

static void read_series(report_series *out, report_point *points, report_range *groups,
                        const json_t *series) {
    const json_t *point_list = json_object_get(series, "points");
    const json_t *group_list = json_object_get(series, "groups");
    const json_t *inner = NULL;
    size_t i = 0;
    *out = (report_series){
        .name = json_string_value(json_object_get(series, "name")),
        .style = find_style(json_string_value(json_object_get(series, "style"))),
        .points = points,
        .count = json_array_size(point_list),
        .groups = groups,
        .group_count = json_array_size(group_list),
    };
    json_array_foreach(point_list, i, inner) {
        points[i] = (report_point){item(inner, 0), item(inner, 1), item(inner, 2)};
    }
    json_array_foreach(group_list, i, inner) {
        groups[i] = (report_range){item(inner, 0), item(inner, 1)};
    }
}

kg_status report_drawing_open(report_drawing *out, const json_t *plot, kg_error *error) {
    *out = (report_drawing){.plot = {
                                .title = json_string_value(json_object_get(plot, "title")),
                                .x = json_string_value(json_object_get(plot, "x")),
                                .y = json_string_value(json_object_get(plot, "y")),
                                .log_x = json_is_true(json_object_get(plot, "log_x")),
                                .log_y = json_is_true(json_object_get(plot, "log_y")),
                                .y_from_zero = json_is_true(json_object_get(plot, "y_from_zero")),
                            }};
    KG_TRY(make_room(out, plot, error));
    report_point *points = out->points;
    report_range *groups = out->groups;
    for (size_t i = 0; i < out->plot.series_count; i++) {
        read_series(&out->series[i], points, groups,
                    json_array_get(json_object_get(plot, "series"), i));
        points += out->series[i].count;
        groups += out->series[i].group_count;
    }
    for (size_t i = 0; i < out->plot.x_label_count; i++)
        out->labels[i] = json_string_value(json_array_get(json_object_get(plot, "x_labels"), i));
    out->plot.series = out->series;
    out->plot.x_labels = out->labels;
    return KG_OK;
}

void report_drawing_free(report_drawing *drawing) {
    kg__free(drawing->series);
    kg__free(drawing->points);
    kg__free(drawing->groups);
    kg__free(drawing->labels);
}
