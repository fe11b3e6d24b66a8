/* Experiments to tables and plots. For each kind of experiment one function makes the tables and
 * plots of a panel; all of them get their numbers from evaluate_seeds(), which evaluates an entry
 * for all seeds. */
#include "experiment/tabulate.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "experiment/embed_timing.h"
#include "experiment/summary.h"
#include "graph/dataset_folder.h"
#include "graph/stats.h"
#include "rank/breakdown.h"

#define BINS 5 /* as many as the paper has */

/* Tables and plots of an experiment so far. */
struct builder {
    const experiment_description *experiment;
    const experiment_limits *limits;
    experiment_runner *runner;
    json_t *tables;
    json_t *plots;
    const json_t *counts; /* the table that all data sets share; NULL if it is not made yet */
    double seconds;       /* of training, all runs together */
};

/* Adds to a list and takes the reference; NULL, the item or the list, means that memory is short.
 */
static kg_status append(json_t *list, json_t *item, kg_error *error) {
    return json_array_append_new(list, item) == 0 ? KG_OK : kg__fail_memory(error);
}

static bool is_wanted(const struct builder *m, const experiment_panel *panel) {
    return m->limits->only == NULL || strcmp(m->limits->only, panel->data) == 0;
}

static size_t count_seeds(const struct builder *m, const experiment_entry *entry) {
    uint64_t most = m->limits->seeds;
    return most > 0 && most < entry->seeds ? (size_t)most : entry->seeds;
}

static experiment_request make_request(const experiment_panel *panel, const experiment_entry *entry,
                                       size_t value, size_t seed) {
    return (experiment_request){.data = panel->data,
                                .train = experiment_entry_train(entry, value),
                                .option = entry->option,
                                .value = experiment_value(entry, value),
                                .seed = seed,
                                .eval = entry->eval};
}

/* ---- The plan ---- */

static kg_status plan_entry(const struct builder *m, const experiment_panel *panel,
                            const experiment_entry *entry, kg_error *error) {
    for (size_t seed = 0; seed < count_seeds(m, entry); seed++)
        for (size_t v = 0; v < experiment_value_count(entry); v++) {
            experiment_request request = make_request(panel, entry, v, seed);
            kg_status status = experiment_runner_plan(m->runner, &request, error);
            if (status == KG_BAD_INPUT)
                kg__error_locate(error, entry->name, 0, 0);
            KG_TRY(status);
        }
    return KG_OK;
}

kg_status experiment_tabulate_plan(const experiment_description *e, const experiment_limits *limits,
                                   experiment_runner *runner, kg_error *error) {
    struct builder builder = {.experiment = e, .limits = limits, .runner = runner};
    for (size_t p = 0; p < e->panel_count; p++) {
        const experiment_panel *panel = &e->panels[p];
        const kg_dataset *dataset = NULL;
        if (!is_wanted(&builder, panel))
            continue;
        KG_TRY(experiment_runner_data(&dataset, runner, panel->data, error));
        if (panel->kind == EXPERIMENT_HISTOGRAMS && dataset->parts[KG_UNSEEN_TEST].count == 0)
            return kg_fail_at(error, panel->data, 0, 0,
                              "expected a data set with queries about unseen entities, found none");
        for (size_t i = 0; i < panel->entry_count; i++)
            KG_TRY(plan_entry(&builder, panel, &panel->entries[i], error));
    }
    return KG_OK;
}

/* ---- Numbers ---- */

/* The metrics of an entry, with one value of its option, for all seeds: a new list. */
static kg_status evaluate_seeds(json_t **out, struct builder *m, const experiment_panel *panel,
                                const experiment_entry *entry, size_t value, kg_error *error) {
    *out = json_array();
    kg_status status = *out == NULL ? kg__fail_memory(error) : KG_OK;
    for (size_t seed = 0; seed < count_seeds(m, entry) && status == KG_OK; seed++) {
        experiment_request request = make_request(panel, entry, value, seed);
        json_t *metrics = NULL;
        status = experiment_runner_evaluate(&metrics, m->runner, &request, error);
        if (status == KG_BAD_INPUT)
            kg__error_locate(error, entry->name, 0, 0);
        m->seconds += json_number_value(json_object_get(metrics, "seconds"));
        if (status == KG_OK)
            status = append(*out, metrics, error);
    }
    if (status != KG_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

/* ---- Tables of metrics ---- */

static json_t *make_column(const char *label, int digits) {
    return json_pack("{ss si}", "label", label, "digits", digits);
}

/* A table without rows. */
static json_t *make_table(const char *title, const char *head) {
    return json_pack("{ss ss s[] s[]}", "title", title, "head", head, "columns", "rows");
}

static json_t *columns_of(const json_t *table) {
    return json_object_get(table, "columns");
}

static json_t *rows_of(const json_t *table) {
    return json_object_get(table, "rows");
}

/* How settings were chosen, for all values of an entry's option, behind what makes the row; takes
 * the reference to `commands`. */
static json_t *add_choices(json_t *commands, const experiment_entry *entry) {
    size_t i = 0;
    const json_t *choice = NULL;
    json_array_foreach(entry->choices, i, choice) {
        const json_t *processors = json_object_get(choice, "processors");
        const char *value = experiment_value(entry, i);
        json_t *longer = json_sprintf(
            "%s; settings%s%s: %s, the best of %d by validation (MRR %.4f after epoch %d) out of "
            "%s, "
            "%d epochs each, %.0f s of training in all%s%s",
            json_string_value(commands), value == NULL ? "" : " for ", value == NULL ? "" : value,
            json_string_value(json_object_get(choice, "settings")),
            (int)json_integer_value(json_object_get(choice, "runs")),
            json_number_value(json_object_get(choice, "valid_mrr")),
            (int)json_integer_value(json_object_get(choice, "epoch")),
            json_string_value(json_object_get(choice, "grid")),
            (int)json_integer_value(json_object_get(choice, "epochs")),
            json_number_value(json_object_get(choice, "seconds")),
            json_object_size(processors) == 1 ? " on " : "",
            json_object_size(processors) == 1
                ? json_object_iter_key(json_object_iter((json_t *)processors))
                : "");
        json_decref(commands);
        commands = longer;
    }
    return commands;
}

/* The commands that make a row. */
static json_t *make_note(const struct builder *m, const experiment_panel *panel,
                         const experiment_entry *entry) {
    size_t seeds = count_seeds(m, entry);
    char range[32] = "";
    if (seeds > 1)
        snprintf(range, sizeof range, "..%zu", seeds - 1);
    const char *space = entry->eval[0] == '\0' ? "" : " ";
    if (entry->train == NULL)
        return json_sprintf("kgraft eval %s%s%s", panel->data, space, entry->eval);
    const char *train = entry->option == NULL ? experiment_entry_train(entry, 0) : entry->train;
    json_t *commands = json_sprintf(
        "kgraft train %s MODEL %s --seed 0%s; kgraft eval MODEL %s%s%s%s%s", panel->data, train,
        range, panel->data, space, entry->eval, entry->chosen_by == NULL ? "" : "; settings: ",
        entry->chosen_by == NULL ? "" : entry->chosen_by);
    return add_choices(commands, entry);
}

static json_t *make_row(const struct builder *m, const experiment_panel *panel,
                        const experiment_entry *entry, json_t *runs) {
    json_t *cells = json_array();
    for (size_t i = 0; i < EXPERIMENT_MEASURE_COUNT; i++)
        if (json_array_append_new(
                cells, experiment_measure_cell(runs, &experiment_measures[i], entry->paper)) != 0) {
            json_decref(cells);
            return NULL;
        }
    return json_pack("{ss sb so so sO sO*}", "label", entry->name, "rule", entry->rule, "note",
                     make_note(m, panel, entry), "cells", cells, "runs", runs, "choices",
                     entry->choices);
}

/* For instance, only queries about unseen entities are split into echo and fresh. */
static void drop_empty_columns(const json_t *table) {
    for (size_t c = json_array_size(columns_of(table)); c > 0; c--) {
        bool is_empty = true;
        size_t i = 0;
        const json_t *row = NULL;
        json_array_foreach(rows_of(table), i, row) {
            is_empty &= json_is_null(json_array_get(json_object_get(row, "cells"), c - 1));
        }
        if (!is_empty)
            continue;
        json_array_remove(columns_of(table), c - 1);
        json_array_foreach(rows_of(table), i, row) {
            json_array_remove(json_object_get(row, "cells"), c - 1);
        }
    }
}

static kg_status show_table(struct builder *m, const experiment_panel *panel, kg_error *error) {
    json_t *table = make_table(panel->title, "Model");
    KG_TRY(append(m->tables, table, error));
    for (size_t i = 0; i < EXPERIMENT_MEASURE_COUNT; i++)
        KG_TRY(append(columns_of(table),
                      make_column(experiment_measures[i].label, experiment_measures[i].digits),
                      error));
    for (size_t i = 0; i < panel->entry_count; i++) {
        json_t *runs = NULL;
        KG_TRY(evaluate_seeds(&runs, m, panel, &panel->entries[i], 0, error));
        json_t *row = make_row(m, panel, &panel->entries[i], runs);
        json_decref(runs);
        KG_TRY(append(rows_of(table), row, error));
    }
    drop_empty_columns(table);
    return KG_OK;
}

/* ---- Series: a plot and a table of the same numbers ---- */

/* A plot and its table: a point and a row for each label. */
struct figure {
    json_t *table;
    json_t *series; /* of the plot */
};

static json_t *make_plot(const struct builder *m, const experiment_panel *panel, const char *x,
                         const char *y) {
    return json_pack("{so ss ss ss sb s[]}", "name",
                     json_sprintf("%s-%s", m->experiment->name, panel->data), "title", panel->title,
                     "x", x, "y", y, "y_from_zero", true, "series");
}

static kg_status open_figure(struct figure *figure, struct builder *m,
                             const experiment_panel *panel, const char *x, kg_error *error) {
    json_t *plot = make_plot(m, panel, x, "test MRR");
    figure->series = json_object_get(plot, "series");
    KG_TRY(append(m->plots, plot, error));
    figure->table = make_table(panel->title, x);
    return append(m->tables, figure->table, error);
}

/* The row of that label, added if needed, with cells for the columns before the last. */
static kg_status find_row(json_t **cells, size_t *position, const struct figure *figure,
                          const char *label, kg_error *error) {
    size_t count = json_array_size(rows_of(figure->table));
    for (*position = 0; *position < count; ++*position) {
        const json_t *row = json_array_get(rows_of(figure->table), *position);
        *cells = json_object_get(row, "cells");
        if (strcmp(json_string_value(json_object_get(row, "label")), label) == 0)
            break;
    }
    if (*position == count) {
        json_t *made = json_pack("{ss s[]}", "label", label, "cells");
        *cells = json_object_get(made, "cells");
        KG_TRY(append(rows_of(figure->table), made, error));
    }
    while (json_array_size(*cells) + 1 < json_array_size(columns_of(figure->table)))
        KG_TRY(append(*cells, json_null(), error));
    return KG_OK;
}

/* A series of the plot and a column of the table, both empty. */
static kg_status add_series(json_t **points, const struct figure *figure, const struct builder *m,
                            const experiment_panel *panel, const experiment_entry *entry,
                            kg_error *error) {
    *points = json_array();
    json_t *series =
        json_pack("{ss ss so}", "name", entry->name, "style", "line", "points", *points);
    KG_TRY(append(figure->series, series, error));
    return append(columns_of(figure->table),
                  json_pack("{ss si so}", "label", entry->name, "digits", 4, "note",
                            make_note(m, panel, entry)),
                  error);
}

/* Series without a point, all of whose runs failed, are removed; short rows are filled up. */
static kg_status close_figure(struct builder *m, const struct figure *figure, kg_error *error) {
    for (size_t k = json_array_size(figure->series); k > 0; k--) {
        const json_t *series = json_array_get(figure->series, k - 1);
        if (json_array_size(json_object_get(series, "points")) == 0)
            json_array_remove(figure->series, k - 1);
    }
    if (json_array_size(figure->series) == 0)
        json_array_remove(m->plots, json_array_size(m->plots) - 1);
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(rows_of(figure->table), i, row) {
        json_t *cells = json_object_get(row, "cells");
        while (json_array_size(cells) < json_array_size(columns_of(figure->table)))
            KG_TRY(append(cells, json_null(), error));
    }
    return KG_OK;
}

/* The MRR, with the runs that it is computed from. */
static json_t *make_full_cell(json_t *runs) {
    json_t *cell = experiment_measure_cell(runs, &experiment_measures[0], NULL);
    if (json_is_object(cell) && json_object_set(cell, "runs", runs) != 0) {
        json_decref(cell);
        return NULL;
    }
    return cell;
}

static kg_status show_value(const struct figure *figure, json_t *points, const char *value,
                            json_t *runs, kg_error *error) {
    json_t *cells = NULL;
    size_t position = 0;
    KG_TRY(find_row(&cells, &position, figure, value, error));
    KG_TRY(append(cells, make_full_cell(runs), error));
    if (experiment_has_failed(runs))
        return KG_OK;
    return append(points,
                  experiment_measure_point(runs, &experiment_measures[0], strtod(value, NULL)),
                  error);
}

static double value_of(const json_t *rows, size_t i) {
    return strtod(json_string_value(json_object_get(json_array_get(rows, i), "label")), NULL);
}

/* Entries may have values that others lack. */
static kg_status sort_by_value(json_t *rows, kg_error *error) {
    for (size_t i = 1; i < json_array_size(rows); i++) {
        size_t place = i;
        while (place > 0 && value_of(rows, place - 1) > value_of(rows, i))
            place--;
        json_t *row = json_incref(json_array_get(rows, i));
        json_array_remove(rows, i);
        if (json_array_insert_new(rows, place, row) != 0)
            return kg__fail_memory(error);
    }
    return KG_OK;
}

static kg_status show_curve(struct builder *m, const experiment_panel *panel, kg_error *error) {
    struct figure figure;
    KG_TRY(open_figure(&figure, m, panel, panel->entries[0].option, error));
    for (size_t i = 0; i < panel->entry_count; i++) {
        const experiment_entry *entry = &panel->entries[i];
        json_t *points = NULL;
        KG_TRY(add_series(&points, &figure, m, panel, entry, error));
        for (size_t v = 0; v < experiment_value_count(entry); v++) {
            json_t *runs = NULL;
            KG_TRY(evaluate_seeds(&runs, m, panel, entry, v, error));
            kg_status status = show_value(&figure, points, experiment_value(entry, v), runs, error);
            json_decref(runs);
            KG_TRY(status);
        }
    }
    KG_TRY(sort_by_value(rows_of(figure.table), error));
    return close_figure(m, &figure, error);
}

/* ---- By the number of facts ---- */

/* The metrics of bin b, of all runs: a new list. */
static json_t *pick_bin(const json_t *runs, size_t b) {
    json_t *out = json_array();
    size_t i = 0;
    const json_t *run = NULL;
    json_array_foreach(runs, i, run) {
        json_t *bin = json_array_get(json_object_get(run, "bins"), b);
        if (json_array_append(out, bin) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static void name_bin(char label[64], const json_t *bin) {
    const json_t *facts = json_object_get(bin, "facts");
    json_int_t fewest = json_integer_value(json_array_get(facts, 0));
    json_int_t most = json_integer_value(json_array_get(facts, 1));
    if (fewest == most)
        snprintf(label, 64, "%jd", (intmax_t)most);
    else
        snprintf(label, 64, "%jd to %jd", (intmax_t)fewest, (intmax_t)most);
}

static kg_status show_bin(const struct figure *figure, json_t *points, const json_t *runs, size_t b,
                          kg_error *error) {
    char label[64];
    json_t *cells = NULL;
    json_t *picked = pick_bin(runs, b);
    if (picked == NULL)
        return kg__fail_memory(error);
    name_bin(label, json_array_get(picked, 0));
    size_t position = 0;
    kg_status status = find_row(&cells, &position, figure, label, error);
    if (status == KG_OK)
        status = append(cells, make_full_cell(picked), error);
    if (status == KG_OK)
        status = append(points,
                        experiment_measure_point(picked, &experiment_measures[0], (double)position),
                        error);
    json_decref(picked);
    return status;
}

static kg_status name_bins(struct builder *m, const struct figure *figure, kg_error *error) {
    json_t *plot = json_array_get(m->plots, json_array_size(m->plots) - 1);
    json_t *labels = json_array();
    if (json_object_set_new(plot, "x_labels", labels) != 0)
        return kg__fail_memory(error);
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(rows_of(figure->table), i, row) {
        if (json_array_append(labels, json_object_get(row, "label")) != 0)
            return kg__fail_memory(error);
    }
    return KG_OK;
}

static kg_status show_bins(struct builder *m, const experiment_panel *panel, kg_error *error) {
    struct figure figure;
    KG_TRY(open_figure(&figure, m, panel, "facts of the unseen entity", error));
    for (size_t i = 0; i < panel->entry_count; i++) {
        json_t *points = NULL;
        json_t *runs = NULL;
        KG_TRY(add_series(&points, &figure, m, panel, &panel->entries[i], error));
        KG_TRY(evaluate_seeds(&runs, m, panel, &panel->entries[i], 0, error));
        kg_status status = KG_OK;
        size_t count = experiment_has_failed(runs)
                           ? 0
                           : json_array_size(json_object_get(json_array_get(runs, 0), "bins"));
        for (size_t b = 0; b < count && status == KG_OK; b++)
            status = show_bin(&figure, points, runs, b, error);
        json_decref(runs);
        KG_TRY(status);
    }
    KG_TRY(name_bins(m, &figure, error));
    return close_figure(m, &figure, error);
}

/* ---- Data sets ---- */

static const struct {
    const char *label;
    const char *key;
} counts[] = {
    {.label = "entities", .key = "entities"},
    {.label = "unseen, validation", .key = "unseen_valid"},
    {.label = "unseen, test", .key = "unseen_test"},
    {.label = "relations", .key = "relations"},
    {.label = "training facts", .key = "train"},
    {.label = "validation queries", .key = "queries_valid"},
    {.label = "test queries", .key = "queries_test"},
};
#define COUNT_COUNT (sizeof counts / sizeof counts[0])

static json_t *make_counts(const experiment_panel *panel, const json_t *numbers) {
    json_t *cells = json_array();
    bool good = cells != NULL;
    for (size_t i = 0; i < COUNT_COUNT && good; i++) {
        json_t *paper = json_object_get(panel->paper, counts[i].key);
        json_t *cell =
            json_pack("{sO sO*}", "value", json_object_get(numbers, counts[i].key), "paper", paper);
        good = json_array_append_new(cells, cell) == 0;
    }
    if (!good) {
        json_decref(cells);
        return NULL;
    }
    return json_pack("{ss so}", "label", panel->data, "cells", cells);
}

static kg_status show_counts(struct builder *m, const experiment_panel *panel, kg_error *error) {
    const kg_dataset *dataset = NULL;
    KG_TRY(experiment_runner_data(&dataset, m->runner, panel->data, error));
    if (m->counts == NULL) {
        json_t *table = make_table("Data sets", "Data set");
        KG_TRY(append(m->tables, table, error));
        m->counts = table;
        for (size_t i = 0; i < COUNT_COUNT; i++)
            KG_TRY(append(
                columns_of(table),
                json_pack("{ss si ss}", "label", counts[i].label, "digits", 0, "better", "same"),
                error));
    }
    json_t *numbers = kg__dataset_counts(dataset);
    json_t *row = numbers == NULL ? NULL : make_counts(panel, numbers);
    json_decref(numbers);
    return append(rows_of(m->counts), row, error);
}

/* The bins of the test queries as [fewest, most], the same as those of kgraft eval. */
static kg_status list_bins(json_t **out, const kg_dataset *dataset, kg_error *error) {
    kg_queries queries = {0};
    kg_breakdown report = {0};
    *out = json_array();
    KG_TRY(kg__queries_make(&queries, dataset, KG_UNSEEN_TEST, error));
    double *ranks = kg__alloc(queries.count, sizeof *ranks); /* the ranks do not matter */
    kg_status status = ranks == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK)
        status =
            kg__breakdown_make(&report, &queries, ranks, dataset->in_sample_relations, BINS, error);
    for (size_t i = 0; i < report.bin_count && status == KG_OK; i++)
        status = append(
            *out,
            json_pack("[II]", (json_int_t)report.bins[i].fewest, (json_int_t)report.bins[i].most),
            error);
    kg__breakdown_free(&report);
    kg__free(ranks);
    kg__queries_free(&queries);
    return status;
}

static kg_status list_bars(json_t *points, const kg_histogram *histogram, uint64_t most,
                           kg_error *error) {
    for (size_t k = 0; k < histogram->size && (most == 0 || k <= most); k++)
        if (histogram->counts[k] > 0)
            KG_TRY(append(
                points, json_pack("[II]", (json_int_t)k, (json_int_t)histogram->counts[k]), error));
    return KG_OK;
}

static kg_status show_histogram(struct builder *m, const experiment_panel *panel, kg_error *error) {
    const kg_dataset *dataset = NULL;
    kg_stats stats = {0};
    json_t *groups = NULL;
    KG_TRY(experiment_runner_data(&dataset, m->runner, panel->data, error));
    json_t *plot = make_plot(m, panel, "facts of the unseen entity", "test queries");
    KG_TRY(append(m->plots, plot, error));
    KG_TRY(kg__stats_make(&stats, dataset, error));
    json_t *points = json_array();
    kg_status status = list_bars(points, &stats.queries_test, panel->most, error);
    kg__stats_free(&stats);
    if (status == KG_OK)
        status = list_bins(&groups, dataset, error);
    if (status != KG_OK) {
        json_decref(points);
        json_decref(groups);
        return status;
    }
    return append(json_object_get(plot, "series"),
                  json_pack("{ss ss so so}", "name", "queries", "style", "bars", "points", points,
                            "groups", groups),
                  error);
}

/* ---- All kinds ---- */

typedef kg_status show_panel(struct builder *m, const experiment_panel *panel, kg_error *error);

/* By kind; complexity has no panels. */
static show_panel *const show_functions[] = {
    [EXPERIMENT_COUNTS] = show_counts, [EXPERIMENT_HISTOGRAMS] = show_histogram,
    [EXPERIMENT_TABLES] = show_table,  [EXPERIMENT_CURVES] = show_curve,
    [EXPERIMENT_BINS] = show_bins,
};

static kg_status show_panels(struct builder *m, kg_error *error) {
    const experiment_description *e = m->experiment;
    for (size_t i = 0; i < e->panel_count; i++)
        if (is_wanted(m, &e->panels[i]))
            KG_TRY(show_functions[e->panels[i].kind](m, &e->panels[i], error));
    return KG_OK;
}

static kg_status show_complexity(struct builder *m, const kg_progress *progress, kg_error *error) {
    static const size_t facts[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    static const size_t dims[] = {50, 100, 200, 400, 800};
    experiment_timing_options options = {.facts = facts,
                                         .fact_count = sizeof facts / sizeof facts[0],
                                         .dim = 200,
                                         .dims = dims,
                                         .dim_count = sizeof dims / sizeof dims[0],
                                         .entity_facts = 5,
                                         .seconds = 0.01};
    json_t *measured = NULL;
    KG_TRY(experiment_measure_embedding(&measured, &options, progress, error));
    bool good = json_array_extend(m->tables, json_object_get(measured, "tables")) == 0 &&
                json_array_extend(m->plots, json_object_get(measured, "plots")) == 0;
    json_decref(measured);
    return good ? KG_OK : kg__fail_memory(error);
}

kg_status experiment_tabulate(json_t **out, const experiment_description *e,
                              const experiment_limits *limits, experiment_runner *runner,
                              const kg_progress *progress, kg_error *error) {
    struct builder builder = {.experiment = e,
                              .limits = limits,
                              .runner = runner,
                              .tables = json_array(),
                              .plots = json_array()};
    kg_status status = e->kind == EXPERIMENT_COMPLEXITY ? show_complexity(&builder, progress, error)
                                                        : show_panels(&builder, error);
    if (status == KG_OK) {
        json_t *seconds = builder.seconds > 0 ? json_real(builder.seconds) : NULL;
        *out = json_pack("{ss ss ss* sO* so* so so}", "name", e->name, "title", e->title, "beside",
                         e->beside, "text", e->text, "seconds", seconds, "tables", builder.tables,
                         "plots", builder.plots);
        return *out == NULL ? kg__fail_memory(error) : KG_OK;
    }
    json_decref(builder.tables);
    json_decref(builder.plots);
    return status;
}
