/* kgraft stats: counts and distributions of a data set. */
#include <string.h>

#include "base/memory.h"
#include "cli/cli.h"
#include "graph/dataset_folder.h"
#include "graph/dataset_source.h"
#include "graph/stats.h"
#include "report/plot.h"
#include "report/text_bars.h"

#define MOST_BARS 31

struct settings {
    cli_common common;
    const char *plot;
};

static const cli_option options[] = {
    {.name = "plot",
     .argument = "FILE.svg",
     .kind = CLI_TEXT,
     .offset = offsetof(struct settings, plot),
     .help = "also draw the distributions, by gnuplot"},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

/* Bars for 0, 1, 2, 3-4, 5-8, 9-16, ...: for a power law. */
static size_t doubling_bars(report_bar_row rows[MOST_BARS], const kg_histogram *histogram) {
    size_t count = 0;
    for (size_t from = 0, to = 0; from < histogram->size && count < MOST_BARS;
         from = to + 1, to = from == 1 ? 1 : 2 * (from - 1)) {
        report_bar_row *row = &rows[count++];
        snprintf(row->label, sizeof row->label, from == to ? "%zu" : "%zu-%zu", from, to);
        row->count = 0;
        for (size_t k = from; k <= to && k < histogram->size; k++)
            row->count += histogram->counts[k];
        if (to == 0 && row->count == 0)
            count--; /* every entity has a fact: nothing to show */
    }
    return count;
}

/* Bars for 0 (if there are any), 1, 2, 3, ..., the last for all larger values, in groups if there
 * are too many. */
static size_t even_bars(report_bar_row rows[MOST_BARS], const kg_histogram *histogram) {
    size_t right = kg__histogram_quantile(histogram, 0.9);
    size_t step = right / (MOST_BARS - 1) + 1;
    size_t most = kg__histogram_quantile(histogram, 1);
    size_t count = 0;
    for (size_t from = histogram->counts[0] == 0; from <= most; from += step) {
        bool last = from > right || count + 1 == MOST_BARS;
        size_t to = last ? most : from + step - 1;
        report_bar_row *row = &rows[count++];
        if (last)
            snprintf(row->label, sizeof row->label, "%zu or more", from);
        else
            snprintf(row->label, sizeof row->label, from == to ? "%zu" : "%zu-%zu", from, to);
        row->count = 0;
        for (size_t k = from; k <= to && k < histogram->size; k++)
            row->count += histogram->counts[k];
        if (last)
            break;
    }
    return count;
}

static void print_count(const char *what, uint64_t count) {
    if (count > 0)
        printf("%-22s %12s\n", what, report_grouped(count).text);
}

static void print_queries(const kg_histogram *histogram, const char *part) {
    if (kg__histogram_total(histogram) == 0)
        return;
    report_bar_row rows[MOST_BARS];
    printf("\n%s queries by facts that the unseen entity keeps: median %zu, mean %.1f, most %zu\n",
           part, kg__histogram_quantile(histogram, 0.5), kg__histogram_mean(histogram),
           kg__histogram_quantile(histogram, 1));
    report_print_bars(rows, even_bars(rows, histogram));
}

static void print_degrees(const kg_histogram *histogram, const char *title) {
    report_bar_row rows[MOST_BARS];
    printf("\n%s: median %zu, mean %.1f, most %zu\n", title, kg__histogram_quantile(histogram, 0.5),
           kg__histogram_mean(histogram), kg__histogram_quantile(histogram, 1));
    report_print_bars(rows, doubling_bars(rows, histogram));
}

static void print_stats(const kg_dataset *dataset, const kg_stats *stats) {
    print_count("entities", kg__dataset_in_sample(dataset));
    print_count("relations", dataset->relations.count);
    print_count("train facts", dataset->parts[KG_TRAIN].count);
    print_count("valid facts", dataset->parts[KG_VALID].count);
    print_count("test facts", dataset->parts[KG_TEST].count);
    print_count("unseen valid entities", kg__dataset_unseen(dataset, KG_UNSEEN_VALID));
    print_count("unseen valid queries", dataset->parts[KG_UNSEEN_VALID].count);
    print_count("unseen test entities", kg__dataset_unseen(dataset, KG_UNSEEN_TEST));
    print_count("unseen test queries", dataset->parts[KG_UNSEEN_TEST].count);
    print_count("between valid facts", dataset->parts[KG_BETWEEN_VALID].count);
    print_count("between test facts", dataset->parts[KG_BETWEEN_TEST].count);
    print_count("new graph entities", dataset->graph_entities.count);
    print_count("new graph facts", dataset->parts[KG_GRAPH].count);
    print_count("new graph valid facts", dataset->parts[KG_GRAPH_VALID].count);
    print_count("new graph test facts", dataset->parts[KG_GRAPH_TEST].count);
    print_degrees(&stats->degrees, "entities by training facts");
    if (kg__dataset_has_graph(dataset))
        print_degrees(&stats->graph_degrees, "entities of the new graph by facts");
    print_queries(&stats->queries_valid, "validation");
    print_queries(&stats->queries_test, "test");
}

/* {"median", "mean", "max", "histogram": [[k, count], ...]} */
static json_t *describe_histogram(const kg_histogram *histogram) {
    json_t *list = json_array();
    for (size_t k = 0; list != NULL && k < histogram->size; k++) {
        if (histogram->counts[k] == 0)
            continue;
        json_t *pair = json_pack("[II]", (json_int_t)k, (json_int_t)histogram->counts[k]);
        if (json_array_append_new(list, pair) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return json_pack("{sI sf sI so}", "median", (json_int_t)kg__histogram_quantile(histogram, 0.5),
                     "mean", kg__histogram_mean(histogram), "max",
                     (json_int_t)kg__histogram_quantile(histogram, 1), "histogram", list);
}

static json_t *describe(const kg_dataset *dataset, const kg_stats *stats) {
    json_t *out = kg__dataset_counts(dataset);
    bool has_graph = kg__dataset_has_graph(dataset);
    if (json_object_set_new(out, "degrees", describe_histogram(&stats->degrees)) == 0 &&
        json_object_set_new(out, "queries_valid_by_facts",
                            describe_histogram(&stats->queries_valid)) == 0 &&
        json_object_set_new(out, "queries_test_by_facts",
                            describe_histogram(&stats->queries_test)) == 0 &&
        (!has_graph ||
         json_object_set_new(out, "graph_degrees", describe_histogram(&stats->graph_degrees)) == 0))
        return out;
    json_decref(out);
    return NULL;
}

/* A histogram as points, up to a value; to be kg_freed. NULL if memory is short. */
static report_point *make_points(size_t *count, const kg_histogram *histogram, size_t right) {
    report_point *points = kg__alloc(histogram->size, sizeof *points);
    *count = 0;
    for (size_t k = 0; points != NULL && k < histogram->size && k <= right; k++)
        if (histogram->counts[k] > 0)
            points[(*count)++] = (report_point){.x = (double)k, .y = (double)histogram->counts[k]};
    return points;
}

#define MOST_PLOTS 4

struct drawing {
    report_plot plots[MOST_PLOTS];
    report_series series[MOST_PLOTS];
    report_point *points[MOST_PLOTS];
    size_t count;
};

/* A power law is drawn as points with logarithmic axes. Of other distributions the few values far
 * to the right are left out, as in the paper. Empty histograms are not drawn. */
static kg_status add_plot(struct drawing *drawing, report_plot plot, const kg_histogram *histogram,
                          kg_error *error) {
    if (kg__histogram_total(histogram) == 0)
        return KG_OK;
    size_t i = drawing->count++;
    size_t right = plot.log_x ? histogram->size : kg__histogram_quantile(histogram, 0.98) + 1;
    report_series *series = &drawing->series[i];
    *series = (report_series){.name = plot.y, .style = plot.log_x ? REPORT_POINTS : REPORT_BARS};
    drawing->points[i] = make_points(&series->count, histogram, right);
    if (drawing->points[i] == NULL)
        return kg__fail_memory(error);
    series->points = drawing->points[i];
    plot.series = series;
    plot.series_count = 1;
    drawing->plots[i] = plot;
    return KG_OK;
}

static kg_status draw(const char *path, const kg_stats *stats, kg_error *error) {
    report_plot degrees = {.title = "Entities by training facts",
                           .x = "training facts",
                           .y = "entities",
                           .log_x = true,
                           .log_y = true};
    report_plot queries = {.title = "Validation queries",
                           .x = "facts that the unseen entity keeps",
                           .y = "queries",
                           .y_from_zero = true};
    struct drawing drawing = {.count = 0};
    char *svg = NULL;
    size_t size = 0;
    kg_status status = KG_OK;
    KG_CHECK(add_plot(&drawing, degrees, &stats->degrees, error));
    KG_CHECK(add_plot(&drawing, queries, &stats->queries_valid, error));
    queries.title = "Test queries";
    KG_CHECK(add_plot(&drawing, queries, &stats->queries_test, error));
    degrees.title = "Entities of the new graph by facts";
    degrees.x = "facts";
    KG_CHECK(add_plot(&drawing, degrees, &stats->graph_degrees, error));
    KG_CHECK(report_draw(&svg, &size, drawing.plots, drawing.count, error));
    KG_CHECK(kg__output_save(path, svg, size, error));
done:
    kg__free(svg);
    for (size_t i = 0; i < drawing.count; i++)
        kg__free(drawing.points[i]);
    return status;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_reader reader = {.options.folder_first = true, .progress = &context->progress};
    kg_dataset dataset = {0};
    kg_stats stats = {0};
    kg_status status = KG_OK;
    KG_TRY(cli_check_plot(settings->plot, context, error));
    KG_CHECK(kg__dataset_open(&dataset, error));
    KG_CHECK(kg__source_read(&dataset, &reader, context->arguments, 1, error));
    KG_CHECK(kg__stats_make(&stats, &dataset, error));
    if (settings->plot != NULL)
        KG_CHECK(draw(settings->plot, &stats, error));
    cli_bar_close(context->bar);
    if (context->common->json)
        KG_CHECK(cli_print_json(describe(&dataset, &stats), error));
    else
        print_stats(&dataset, &stats);
    KG_CHECK(cli_flush(error));
done:
    kg__stats_free(&stats);
    kg__dataset_close(&dataset);
    return status;
}

static const struct settings defaults = {.plot = NULL};

const cli_command cli_stats = {
    .name = "stats",
    .usage = "DIR",
    .summary = "show counts and distributions of a data set",
    .details = "DIR is anything that import takes.",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
