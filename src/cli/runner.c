/* Planning, training and judging, with the folders telling what is done. */
#include "cli/runner.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/eval.h"
#include "cli/option_string.h"
#include "cli/run.h"
#include "cli/runs_progress.h"
#include "cli/train.h"
#include "graph/dataset_folder.h"
#include "graph/source.h"
#include "model/model.h"
#include "model/model_folder.h"

#define RUNS "runs"
#define JUDGED "judged"

struct source {
    char *name;
    char *path;
    kg_dataset dataset;
};

struct task {
    size_t source; /* among the campaign's */
    cli_option_string line;
    cli_run trial;
};

struct cli_runner {
    cli_runner_options options;
    struct source *sources;
    size_t source_count;
    size_t source_capacity;
    struct task *tasks;
    size_t task_count;
    size_t task_capacity;
    cli_runs_progress work; /* of the tasks that are to be done */
};

kg_status cli_runner_open(cli_runner **out, const cli_runner_options *options, kg_error *error) {
    *out = kg__alloc(1, sizeof **out);
    if (*out == NULL)
        return kg__fail_memory(error);
    (*out)->options = *options;
    (*out)->work.stage = "reproducing";
    (*out)->work.progress = &options->context->progress;
    return KG_OK;
}

static void close_task(struct task *task) {
    kg__free(task->trial.path);
    cli_option_string_close(&task->line);
}

void cli_runner_close(cli_runner *c) {
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->task_count; i++)
        close_task(&c->tasks[i]);
    for (size_t i = 0; i < c->source_count; i++) {
        kg__free(c->sources[i].name);
        kg__free(c->sources[i].path);
        kg__dataset_close(&c->sources[i].dataset);
    }
    kg__free(c->tasks);
    kg__free(c->sources);
    kg__free(c);
}

/* ---- Data sets ---- */

static kg_status read_source(struct source *source, cli_runner *c, kg_error *error) {
    kg_reader reader = {.options.folder_first = true, .progress = &c->options.context->progress};
    const char *const path[] = {source->path};
    KG_TRY(kg__dataset_open(&source->dataset, error));
    return kg__source_read(&source->dataset, &reader, path, 1, error);
}

static kg_status add_source(cli_runner *c, const char *name, kg_error *error) {
    struct source *sources =
        kg__grow(c->sources, &c->source_capacity, c->source_count + 1, sizeof *sources);
    if (sources == NULL)
        return kg__fail_memory(error);
    c->sources = sources;
    struct source *source = &sources[c->source_count++];
    *source = (struct source){.name = kg__copy_string(name, strlen(name)),
                              .path = kg__path_join(c->options.data, name)};
    if (source->name == NULL || source->path == NULL)
        return kg__fail_memory(error);
    return read_source(source, c, error);
}

static kg_status find_source(size_t *out, cli_runner *c, const char *name, kg_error *error) {
    for (*out = 0; *out < c->source_count; ++*out)
        if (strcmp(c->sources[*out].name, name) == 0)
            return KG_OK;
    return add_source(c, name, error);
}

kg_status cli_runner_data(const kg_dataset **out, cli_runner *c, const char *name,
                          kg_error *error) {
    size_t i = 0;
    KG_TRY(find_source(&i, c, name, error));
    *out = &c->sources[i].dataset;
    return KG_OK;
}

/* ---- Places ---- */

/* OUT/kind/data/name; to be kg_freed. */
static kg_status make_place(char **out, const cli_runner *c, const char *kind, const char *data,
                            const char *name, kg_error *error) {
    char *group = kg__path_join(c->options.out, kind);
    char *folder = group == NULL ? NULL : kg__path_join(group, data);
    *out = folder == NULL ? NULL : kg__path_join(folder, name);
    kg__free(group);
    kg__free(folder);
    return *out == NULL ? kg__fail_memory(error) : KG_OK;
}

/* The folder that holds `place`, and the one that holds that. */
static kg_status ensure_folders(const cli_runner *c, const char *place, kg_error *error) {
    char *folder = kg__path_parent(place);
    char *group = folder == NULL ? NULL : kg__path_parent(folder);
    kg_status status = group == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK)
        status = kg__folder_ensure(c->options.out, NULL, error);
    if (status == KG_OK)
        status = kg__folder_ensure(group, NULL, error);
    if (status == KG_OK)
        status = kg__folder_ensure(folder, NULL, error);
    kg__free(group);
    kg__free(folder);
    return status;
}

/* ---- The plan ---- */

/* Options that are not for a description to give: seeds are counted, the rest is up to the caller.
 */
static const char *const callers_train[] = {"seed",     "threads", "resume", "force", "hold-out",
                                            "no-refit", "json",    "quiet",  NULL};
static const char *const callers_eval[] = {"ranks", "threads", "json", "quiet", NULL};

static kg_status open_line(cli_option_string *out, const cli_command *command, const char *text,
                           const char *const *refused, kg_error *error) {
    KG_TRY(cli_option_string_open(out, command, text, error));
    for (const cli_option *option = command->options; option->name != NULL; option++)
        for (size_t i = 0; refused[i] != NULL; i++)
            if (strcmp(option->name, refused[i]) == 0 &&
                strcmp(cli_option_text(option, out->settings).text,
                       cli_option_text(option, command->defaults).text) != 0)
                return kg_fail(error, KG_BAD_INPUT,
                               "expected options of kgraft %s but --%s, which a description cannot "
                               "choose",
                               command->name, option->name);
    return KG_OK;
}

/* Sets an option by its name, in settings of a command that has it. */
static kg_status set_option(const cli_command *command, void *settings, const char *name,
                            const char *value, kg_error *error) {
    const cli_option *option = command->options;
    while (option->name != NULL && strcmp(option->name, name) != 0)
        option++;
    if (option->name == NULL || option->kind == CLI_FLAG)
        return kg_fail(error, KG_BAD_INPUT,
                       "option: expected one of kgraft %s that takes a value, found %s",
                       command->name, kg__quote(name, strlen(name)).text);
    return cli_set_option(option, settings, value, error);
}

static kg_status open_training(cli_option_string *out, const cli_request *r, kg_error *error) {
    char seed[32];
    KG_TRY(open_line(out, &cli_train, r->train, callers_train, error));
    if (r->option != NULL && strcmp(r->option, "seed") == 0)
        return kg_fail(error, KG_BAD_INPUT, "option: expected any but seed, found seed");
    if (r->option != NULL)
        KG_TRY(set_option(&cli_train, out->settings, r->option, r->value, error));
    snprintf(seed, sizeof seed, "%ju", (uintmax_t)r->seed);
    return set_option(&cli_train, out->settings, "seed", seed, error);
}

/* The number of threads is no setting of a run, so names are made before it is set. */
static kg_status set_threads(const cli_runner *c, const cli_command *command, void *settings,
                             kg_error *error) {
    char threads[32];
    if (c->options.threads == 0)
        return KG_OK;
    snprintf(threads, sizeof threads, "%ju", (uintmax_t)c->options.threads);
    return set_option(command, settings, "threads", threads, error);
}

static kg_status open_task(struct task *task, cli_runner *c, const cli_request *request,
                           kg_error *error) {
    cli_run *trial = &task->trial;
    KG_TRY(find_source(&task->source, c, request->data, error));
    KG_TRY(open_training(&task->line, request, error));
    KG_TRY(cli_train_check(task->line.settings, error));
    cli_train_fill_in(task->line.settings);
    trial->settings = task->line.settings;
    KG_TRY(cli_train_name(&trial->name, trial->settings, error));
    KG_TRY(make_place(&trial->path, c, RUNS, request->data, trial->name.text, error));
    KG_TRY(set_threads(c, &cli_train, task->line.settings, error));
    trial->options = cli_train_options(trial->settings);
    return kg__train_check(&trial->options, error);
}

/* The planned task that would train the same, or NULL. */
static struct task *find_task(const cli_runner *c, const struct task *like) {
    for (size_t i = 0; i < c->task_count; i++)
        if (strcmp(c->tasks[i].trial.path, like->trial.path) == 0)
            return &c->tasks[i];
    return NULL;
}

/* Takes over `task`. */
static kg_status add_task(cli_runner *c, struct task *task, kg_error *error) {
    const kg_dataset *dataset = &c->sources[task->source].dataset;
    struct task *tasks = kg__grow(c->tasks, &c->task_capacity, c->task_count + 1, sizeof *tasks);
    if (tasks == NULL)
        return kg__fail_memory(error);
    c->tasks = tasks;
    cli_run *trial = &task->trial;
    if (!kg__train_validates(&trial->options, dataset) || trial->options.epochs == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected runs that are validated, found %s without validation",
                       trial->name.text);
    KG_TRY(cli_run_look(trial, dataset, error));
    if (trial->state == CLI_WAITING)
        c->work.total += kg__train_work(&trial->options, dataset);
    c->tasks[c->task_count++] = *task;
    *task = (struct task){0};
    return KG_OK;
}

kg_status cli_runner_plan(cli_runner *c, const cli_request *request, kg_error *error) {
    cli_option_string eval = {0};
    struct task task = {0};
    size_t source = 0;
    kg_status status = KG_OK;
    KG_CHECK(open_line(&eval, &cli_eval, request->eval, callers_eval, error));
    if (cli_eval_needs_model(eval.settings) != (request->train != NULL)) {
        status =
            kg_fail(error, KG_BAD_INPUT,
                    "expected options of kgraft train, unless what is judged is a baseline that "
                    "counts facts; found %s",
                    request->train == NULL ? "none" : "some");
        goto done;
    }
    KG_CHECK(find_source(&source, c, request->data, error));
    if (request->train == NULL) {
        status = cli_eval_check(eval.settings, NULL, c->sources[source].path,
                                &c->sources[source].dataset, error);
        goto done;
    }
    KG_CHECK(open_task(&task, c, request, error));
    KG_CHECK(cli_eval_check(eval.settings, task.trial.options.scoring, c->sources[source].path,
                            &c->sources[source].dataset, error));
    if (find_task(c, &task) == NULL)
        KG_CHECK(add_task(c, &task, error));
done:
    close_task(&task);
    cli_option_string_close(&eval);
    return status;
}

/* ---- Training ---- */

static kg_status train(cli_runner *c, struct task *task, kg_error *error) {
    kg_progress progress = {cli_runs_progress_report, &c->work};
    char name[512];
    const kg_dataset *dataset = &c->sources[task->source].dataset;
    cli_run *trial = &task->trial;
    cli_context *context = c->options.context;
    snprintf(name, sizeof name, ": %s %s", c->sources[task->source].name, trial->name.text);
    c->work.name = name;
    c->work.within = 0;
    KG_TRY(ensure_folders(c, trial->path, error));
    kg_status status = cli_run_train(trial, dataset, &progress, error);
    if (status == KG_CANCELLED)
        cli_say(context, "stopped in run %zu of %zu: the same command goes on", c->work.run + 1,
                c->task_count);
    KG_TRY(status);
    c->work.done += kg__train_work(&trial->options, dataset);
    if (trial->state == CLI_FAILED)
        cli_say(context, "%s: failed: %s", trial->path, trial->failure);
    else
        cli_say(context, "%s: epoch %ju of %ju is the best: validation MRR %.4f, %.1f s",
                trial->path, (uintmax_t)trial->best.number, (uintmax_t)trial->epochs,
                trial->best.valid.mrr, trial->seconds);
    return KG_OK;
}

kg_status cli_runner_train(cli_runner *c, kg_error *error) {
    size_t waiting = 0;
    for (size_t i = 0; i < c->task_count; i++)
        waiting += c->tasks[i].trial.state == CLI_WAITING;
    if (c->task_count > 0)
        cli_say(c->options.context, "%s, %zu done before",
                report_counted(c->task_count, "run", "runs").text, c->task_count - waiting);
    c->work.run_count = c->task_count;
    for (c->work.run = 0; c->work.run < c->task_count; c->work.run++)
        if (c->tasks[c->work.run].trial.state == CLI_WAITING)
            KG_TRY(train(c, &c->tasks[c->work.run], error));
    return KG_OK;
}

/* ---- Judging ---- */

/* Something to be judged, and where the judgement is kept. */
struct judgement {
    cli_option_string eval;
    struct task *task; /* NULL for a baseline */
    const struct source *source;
    char *path;
    char subject[64]; /* tells what was judged: a hash of the embeddings, or of the facts */
};

static kg_status identify_model(struct judgement *j, kg_error *error) {
    json_t *config = NULL;
    KG_TRY(kg__model_read_config(&config, j->task->trial.path, error));
    const json_t *file = json_object_get(json_object_get(config, "files"), KG_MODEL_TENSORS);
    const char *hash = json_string_value(json_object_get(file, "xxh3"));
    snprintf(j->subject, sizeof j->subject, "%s", hash == NULL ? "" : hash);
    json_decref(config);
    return KG_OK;
}

static kg_status open_judgement(struct judgement *j, cli_runner *c, const cli_request *request,
                                struct task *like, kg_error *error) {
    cli_run_name eval;
    size_t source = 0;
    KG_TRY(cli_option_string_open(&j->eval, &cli_eval, request->eval, error));
    KG_TRY(cli_settings_name(&eval, &cli_eval, j->eval.settings, cli_eval.defaults, error));
    KG_TRY(set_threads(c, &cli_eval, j->eval.settings, error));
    KG_TRY(find_source(&source, c, request->data, error));
    j->source = &c->sources[source];
    if (request->train != NULL) {
        KG_TRY(open_task(like, c, request, error));
        j->task = find_task(c, like);
        if (j->task == NULL)
            return kg_fail(error, KG_BAD_INPUT, "expected a planned run, found %s",
                           like->trial.name.text);
        if (j->task->trial.state == CLI_FAILED)
            return KG_OK;
        KG_TRY(identify_model(j, error));
    } else {
        snprintf(j->subject, sizeof j->subject, "%s",
                 kg__dataset_checksum(&j->source->dataset).text);
    }
    char name[2 * sizeof eval.text + 16];
    snprintf(name, sizeof name, "%s%s%s.json", j->task == NULL ? "" : j->task->trial.name.text,
             j->task == NULL ? "" : "+", eval.text);
    if (strlen(name) > NAME_MAX)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected options that fit into the name of a file, found %s", name);
    return make_place(&j->path, c, JUDGED, request->data, name, error);
}

static void close_judgement(struct judgement *j) {
    kg__free(j->path);
    cli_option_string_close(&j->eval);
}

/* What was kept, or NULL if there is nothing, or nothing that tells of this; it can be made again.
 */
static kg_status recall(json_t **out, const struct judgement *j, kg_error *error) {
    struct stat about;
    *out = NULL;
    if (stat(j->path, &about) != 0)
        return errno == ENOENT ? KG_OK : kg__fail_errno(error, j->path, "look at it");
    kg_input *input = NULL;
    json_t *kept = NULL;
    KG_TRY(kg__input_open(&input, j->path, KG_PLAIN, error));
    kg_status status = kg__json_read(&kept, input, error);
    kg__input_close(input);
    if (status == KG_BAD_INPUT)
        return KG_OK;
    KG_TRY(status);
    const char *subject = json_string_value(json_object_get(kept, "subject"));
    const char *version = json_string_value(json_object_get(kept, "version"));
    json_t *metrics = json_object_get(kept, "metrics");
    if (subject != NULL && version != NULL && strcmp(subject, j->subject) == 0 &&
        strcmp(version, kg_version()) == 0 && json_is_number(json_object_get(metrics, "mrr")))
        *out = json_incref(metrics);
    json_decref(kept);
    return KG_OK;
}

static kg_status keep(const struct judgement *j, const cli_runner *c, json_t *metrics,
                      kg_error *error) {
    json_t *kept =
        json_pack("{ss ss sO}", "version", kg_version(), "subject", j->subject, "metrics", metrics);
    kg_output *output = NULL;
    kg_status status = kept == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(ensure_folders(c, j->path, error));
    KG_CHECK(kg__output_open(&output, j->path, j->path, error));
    KG_CHECK(kg__json_write(kept, output, error));
    KG_CHECK(kg__output_commit(output, error));
done:
    kg__output_close(output);
    json_decref(kept);
    return status;
}

static kg_status evaluate(const struct judgement *j, const cli_runner *c, kg_error *error) {
    cli_evaluation evaluation = {.settings = j->eval.settings,
                                 .dataset = &j->source->dataset,
                                 .source = j->source->path,
                                 .model = j->task == NULL ? NULL : j->task->trial.path,
                                 .progress = &c->options.context->progress};
    json_t *metrics = NULL;
    KG_TRY(cli_eval_json(&metrics, &evaluation, error));
    json_object_del(metrics, "by_relation"); /* hundreds of rows that no table shows */
    kg_status status = keep(j, c, metrics, error);
    json_decref(metrics);
    return status;
}

/* By way of the file also the first time, so that the digits are the same every time. */
static kg_status judge(json_t **out, const struct judgement *j, const cli_runner *c,
                       kg_error *error) {
    KG_TRY(recall(out, j, error));
    if (*out != NULL)
        return KG_OK;
    KG_TRY(evaluate(j, c, error));
    KG_TRY(recall(out, j, error));
    if (*out != NULL)
        return KG_OK;
    return kg_fail_at(error, j->path, 0, 0,
                      "expected the judgement that was just written, found that it is gone");
}

static kg_status add_run(json_t *metrics, const struct judgement *j, const cli_request *request,
                         kg_error *error) {
    const cli_run *trial = j->task == NULL ? NULL : &j->task->trial;
    json_t *about = NULL;
    if (trial == NULL)
        about = json_pack("{sI}", "seed", (json_int_t)request->seed);
    else if (trial->state == CLI_FAILED)
        about = json_pack("{sI ss so}", "seed", (json_int_t)request->seed, "run", trial->name.text,
                          "failure", kg__json_text(trial->failure, strlen(trial->failure)));
    else
        about = json_pack("{sI ss sI sI sf sf}", "seed", (json_int_t)request->seed, "run",
                          trial->name.text, "epochs", (json_int_t)trial->epochs, "best_epoch",
                          (json_int_t)trial->best.number, "valid_mrr", trial->best.valid.mrr,
                          "seconds", trial->seconds);
    if (trial != NULL && trial->state == CLI_FINISHED && trial->memory > 0 &&
        json_object_set_new(about, "megabytes", json_real((double)trial->memory / 1e6)) != 0) {
        json_decref(about);
        about = NULL;
    }
    bool good = about != NULL && json_object_update(metrics, about) == 0;
    json_decref(about);
    return good ? KG_OK : kg__fail_memory(error);
}

kg_status cli_runner_judge(json_t **out, cli_runner *c, const cli_request *request,
                           kg_error *error) {
    struct judgement j = {0};
    struct task like = {0};
    json_t *metrics = NULL;
    kg_status status = KG_OK;
    KG_CHECK(open_judgement(&j, c, request, &like, error));
    if (j.path == NULL) /* there is no model */
        metrics = json_object();
    else
        KG_CHECK(judge(&metrics, &j, c, error));
    KG_CHECK(add_run(metrics, &j, request, error));
    *out = json_incref(metrics);
done:
    json_decref(metrics);
    close_task(&like);
    close_judgement(&j);
    return status;
}
