/* kgraft reproduce: the tables and figures of the paper, from the data to a report. */
#include <string.h>
#include <time.h>

#include "base/cpu_name.h"
#include "base/memory.h"
#include "base/output_folder.h"
#include "base/path.h"
#include "base/text.h"
#include "base/thread_count.h"
#include "cli/cli.h"
#include "cli/experiment_options.h"
#include "experiment/choice.h"
#include "experiment/tabulate.h"
#include "math/linalg.h"
#include "report/report.h"

#define RESULTS "results.json"

struct settings {
    cli_common common;
    const char *data;
    const char *out;
    const char *results;
    const char *only;
    uint64_t seeds;
    uint64_t threads;
    uint64_t at_once;
};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {.name = "data",
     .argument = "DIR",
     .kind = CLI_TEXT,
     .offset = SETTING(data),
     .help = "the folder that holds oWN18RR, oFB15k-237, WN18AM, WN18RR and FB15k-237"},
    {.name = "out",
     .argument = "DIR",
     .kind = CLI_TEXT,
     .offset = SETTING(out),
     .help = "models, results.json and report.html (default: reproduction)"},
    {.name = "results",
     .argument = "DIR",
     .kind = CLI_TEXT,
     .offset = SETTING(results),
     .help = "what runs came to, to be kept (default: OUT/results)"},
    {.name = "only",
     .argument = "DATASET",
     .kind = CLI_TEXT,
     .offset = SETTING(only),
     .help = "only this data set"},
    {.name = "seeds",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = SETTING(seeds),
     .help = "most seeds for the same settings"},
    CLI_THREADS(SETTING(threads)),
    CLI_AT_ONCE(SETTING(at_once)),
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

/* The given experiments. */
struct job {
    experiment_description *experiments;
    size_t count;
    experiment_limits limits;
    experiment_runner *runner;
};

static kg_status open_experiments(struct job *job, const cli_context *context, kg_error *error) {
    size_t built_in = 0;
    while (experiment_files[built_in].name != NULL)
        built_in++;
    bool all = context->argument_count == 1 && strcmp(context->arguments[0], "all") == 0;
    size_t wanted = all ? built_in : context->argument_count;
    job->experiments = kg__alloc(wanted, sizeof *job->experiments);
    if (job->experiments == NULL)
        return kg__fail_memory(error);
    while (job->count < wanted) {
        const char *name = all ? experiment_files[job->count].name : context->arguments[job->count];
        experiment_description *experiment = &job->experiments[job->count];
        if (!all && strcmp(name, "all") == 0)
            return kg_fail(error, KG_BAD_INPUT,
                           "expected all, or names of experiments, found both");
        KG_TRY(experiment_open(experiment, name, error));
        job->count++;
        for (const experiment_description *other = job->experiments; other < experiment; other++)
            if (strcmp(other->name, experiment->name) == 0)
                return kg_fail(error, KG_BAD_INPUT, "expected each experiment once, found %s twice",
                               experiment->name);
    }
    return KG_OK;
}

static bool is_about(const struct job *job, const char *data) {
    for (size_t i = 0; i < job->count; i++)
        for (size_t p = 0; p < job->experiments[i].panel_count; p++)
            if (strcmp(job->experiments[i].panels[p].data, data) == 0)
                return true;
    return false;
}

static bool needs_data(const struct job *job) {
    for (size_t i = 0; i < job->count; i++)
        if (job->experiments[i].panel_count > 0)
            return true;
    return false;
}

static kg_status check(const struct job *job, const struct settings *settings, kg_error *error) {
    if (settings->data == NULL && needs_data(job))
        return kg_fail(error, KG_BAD_INPUT,
                       "expected --data with the folder that holds the data sets, found none");
    if (settings->only != NULL && !is_about(job, settings->only))
        return kg_fail(error, KG_BAD_INPUT,
                       "--only: expected a data set of these experiments, found %s",
                       kg__quote(settings->only, strlen(settings->only)).text);
    if (settings->threads > 1024)
        return kg_fail(error, KG_BAD_INPUT, "--threads: expected 1 to 1024, found %ju",
                       (uintmax_t)settings->threads);
    return KG_OK;
}

static void close_job(struct job *job) {
    experiment_runner_close(job->runner);
    for (size_t i = 0; i < job->count; i++)
        experiment_close(&job->experiments[i]);
    kg__free(job->experiments);
}

/* ---- Results ---- */

/* The command without paths, which differ between machines. */
static json_t *describe_command(const struct settings *settings, const cli_context *context) {
    char text[1024] = "kgraft reproduce";
    size_t length = strlen(text);
    for (size_t i = 0; i < context->argument_count && length < sizeof text; i++)
        length +=
            (size_t)snprintf(text + length, sizeof text - length, " %s", context->arguments[i]);
    if (length < sizeof text && settings->only != NULL)
        length +=
            (size_t)snprintf(text + length, sizeof text - length, " --only %s", settings->only);
    if (length < sizeof text && settings->seeds > 0)
        length += (size_t)snprintf(text + length, sizeof text - length, " --seeds %ju",
                                   (uintmax_t)settings->seeds);
    if (length < sizeof text)
        snprintf(text + length, sizeof text - length, " --data DIR");
    return kg__json_text(text, strlen(text));
}

/* The titles of experiments that are not built in; NULL if one of them is. */
static json_t *own_title(const cli_context *context, const json_t *experiments) {
    char text[512] = "";
    size_t i = 0;
    const json_t *experiment = NULL;
    for (size_t k = 0; k < context->argument_count; k++)
        if (!experiment_is_file(context->arguments[k]))
            return NULL;
    json_array_foreach(experiments, i, experiment) {
        const char *title = json_string_value(json_object_get(experiment, "title"));
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s", i == 0 ? "" : ", ", title);
    }
    return kg__json_text(text, strlen(text));
}

static json_t *describe(const struct settings *settings, const cli_context *context,
                        json_t *experiments) {
    time_t now = time(NULL);
    struct tm today;
    char date[32] = "";
    if (gmtime_r(&now, &today) != NULL)
        strftime(date, sizeof date, "%Y-%m-%d", &today);
    uint64_t threads = settings->threads == 0 ? (uint64_t)kg__threads(0) : settings->threads;
    char processor[KG_PROCESSOR_MAX];
    return json_pack("{ss ss so* s{ss ss ss sI} so sO}", "version", kg_version(), "made", date,
                     "title", own_title(context, experiments), "machine", "processor",
                     kg__processor_name(processor), "kernels", kg__linear_kernels(), "blas",
                     kg__linear_blas(), "threads", (json_int_t)threads, "command",
                     describe_command(settings, context), "experiments", experiments);
}

static kg_status write_results(const char *folder, const json_t *results, kg_error *error) {
    char *path = kg__path_join(folder, RESULTS);
    kg_output *output = NULL;
    kg_status status = path == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(report_write(folder, results, error));
    KG_CHECK(kg__output_open(&output, path, path, error));
    KG_CHECK(kg__json_write(results, output, error));
    KG_CHECK(kg__output_commit(output, error));
done:
    kg__output_close(output);
    kg__free(path);
    return status;
}

static kg_status print(json_t *results, cli_context *context, kg_error *error) {
    if (context->common->json)
        return cli_print_json(json_incref(results), error);
    size_t i = 0;
    const json_t *experiment = NULL;
    cli_bar_close(context->bar);
    json_array_foreach(json_object_get(results, "experiments"), i, experiment) {
        KG_TRY(report_print(experiment, stdout, error));
    }
    return cli_flush(error);
}

/* ---- The command ---- */

static kg_status do_work(json_t *out, struct job *job, const cli_context *context,
                         kg_error *error) {
    const char *only = job->limits.only;
    for (size_t i = 0; i < job->count; i++)
        KG_TRY(experiment_choice_check(&job->experiments[i], only, job->runner, error));
    for (size_t i = 0; i < job->count; i++)
        KG_TRY(experiment_choice_plan(&job->experiments[i], only, job->runner, error));
    KG_TRY(experiment_runner_train(job->runner, error));
    for (size_t i = 0; i < job->count; i++)
        KG_TRY(experiment_choice_make(&job->experiments[i], only, job->runner, error));
    for (size_t i = 0; i < job->count; i++)
        KG_TRY(experiment_tabulate_plan(&job->experiments[i], &job->limits, job->runner, error));
    KG_TRY(experiment_runner_train(job->runner, error));
    for (size_t i = 0; i < job->count; i++) {
        json_t *outcome = NULL;
        KG_TRY(experiment_tabulate(&outcome, &job->experiments[i], &job->limits, job->runner,
                                   &context->progress, error));
        if (json_array_append_new(out, outcome) != 0)
            return kg__fail_memory(error);
    }
    return KG_OK;
}

static void print_line(void *payload, const char *line) {
    cli_say(payload, "%s", line);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    struct job job = {.limits = {settings->seeds, settings->only}};
    experiment_runner_options runner = {.data = settings->data,
                                        .out = settings->out,
                                        .results = settings->results,
                                        .threads = settings->threads,
                                        .at_once = settings->at_once,
                                        .parser = &cli_experiment_parser,
                                        .progress = &context->progress,
                                        .print_line = print_line,
                                        .payload = context};
    json_t *experiments = json_array();
    json_t *results = NULL;
    kg_status status = experiments == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(open_experiments(&job, context, error));
    KG_CHECK(check(&job, settings, error));
    KG_CHECK(experiment_runner_open(&job.runner, &runner, error));
    KG_CHECK(do_work(experiments, &job, context, error));
    results = describe(settings, context, experiments);
    if (results == NULL) {
        status = kg__fail_memory(error);
        goto done;
    }
    KG_CHECK(kg__folder_ensure_all(settings->out, error));
    KG_CHECK(write_results(settings->out, results, error));
    KG_CHECK(print(results, context, error));
    cli_say(context, "%s/report.html: the report", settings->out);
done:
    json_decref(results);
    json_decref(experiments);
    close_job(&job);
    return status;
}

static const struct settings defaults = {.out = "reproduction"};

const cli_command cli_reproduce = {
    .name = "reproduce",
    .usage = "NAME...",
    .summary = "make the tables and figures of the paper",
    .details = "NAME is table1, figure2, table2, table3, figure3a, figure3bc, complexity, record,\n"
               "insample, all, or a file FILE.json that describes an experiment as those in\n"
               "experiments/ do. The same command again resumes where it was stopped.",
    .min_arguments = 1,
    .max_arguments = 64,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
