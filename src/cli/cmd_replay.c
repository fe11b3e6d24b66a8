/* kgraft replay: a data set as a stream of facts into a live graph, each asked about before it
 * comes. */
#include <omp.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/thread_count.h"
#include "cli/cli.h"
#include "experiment/replay.h"
#include "graph/dataset_source.h"
#include "report/plot.h"
#include "report/text_table.h"

struct settings {
    cli_common common;
    double rate;
    uint64_t batch;
    uint64_t seed;
    double withdraw;
    uint64_t compact_every;
    const char *plot;
    uint64_t threads;
};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {.name = "rate",
     .argument = "R",
     .kind = CLI_NUMBER,
     .offset = SETTING(rate),
     .help = "facts a second at most, 0 for as many as can be (default: 0)"},
    {.name = "batch",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = SETTING(batch),
     .help = "facts of a transaction (default: 32)"},
    {.name = "seed",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = SETTING(seed),
     .help = "decides the order of facts, and which are withdrawn (default: 0)"},
    {.name = "withdraw",
     .argument = "SHARE",
     .kind = CLI_NUMBER,
     .offset = SETTING(withdraw),
     .help = "how often a fact is followed by the withdrawal of one before it (default: 0)"},
    {.name = "compact-every",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = SETTING(compact_every),
     .help = "train the next generation each time that N facts have come (default: never)"},
    {.name = "plot",
     .argument = "FILE.svg",
     .kind = CLI_TEXT,
     .offset = SETTING(plot),
     .help = "draw MRR over the stream"},
    CLI_THREADS(SETTING(threads)),
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

#define MOST_BATCH 1000000

static kg_status check(const struct settings *settings, kg_error *error) {
    if (!(settings->rate >= 0 && settings->rate <= 1e9))
        return kg_fail(error, KG_BAD_INPUT, "`rate`: expected 0 to 1e9 facts a second, found %g",
                       settings->rate);
    if (settings->batch < 1 || settings->batch > MOST_BATCH)
        return kg_fail(error, KG_BAD_INPUT, "`batch`: expected 1 to %d facts, found %ju",
                       MOST_BATCH, (uintmax_t)settings->batch);
    if (!(settings->withdraw >= 0 && settings->withdraw <= 1))
        return kg_fail(error, KG_BAD_INPUT, "`withdraw`: expected a share from 0 to 1, found %g",
                       settings->withdraw);
    return KG_OK;
}

/* ---- Text ---- */

static void add_metric(report_table *table, const kg_metrics *metrics) {
    if (metrics->queries == 0)
        report_table_addf(table, "-");
    else
        report_table_addf(table, "%.4f", metrics->mrr);
}

static void add_row(report_table *table, const experiment_window *window, const char *name) {
    report_table_addf(table, "%s", report_grouped(window->facts).text);
    report_table_addf(table, "%s", report_grouped(window->entities).text);
    report_table_addf(table, "%ju", (uintmax_t)window->generation);
    report_table_addf(table, "%s", report_grouped(window->unasked).text);
    report_table_addf(table, "%s", report_grouped(window->all.queries).text);
    add_metric(table, &window->all);
    add_metric(table, &window->known);
    add_metric(table, &window->later);
    report_table_addf(table, "%s", name);
}

static kg_status print_table(const experiment_replay *found, kg_error *error) {
    static const report_column columns[] = {
        {"facts", REPORT_NUMBERS},   {"entities", REPORT_NUMBERS}, {"generation", REPORT_NUMBERS},
        {"unasked", REPORT_NUMBERS}, {"queries", REPORT_NUMBERS},  {"MRR", REPORT_NUMBERS},
        {"known", REPORT_NUMBERS},   {"later", REPORT_NUMBERS},    {"", REPORT_NAMES}};
    report_table table;
    report_table_open(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < found->count; i++)
        add_row(&table, &found->windows[i], "");
    add_row(&table, &found->total, "all");
    kg_status status = report_table_print(&table, error);
    report_table_close(&table);
    return status;
}

static void say_rest(const cli_context *context, const experiment_replay *found) {
    if (found->repeated > 0)
        cli_say(context, "left out: %s that were there already",
                report_counted(found->repeated, "fact", "facts").text);
    if (found->unknown > 0)
        cli_say(context, "left out: %s with relations that the model does not know",
                report_counted(found->unknown, "fact", "facts").text);
    if (found->withdrawn > 0)
        cli_say(context, "withdrawn: %s", report_counted(found->withdrawn, "fact", "facts").text);
    cli_say(context, "%.1f s, %.0f facts a second", found->seconds,
            (double)found->total.facts / found->seconds);
}

/* ---- The plot ---- */

enum { ALL, KNOWN, LATER, LINES };

static const kg_metrics *metrics_of(const experiment_window *window, size_t line) {
    return line == ALL ? &window->all : line == KNOWN ? &window->known : &window->later;
}

static kg_status draw(const char *path, const experiment_replay *found, kg_error *error) {
    static const char *const names[LINES] = {"all queries", "known answers",
                                             "answers that came later"};
    report_point points[LINES][EXPERIMENT_WINDOWS];
    report_series series[LINES];
    report_plot plot = {.title = "Queries about facts just before they come",
                        .x = "facts",
                        .y = "MRR",
                        .y_from_zero = true,
                        .series = series};
    char *svg = NULL;
    size_t size = 0;
    for (size_t line = 0; line < LINES; line++) {
        size_t count = 0;
        for (size_t i = 0; i < found->count; i++) {
            const kg_metrics *metrics = metrics_of(&found->windows[i], line);
            if (metrics->queries > 0)
                points[line][count++] =
                    (report_point){.x = (double)found->windows[i].facts, .y = metrics->mrr};
        }
        if (count > 0)
            series[plot.series_count++] =
                (report_series){.name = names[line],
                                .style = line == ALL ? REPORT_LINE : REPORT_DASHED,
                                .points = points[line],
                                .count = count};
    }
    if (plot.series_count == 0)
        return kg_fail(error, KG_BAD_INPUT, "`plot`: expected queries to draw, found none");
    KG_TRY(report_draw(&svg, &size, &plot, 1, error));
    kg_status status = kg__output_save(path, svg, size, error);
    kg__free(svg);
    return status;
}

/* ---- The command ---- */

static kg_status show(const struct settings *settings, cli_context *context,
                      const experiment_replay *found, kg_error *error) {
    if (settings->plot != NULL)
        KG_TRY(draw(settings->plot, found, error));
    cli_bar_close(context->bar);
    if (context->common->json)
        KG_TRY(cli_print_json(experiment_replay_json(found), error));
    else
        KG_TRY(print_table(found, error));
    say_rest(context, found);
    return cli_flush(error);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_reader reader = {.options.folder_first = true, .progress = &context->progress};
    kg_dataset dataset = {0};
    experiment_replay found;
    experiment_replay_options replay = {.dataset = &dataset,
                                        .model = context->arguments[1],
                                        .seed = settings->seed,
                                        .batch = settings->batch,
                                        .rate = settings->rate,
                                        .withdraw = settings->withdraw,
                                        .compact_every = settings->compact_every,
                                        .threads = kg__threads(settings->threads),
                                        .progress = &context->progress};
    kg_status status = KG_OK;
    KG_TRY(check(settings, error));
    KG_TRY(cli_check_plot(settings->plot, context, error));
    omp_set_num_threads(replay.threads);
    KG_CHECK(kg__dataset_open(&dataset, error));
    KG_CHECK(kg__source_read(&dataset, &reader, context->arguments, 1, error));
    KG_CHECK(experiment_replay_run(&found, &replay, error));
    status = show(settings, context, &found, error);
done:
    kg__dataset_close(&dataset);
    return status;
}

static const struct settings defaults = {.batch = 32};

const cli_command cli_replay = {
    .name = "replay",
    .usage = "DATASET MODEL",
    .summary = "feed a data set's held-back facts as a stream, asking about each before it comes",
    .details = "DATASET is anything that import takes; MODEL was trained on its training part.",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
