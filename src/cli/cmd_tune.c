/* kgraft tune: a model for each combination of options, and the best of them by validation.
 *
 * It knows no setting by name: lists become settings by their table (grid.h), and each combination
 * is trained as kgraft train would, in a folder of its own (run.h). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output_folder.h"
#include "base/path.h"
#include "cli/train_options.h"
#include "experiment/grid.h"
#include "experiment/run.h"
#include "experiment/runs_at_once.h"
#include "graph/dataset_source.h"
#include "train/hold_out.h"

#define RESULTS "results.tsv"

struct settings {
    cli_common common;
    const char *lists[KG_MOST_SETTINGS];
    uint64_t at_once;
};

static const cli_option options[] = {CLI_AT_ONCE(offsetof(struct settings, at_once)), CLI_JSON,
                                     CLI_QUIET, CLI_END};

struct plan {
    cli_context *context;
    char *out; /* the folder of all runs */
    experiment_grid grid;
    kg_dataset dataset;
    experiment_run *runs; /* as many as the grid has */
    bool was_stopped;     /* and it was said */
};

static void close_plan(struct plan *plan) {
    for (size_t i = 0; i < plan->grid.count && plan->runs != NULL; i++)
        experiment_run_close(&plan->runs[i]);
    kg__free(plan->runs);
    kg__dataset_close(&plan->dataset);
    experiment_grid_free(&plan->grid);
    kg__free(plan->out);
}

/* Of several ranks, which train each run together, the first writes and prints. */
static bool is_first(const struct plan *plan) {
    return kg__ranks_first(plan->context->ranks);
}

static kg_status agree(const struct plan *plan, kg_status status, kg_error *error) {
    return kg__ranks_agree(plan->context->ranks, status, error);
}

/* ---- Before the first run ---- */

static kg_status check_names(const struct plan *plan, kg_error *error) {
    for (size_t i = 0; i < plan->grid.count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(plan->runs[i].name.text, plan->runs[k].name.text) == 0)
                return kg_fail(error, KG_BAD_INPUT,
                               "expected each value of a list once, found %s twice",
                               plan->runs[i].name.text);
    return KG_OK;
}

static kg_status make_options(struct plan *plan, size_t i, kg_error *error) {
    KG_TRY(cli_train_options(&plan->runs[i].options, &plan->grid.settings[i], error));
    plan->runs[i].options.ranks = plan->context->ranks;
    return KG_OK;
}

static kg_status open_runs(struct plan *plan, kg_error *error) {
    plan->runs = kg__alloc(plan->grid.count, sizeof *plan->runs);
    if (plan->runs == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < plan->grid.count; i++) {
        experiment_run *run = &plan->runs[i];
        KG_TRY(make_options(plan, i, error));
        KG_TRY(experiment_grid_name(&run->name, &plan->grid, i, error));
        run->path = kg__path_join(plan->out, run->name.text);
        if (run->path == NULL)
            return kg__fail_memory(error);
    }
    return check_names(plan, error);
}

/* Of a data set without a validation part, all runs hold out the same entities, and are not trained
 * on them: they are compared by these. Of one with such a part, a share that is asked for is
 * refused. */
static kg_status hold_out(struct plan *plan, const char *source, kg_error *error) {
    kg_held_out held = {0};
    double share = kg__settings_hold_out(&plan->grid.settings[0]);
    for (size_t i = 1; i < plan->grid.count; i++)
        if (kg__settings_hold_out(&plan->grid.settings[i]) != share)
            return kg_fail(error, KG_BAD_INPUT,
                           "`hold_out`: expected one share for all runs, found several");
    KG_TRY(kg__hold_out(&held, &plan->dataset, share, 0, error));
    if (kg__has_validation(&plan->dataset))
        return KG_OK;
    if (held.share == 0)
        return kg_fail_at(error, source, 0, 0,
                          "expected facts to validate by, found none in %s and %s, and %s",
                          kg__part_name(KG_VALID), kg__part_name(KG_UNSEEN_VALID),
                          share == 0 ? "nothing is held out" : "too few others to hold any out");
    cli_say(plan->context, "held out %s with %s to validate by",
            report_counted(held.entities, "entity", "entities").text,
            report_counted(held.facts, "fact", "facts").text);
    kg__dataset_close(&plan->dataset);
    plan->dataset = held.dataset;
    return KG_OK;
}

static kg_status read_dataset(struct plan *plan, kg_error *error) {
    kg_reader reader = {.options.folder_first = true, .progress = &plan->context->progress};
    const char *const *source = plan->context->arguments;
    KG_TRY(kg__dataset_open(&plan->dataset, error));
    KG_TRY(kg__source_read(&plan->dataset, &reader, source, 1, error));
    for (size_t i = 0; i < plan->grid.count; i++) {
        KG_TRY(kg__settings_adapt(&plan->grid.settings[i], &plan->dataset, error));
        KG_TRY(make_options(plan, i, error));
    }
    return hold_out(plan, *source, error);
}

/* Reads the state of all runs. */
static kg_status look(struct plan *plan, kg_error *error) {
    for (size_t i = 0; i < plan->grid.count; i++) {
        experiment_run *run = &plan->runs[i];
        if (!kg__train_validates(&run->options, &plan->dataset) || run->options.epochs == 0)
            return kg_fail(error, KG_BAD_INPUT,
                           "expected runs that are validated, found %s without validation",
                           run->name.text);
        KG_TRY(experiment_run_look(run, &plan->dataset, error));
    }
    return KG_OK;
}

static kg_status prepare(struct plan *plan, const struct settings *settings, kg_error *error) {
    plan->out = kg__path_trim(plan->context->arguments[1]);
    if (plan->out == NULL)
        return kg__fail_memory(error);
    KG_TRY(experiment_grid_make(&plan->grid, settings->lists, error));
    KG_TRY(open_runs(plan, error));
    KG_TRY(read_dataset(plan, error));
    return look(plan, error);
}

/* ---- Results ---- */

/* The best first, failed ones last. */
static int compare(const void *left, const void *right) {
    const experiment_run *a = *(const experiment_run *const *)left;
    const experiment_run *b = *(const experiment_run *const *)right;
    if (a->state != b->state)
        return a->state == EXPERIMENT_FINISHED ? -1 : 1;
    if (a->state == EXPERIMENT_FINISHED && a->best.valid.mrr != b->best.valid.mrr)
        return a->best.valid.mrr > b->best.valid.mrr ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* All finished or failed runs, in order; to be kg_freed. */
static const experiment_run **rank_runs(const struct plan *plan, size_t *count) {
    const experiment_run **out = kg__alloc(plan->grid.count, sizeof(void *));
    *count = 0;
    for (size_t i = 0; i < plan->grid.count && out != NULL; i++)
        if (plan->runs[i].state != EXPERIMENT_WAITING)
            out[(*count)++] = &plan->runs[i];
    if (out != NULL)
        qsort(out, *count, sizeof(void *), compare);
    return out;
}

static kg_status write_text(kg_output *output, const char *text, kg_error *error) {
    return kg__output_write(output, text, strlen(text), error);
}

/* A run's value of a setting, or the setting's name if there is no run. */
static kg_setting_text get_text(const kg_setting *setting, const struct plan *plan,
                                const experiment_run *run) {
    kg_setting_text name;
    if (run != NULL)
        return kg__setting_text(setting, &plan->grid.settings[run - plan->runs].options);
    snprintf(name.text, sizeof name.text, "%s", setting->name);
    return name;
}

/* A line of the settings that vary: their names, or a run's values. */
static kg_status write_values(kg_output *output, const struct plan *plan, const experiment_run *run,
                              kg_error *error) {
    const experiment_grid *grid = &plan->grid;
    KG_TRY(write_text(output, run == NULL ? "run" : run->name.text, error));
    for (size_t i = 0; i < grid->axis_count; i++) {
        if (!experiment_axis_varies(&grid->axes[i]))
            continue;
        KG_TRY(write_text(output, "\t", error));
        KG_TRY(write_text(output, get_text(grid->axes[i].setting, plan, run).text, error));
    }
    return KG_OK;
}

static kg_status write_outcome(kg_output *output, const experiment_run *run, kg_error *error) {
    char text[256];
    const kg_epoch *best = &run->best;
    if (run->state == EXPERIMENT_FAILED) {
        KG_TRY(write_text(output, "\t\t\t\t\t\t\t", error));
        KG_TRY(write_text(output, run->failure, error));
        return write_text(output, "\n", error);
    }
    snprintf(text, sizeof text, "\t%ju\t%.6f\t%.6f\t%.6f\t%.6f\t%.3f\t\n", (uintmax_t)best->number,
             best->valid.mrr, best->valid.hits[0], best->valid.hits[1], best->valid.hits[2],
             run->seconds);
    return write_text(output, text, error);
}

static kg_status write_results_alone(const struct plan *plan, kg_error *error) {
    size_t count = 0;
    const experiment_run **order = rank_runs(plan, &count);
    char *path = kg__path_join(plan->out, RESULTS);
    kg_output *output = NULL;
    kg_status status = order == NULL || path == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(kg__output_open(&output, path, path, error));
    KG_CHECK(write_values(output, plan, NULL, error));
    KG_CHECK(
        write_text(output, "\tbest_epoch\tmrr\thit@1\thit@3\thit@10\tseconds\tfailure\n", error));
    for (size_t i = 0; i < count; i++) {
        KG_CHECK(write_values(output, plan, order[i], error));
        KG_CHECK(write_outcome(output, order[i], error));
    }
    status = kg__output_commit(output, error);
done:
    kg__output_close(output);
    kg__free(path);
    kg__free(order);
    return status;
}

static kg_status write_results(const struct plan *plan, kg_error *error) {
    return agree(plan, is_first(plan) ? write_results_alone(plan, error) : KG_OK, error);
}

/* Numbers are numbers, and all others are texts as they are typed. */
static json_t *describe_value(const kg_setting *setting, const struct plan *plan,
                              const experiment_run *run) {
    if (setting->type == KG_TYPE_COUNT || setting->type == KG_TYPE_NUMBER)
        return kg__setting_json(setting, &plan->grid.settings[run - plan->runs].options);
    return json_string(get_text(setting, plan, run).text);
}

static json_t *describe_run(const struct plan *plan, const experiment_run *run) {
    const experiment_grid *grid = &plan->grid;
    json_t *values = json_object();
    for (size_t i = 0; i < grid->axis_count; i++)
        if (experiment_axis_varies(&grid->axes[i]) &&
            json_object_set_new(values, grid->axes[i].setting->name,
                                describe_value(grid->axes[i].setting, plan, run)) != 0) {
            json_decref(values);
            return NULL;
        }
    json_t *path = kg__json_text(run->path, strlen(run->path));
    if (run->state == EXPERIMENT_FAILED)
        return json_pack("{ss so so so}", "run", run->name.text, "model", path, "options", values,
                         "failure", kg__json_text(run->failure, strlen(run->failure)));
    return json_pack("{ss so so sI sI so sf}", "run", run->name.text, "model", path, "options",
                     values, "epochs", (json_int_t)run->epochs, "best_epoch",
                     (json_int_t)run->best.number, "valid", kg__metrics_json(&run->best.valid),
                     "seconds", run->seconds);
}

/* NULL if memory is short. */
static json_t *describe(const struct plan *plan, const experiment_run *const *order, size_t count) {
    json_t *runs = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(runs, describe_run(plan, order[i])) != 0) {
            json_decref(runs);
            return NULL;
        }
    const char *best = order[0]->state == EXPERIMENT_FINISHED ? order[0]->name.text : NULL;
    return json_pack("{ss? so}", "best", best, "runs", runs);
}

/* The width of a setting's column. */
static int find_width(const kg_setting *setting, const struct plan *plan,
                      const experiment_run *const *order, size_t count) {
    size_t width = strlen(setting->name);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(get_text(setting, plan, order[i]).text);
        width = length > width ? length : width;
    }
    return (int)width;
}

/* The values of a run, or the names of the settings if it is NULL. */
static void print_values(const struct plan *plan, const int *widths, const experiment_run *run) {
    for (size_t i = 0; i < plan->grid.axis_count; i++)
        if (experiment_axis_varies(&plan->grid.axes[i]))
            printf(" %-*s", widths[i], get_text(plan->grid.axes[i].setting, plan, run).text);
}

static void print_table(const struct plan *plan, const experiment_run *const *order, size_t count) {
    int widths[KG_MOST_SETTINGS];
    for (size_t i = 0; i < plan->grid.axis_count; i++)
        widths[i] = find_width(plan->grid.axes[i].setting, plan, order, count);
    printf(" ");
    print_values(plan, widths, NULL);
    printf(" %8s %8s %8s %8s %8s %8s\n", "epoch", "MRR", "Hit@1", "Hit@3", "Hit@10", "seconds");
    for (size_t i = 0; i < count; i++) {
        const kg_epoch *best = &order[i]->best;
        bool failed = order[i]->state == EXPERIMENT_FAILED;
        printf("%s", i == 0 && !failed ? "*" : " ");
        print_values(plan, widths, order[i]);
        if (failed)
            printf("  failed: %s\n", order[i]->failure);
        else
            printf(" %8ju %8.4f %8.4f %8.4f %8.4f %8.1f\n", (uintmax_t)best->number,
                   best->valid.mrr, best->valid.hits[0], best->valid.hits[1], best->valid.hits[2],
                   order[i]->seconds);
    }
}

static kg_status print_all(const struct plan *plan, const experiment_run *const *order,
                           size_t count, kg_error *error) {
    if (plan->context->common->json)
        return cli_print_json(describe(plan, order, count), error);
    cli_bar_close(plan->context->bar);
    print_table(plan, order, count);
    return cli_flush(error);
}

static kg_status report_all(const struct plan *plan, kg_error *error) {
    size_t count = 0;
    const experiment_run **order = rank_runs(plan, &count);
    if (order == NULL)
        return kg__fail_memory(error);
    kg_status status = KG_OK;
    if (is_first(plan))
        KG_CHECK(print_all(plan, order, count, error));
    if (order[0]->state == EXPERIMENT_FINISHED)
        cli_say(plan->context, "%s: the best of %s: validation MRR %.4f", order[0]->path,
                report_counted(count, "run", "runs").text, order[0]->best.valid.mrr);
    else
        status = kg_fail(error, KG_DIVERGED,
                         "expected a run that comes to a model, found that "
                         "all of them failed");
done:
    kg__free(order);
    return status;
}

/* ---- The runs ---- */

static void say_outcome(const struct plan *plan, size_t number, const char *when) {
    const experiment_run *run = &plan->runs[number];
    char head[NAME_MAX + 64];
    snprintf(head, sizeof head, "run %zu of %zu, %s", number + 1, plan->grid.count, run->name.text);
    if (run->state == EXPERIMENT_FAILED)
        cli_say(plan->context, "%s: %sfailed: %s", head, when, run->failure);
    else
        cli_say(plan->context, "%s: %sepoch %ju of %ju is the best: validation MRR %.4f", head,
                when, (uintmax_t)run->best.number, (uintmax_t)run->epochs, run->best.valid.mrr);
}

static kg_status tell_end(void *payload, const experiment_job *job, kg_status status,
                          kg_error *error) {
    struct plan *plan = payload;
    if (status == KG_OK) {
        say_outcome(plan, job->number, "");
        return write_results(plan, error);
    }
    if (!plan->was_stopped)
        cli_say(plan->context, "stopped in run %zu of %zu: the same command resumes it",
                job->number + 1, plan->grid.count);
    plan->was_stopped = true;
    return KG_OK;
}

/* Trains the runs that wait. */
static kg_status train(struct plan *plan, experiment_job *jobs, uint64_t at_once, kg_error *error) {
    experiment_runs_options training = {.stage = "tuning",
                                        .progress = &plan->context->progress,
                                        .run_count = plan->grid.count,
                                        .threads = plan->runs[0].options.threads,
                                        .at_once =
                                            kg__ranks_many(plan->context->ranks) ? 1 : at_once,
                                        .on_end = tell_end,
                                        .payload = plan};
    size_t count = 0;
    for (size_t i = 0; i < plan->grid.count; i++)
        if (plan->runs[i].state == EXPERIMENT_WAITING)
            jobs[count++] = (experiment_job){&plan->runs[i], &plan->dataset, i};
        else
            say_outcome(plan, i, "done before: ");
    return experiment_runs_train(jobs, count, &training, error);
}

static kg_status run_all(struct plan *plan, uint64_t at_once, kg_error *error) {
    experiment_job *jobs = kg__alloc(plan->grid.count, sizeof *jobs);
    kg_status status = jobs == NULL ? kg__fail_memory(error) : train(plan, jobs, at_once, error);
    kg__free(jobs);
    return status == KG_OK ? write_results(plan, error) : status;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    struct plan plan = {.context = context};
    bool made = false;
    kg_status status = KG_OK;
    KG_CHECK(prepare(&plan, settings, error));
    if (is_first(&plan))
        status = kg__folder_ensure(plan.out, &made, error);
    KG_CHECK(agree(&plan, status, error));
    KG_CHECK(run_all(&plan, settings->at_once, error));
    KG_CHECK(report_all(&plan, error));
done:
    if (made && status != KG_OK)
        rmdir(plan.out); /* if it is empty */
    close_plan(&plan);
    return status;
}

static const struct settings defaults = {.common = {.quiet = false}};

const cli_command cli_tune = {
    .name = "tune",
    .usage = "DATASET OUT",
    .summary = "train with all combinations of options, and find the best",
    .details =
        "DATASET is anything that import takes; OUT becomes a folder with a model directory\n"
        "for each combination, and results.tsv. The same command again goes on.",
    .min_arguments = 2,
    .max_arguments = 2,
    .is_shared = true,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .training = CLI_TRAINING_LISTS,
    .training_at = offsetof(struct settings, lists),
    .run = run,
};
