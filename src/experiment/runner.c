/* Planning, training and evaluating; the folders hold what is done. */
#include "experiment/runner.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/output_folder.h"
#include "base/path.h"
#include "experiment/run_record.h"
#include "experiment/runs_at_once.h"
#include "graph/dataset_folder.h"
#include "graph/dataset_source.h"

#define RUNS "runs"
#define RESULTS "results"

struct source {
    char *name;
    char *path;
    kg_dataset dataset;
};

struct task {
    size_t source; /* among the runner's */
    experiment_run run;
};

struct experiment_runner {
    experiment_runner_options options;
    char *runs; /* folders */
    char *results;
    struct source *sources;
    size_t source_count;
    size_t source_capacity;
    struct task *tasks;
    size_t task_count;
    size_t task_capacity;
    bool was_stopped; /* and it was said */
};

kg_status experiment_runner_open(experiment_runner **out, const experiment_runner_options *options,
                                 kg_error *error) {
    *out = kg__alloc(1, sizeof **out);
    if (*out == NULL)
        return kg__fail_memory(error);
    (*out)->options = *options;
    (*out)->runs = kg__path_join(options->out, RUNS);
    (*out)->results = options->results == NULL
                          ? kg__path_join(options->out, RESULTS)
                          : kg__copy_string(options->results, strlen(options->results));
    bool good = (*out)->runs != NULL && (*out)->results != NULL;
    return good ? KG_OK : kg__fail_memory(error);
}

void experiment_runner_close(experiment_runner *runner) {
    if (runner == NULL)
        return;
    for (size_t i = 0; i < runner->task_count; i++)
        experiment_run_close(&runner->tasks[i].run);
    for (size_t i = 0; i < runner->source_count; i++) {
        kg__free(runner->sources[i].name);
        kg__free(runner->sources[i].path);
        kg__dataset_close(&runner->sources[i].dataset);
    }
    kg__free(runner->tasks);
    kg__free(runner->sources);
    kg__free(runner->runs);
    kg__free(runner->results);
    kg__free(runner);
}

/* ---- Data sets ---- */

static kg_status read_source(struct source *source, experiment_runner *runner, kg_error *error) {
    kg_reader reader = {.options.folder_first = true, .progress = runner->options.progress};
    const char *const path[] = {source->path};
    KG_TRY(kg__dataset_open(&source->dataset, error));
    return kg__source_read(&source->dataset, &reader, path, 1, error);
}

static kg_status add_source(experiment_runner *runner, const char *name, kg_error *error) {
    struct source *sources = kg__grow(runner->sources, &runner->source_capacity,
                                      runner->source_count + 1, sizeof *sources);
    if (sources == NULL)
        return kg__fail_memory(error);
    runner->sources = sources;
    struct source *source = &sources[runner->source_count++];
    *source = (struct source){.name = kg__copy_string(name, strlen(name)),
                              .path = kg__path_join(runner->options.data, name)};
    if (source->name == NULL || source->path == NULL)
        return kg__fail_memory(error);
    return read_source(source, runner, error);
}

static kg_status find_source(size_t *out, experiment_runner *runner, const char *name,
                             kg_error *error) {
    for (*out = 0; *out < runner->source_count; ++*out)
        if (strcmp(runner->sources[*out].name, name) == 0)
            return KG_OK;
    return add_source(runner, name, error);
}

kg_status experiment_runner_data(const kg_dataset **out, experiment_runner *runner,
                                 const char *name, kg_error *error) {
    size_t i = 0;
    KG_TRY(find_source(&i, runner, name, error));
    *out = &runner->sources[i].dataset;
    return KG_OK;
}

/* ---- Places ---- */

/* folder/data/name; to be kg_freed. */
static kg_status make_place(char **out, const char *folder, const char *data, const char *name,
                            kg_error *error) {
    char *group = kg__path_join(folder, data);
    *out = group == NULL ? NULL : kg__path_join(group, name);
    kg__free(group);
    return *out == NULL ? kg__fail_memory(error) : KG_OK;
}

/* Of a result, with its suffix. */
static kg_status make_result_place(char **out, const experiment_runner *runner, const char *data,
                                   const char *run, const char *eval, kg_error *error) {
    char name[2 * sizeof(experiment_run_name) + sizeof "+.json"];
    bool is_both = run[0] != '\0' && eval[0] != '\0';
    snprintf(name, sizeof name, "%s%s%s.json", run, is_both ? "+" : "", eval);
    if (strlen(name) > NAME_MAX)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected options that fit into the name of a file, found %s", name);
    return make_place(out, runner->results, data, name, error);
}

/* ---- Runs ---- */

static kg_status open_task(struct task *task, experiment_runner *runner,
                           const experiment_request *request, kg_error *error) {
    experiment_run *run = &task->run;
    KG_TRY(find_source(&task->source, runner, request->data, error));
    KG_TRY(runner->options.parser->read_training(
        run, request, &runner->sources[task->source].dataset, runner->options.threads, error));
    KG_TRY(make_place(&run->path, runner->runs, request->data, run->name.text, error));
    return make_result_place(&run->record_path, runner, request->data, run->name.text, "", error);
}

/* The planned task that would train the same, or NULL. */
static struct task *find_task(const experiment_runner *runner, const struct task *like) {
    for (size_t i = 0; i < runner->task_count; i++)
        if (strcmp(runner->tasks[i].run.path, like->run.path) == 0)
            return &runner->tasks[i];
    return NULL;
}

/* Takes ownership of `task`. */
static kg_status add_task(experiment_runner *runner, struct task *task, kg_error *error) {
    const kg_dataset *dataset = &runner->sources[task->source].dataset;
    struct task *tasks =
        kg__grow(runner->tasks, &runner->task_capacity, runner->task_count + 1, sizeof *tasks);
    if (tasks == NULL)
        return kg__fail_memory(error);
    runner->tasks = tasks;
    KG_TRY(experiment_run_look(&task->run, dataset, error));
    runner->tasks[runner->task_count++] = *task;
    *task = (struct task){0};
    return KG_OK;
}

/* The planned task of the request. */
static kg_status find_planned(struct task **out, experiment_runner *runner,
                              const experiment_request *request, kg_error *error) {
    struct task like = {0};
    kg_status status = open_task(&like, runner, request, error);
    *out = status == KG_OK ? find_task(runner, &like) : NULL;
    if (status == KG_OK && *out == NULL)
        status =
            kg_fail(error, KG_BAD_INPUT, "expected a planned run, found %s", like.run.name.text);
    experiment_run_close(&like.run);
    return status;
}

/* ---- Results of evaluations ---- */

/* Something to evaluate, and where the result is stored. */
struct result {
    experiment_eval_options eval;
    struct task *task; /* NULL for a baseline */
    const struct source *source;
    char *path;
    const char
        *subject; /* identifies what is evaluated: the checksum of the model, or of the facts */
    char facts[64];
};

/* Of a request that is planned: not of a run that has yet to be trained, or has failed, of which
 * there is no result. */
static kg_status open_result(struct result *r, experiment_runner *runner,
                             const experiment_request *request, kg_error *error) {
    experiment_run_name eval;
    size_t source = 0;
    const char *run = "";
    KG_TRY(runner->options.parser->read_evaluation(&r->eval, &eval, request,
                                                   runner->options.threads, error));
    KG_TRY(find_source(&source, runner, request->data, error));
    r->source = &runner->sources[source];
    snprintf(r->facts, sizeof r->facts, "%s", kg__dataset_checksum(&r->source->dataset).text);
    r->subject = r->facts;
    if (request->train != NULL) {
        KG_TRY(find_planned(&r->task, runner, request, error));
        if (r->task->run.state != EXPERIMENT_FINISHED)
            return KG_OK;
        run = r->task->run.name.text;
        r->subject = json_string_value(json_object_get(r->task->run.record, "model"));
    }
    return make_result_place(&r->path, runner, request->data, run, eval.text, error);
}

/* The stored metrics, or NULL if there are none of this subject; they can be made again. */
static kg_status load(json_t **out, const struct result *r, kg_error *error) {
    struct stat about;
    *out = NULL;
    if (stat(r->path, &about) != 0)
        return errno == ENOENT ? KG_OK : kg__fail_errno(error, r->path, "look at it");
    kg_input *input = NULL;
    json_t *stored = NULL;
    KG_TRY(kg__input_open(&input, r->path, KG_PLAIN, error));
    kg_status status = kg__json_read(&stored, input, error);
    kg__input_close(input);
    if (status == KG_BAD_INPUT)
        return KG_OK;
    KG_TRY(status);
    const char *subject = json_string_value(json_object_get(stored, "subject"));
    json_t *metrics = json_object_get(stored, "metrics");
    if (subject != NULL && r->subject != NULL && strcmp(subject, r->subject) == 0 &&
        json_is_number(json_object_get(metrics, "mrr")))
        *out = json_incref(metrics);
    json_decref(stored);
    return KG_OK;
}

static kg_status store(const struct result *r, json_t *metrics, kg_error *error) {
    json_t *stored =
        json_pack("{ss ss sO}", "version", kg_version(), "subject", r->subject, "metrics", metrics);
    kg_status status =
        stored == NULL ? kg__fail_memory(error) : experiment_result_write(r->path, stored, error);
    json_decref(stored);
    return status;
}

/* ---- The plan ---- */

/* What is not there yet can only be made with the model. */
static kg_status plan_result(experiment_runner *runner, const experiment_request *request,
                             kg_error *error) {
    struct result r = {0};
    json_t *metrics = NULL;
    kg_status status = open_result(&r, runner, request, error);
    if (status == KG_OK && r.path != NULL)
        status = load(&metrics, &r, error);
    if (status == KG_OK && metrics == NULL && r.task != NULL)
        experiment_run_need_model(&r.task->run);
    json_decref(metrics);
    kg__free(r.path);
    return status;
}

/* What is evaluated by the request, if it is. */
static kg_status check_evaluation(experiment_runner *runner, const experiment_request *request,
                                  const struct task *task, kg_error *error) {
    experiment_eval_options eval;
    experiment_run_name name;
    size_t source = 0;
    KG_TRY(runner->options.parser->read_evaluation(&eval, &name, request, runner->options.threads,
                                                   error));
    if (experiment_eval_needs_model(&eval) != (request->train != NULL))
        return kg_fail(error, KG_BAD_INPUT,
                       "expected options of kgraft train, unless what is evaluated is a baseline "
                       "that counts facts; found %s",
                       request->train == NULL ? "none" : "some");
    KG_TRY(find_source(&source, runner, request->data, error));
    return experiment_eval_check(&eval, task->run.options.scoring, runner->sources[source].path,
                                 &runner->sources[source].dataset, error);
}

/* Checks a request; `task` is what it trains, and has to be closed also if this failed. */
static kg_status check(struct task *task, experiment_runner *runner,
                       const experiment_request *request, kg_error *error) {
    if (request->train != NULL) {
        KG_TRY(open_task(task, runner, request, error));
        const experiment_run *run = &task->run;
        if (!kg__train_validates(&run->options, &runner->sources[task->source].dataset) ||
            run->options.epochs == 0)
            return kg_fail(error, KG_BAD_INPUT,
                           "expected runs that are validated, found %s without validation",
                           run->name.text);
    }
    return request->eval == NULL ? KG_OK : check_evaluation(runner, request, task, error);
}

kg_status experiment_runner_check(experiment_runner *runner, const experiment_request *request,
                                  kg_error *error) {
    struct task task = {0};
    kg_status status = check(&task, runner, request, error);
    experiment_run_close(&task.run);
    return status;
}

kg_status experiment_runner_plan(experiment_runner *runner, const experiment_request *request,
                                 kg_error *error) {
    struct task task = {0};
    kg_status status = check(&task, runner, request, error);
    if (status == KG_OK && request->train != NULL && find_task(runner, &task) == NULL)
        status = add_task(runner, &task, error);
    if (status == KG_OK && request->eval != NULL)
        status = plan_result(runner, request, error);
    experiment_run_close(&task.run);
    return status;
}

kg_status experiment_runner_run(const experiment_run **out, experiment_runner *runner,
                                const experiment_request *request, kg_error *error) {
    struct task *task = NULL;
    KG_TRY(find_planned(&task, runner, request, error));
    *out = &task->run;
    return KG_OK;
}

kg_status experiment_runner_options_of(kg_train_options *out, experiment_runner *runner,
                                       const experiment_request *request, kg_error *error) {
    struct task task = {0};
    kg_status status = open_task(&task, runner, request, error);
    if (status == KG_OK)
        *out = task.run.options;
    experiment_run_close(&task.run);
    return status;
}

/* ---- Training ---- */

static void print_line(const experiment_runner *runner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print_line(const experiment_runner *runner, const char *format, ...) {
    char line[KG_ERROR_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is started in the line above */
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    runner->options.print_line(runner->options.payload, line);
}

static kg_status ensure_parent(const char *path, kg_error *error) {
    char *folder = kg__path_parent(path);
    kg_status status =
        folder == NULL ? kg__fail_memory(error) : kg__folder_ensure_all(folder, error);
    kg__free(folder);
    return status;
}

static kg_status tell_end(void *payload, const experiment_job *job, kg_status status,
                          kg_error *error) {
    experiment_runner *runner = payload;
    const experiment_run *run = job->run;
    (void)error;
    if (status == KG_CANCELLED && !runner->was_stopped)
        print_line(runner, "stopped in run %zu of %zu: the same command resumes it",
                   job->number + 1, runner->task_count);
    else if (run->state == EXPERIMENT_FAILED)
        print_line(runner, "%s: failed: %s", run->path, run->failure);
    else if (status == KG_OK)
        print_line(runner, "%s: epoch %ju of %ju is the best: validation MRR %.4f, %.1f s",
                   run->path, (uintmax_t)run->best.number, (uintmax_t)run->epochs,
                   run->best.valid.mrr, run->seconds);
    runner->was_stopped |= status == KG_CANCELLED;
    return KG_OK;
}

/* The tasks that are not done; their folders are made. */
static kg_status list_jobs(experiment_job *jobs, size_t *count, experiment_runner *runner,
                           kg_error *error) {
    *count = 0;
    for (size_t i = 0; i < runner->task_count; i++) {
        struct task *task = &runner->tasks[i];
        if (task->run.state != EXPERIMENT_WAITING)
            continue;
        jobs[(*count)++] = (experiment_job){&task->run, &runner->sources[task->source].dataset, i};
        KG_TRY(ensure_parent(task->run.path, error));
    }
    return KG_OK;
}

kg_status experiment_runner_train(experiment_runner *runner, kg_error *error) {
    size_t waiting = 0;
    experiment_job *jobs = kg__alloc(runner->task_count, sizeof *jobs);
    experiment_runs_options options = {.stage = "reproducing",
                                       .progress = runner->options.progress,
                                       .run_count = runner->task_count,
                                       .threads = runner->options.threads,
                                       .at_once = runner->options.at_once,
                                       .on_end = tell_end,
                                       .payload = runner};
    kg_status status = jobs == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK)
        status = list_jobs(jobs, &waiting, runner, error);
    if (status == KG_OK && runner->task_count > 0)
        print_line(runner, "%zu run%s, %zu done before", runner->task_count,
                   runner->task_count == 1 ? "" : "s", runner->task_count - waiting);
    if (status == KG_OK)
        status = experiment_runs_train(jobs, waiting, &options, error);
    kg__free(jobs);
    return status;
}

/* ---- Evaluating ---- */

static kg_status evaluate(const struct result *r, const experiment_runner *runner,
                          kg_error *error) {
    const char *model = r->task == NULL ? NULL : r->task->run.path;
    experiment_evaluation evaluation = {0};
    json_t *metrics = NULL;
    kg_status status = KG_OK;
    KG_CHECK(experiment_evaluation_open(&evaluation, &r->eval, model, error));
    KG_CHECK(experiment_evaluation_run(&evaluation, &r->source->dataset, r->source->path,
                                       runner->options.progress, error));
    metrics = experiment_evaluation_json(&evaluation);
    if (metrics == NULL) {
        status = kg__fail_memory(error);
        goto done;
    }
    json_object_del(metrics, "by_relation"); /* hundreds of rows that no table shows */
    status = store(r, metrics, error);
done:
    json_decref(metrics);
    experiment_evaluation_close(&evaluation);
    return status;
}

/* Read from the file also the first time, so that the digits are the same every time. */
static kg_status load_or_evaluate(json_t **out, const struct result *r,
                                  const experiment_runner *runner, kg_error *error) {
    KG_TRY(load(out, r, error));
    if (*out != NULL)
        return KG_OK;
    KG_TRY(evaluate(r, runner, error));
    KG_TRY(load(out, r, error));
    if (*out != NULL)
        return KG_OK;
    return kg_fail_at(error, r->path, 0, 0,
                      "expected the result that was just written, found that it is gone");
}

static kg_status add_run(json_t *metrics, const struct result *r, const experiment_request *request,
                         kg_error *error) {
    const experiment_run *run = r->task == NULL ? NULL : &r->task->run;
    json_t *about = NULL;
    if (run == NULL)
        about = json_pack("{sI}", "seed", (json_int_t)request->seed);
    else if (run->state == EXPERIMENT_FAILED)
        about = json_pack("{sI ss so}", "seed", (json_int_t)request->seed, "run", run->name.text,
                          "failure", kg__json_text(run->failure, strlen(run->failure)));
    else
        about = json_pack("{sI ss sI sI sf sf}", "seed", (json_int_t)request->seed, "run",
                          run->name.text, "epochs", (json_int_t)run->epochs, "best_epoch",
                          (json_int_t)run->best.number, "valid_mrr", run->best.valid.mrr, "seconds",
                          run->seconds);
    if (run != NULL && run->state == EXPERIMENT_FINISHED && run->memory > 0 &&
        json_object_set_new(about, "megabytes", json_real((double)run->memory / 1e6)) != 0) {
        json_decref(about);
        about = NULL;
    }
    bool good = about != NULL && json_object_update(metrics, about) == 0;
    json_decref(about);
    return good ? KG_OK : kg__fail_memory(error);
}

kg_status experiment_runner_evaluate(json_t **out, experiment_runner *runner,
                                     const experiment_request *request, kg_error *error) {
    struct result r = {0};
    json_t *metrics = NULL;
    kg_status status = KG_OK;
    KG_CHECK(open_result(&r, runner, request, error));
    if (r.path == NULL) /* the run failed */
        metrics = json_object();
    else
        KG_CHECK(load_or_evaluate(&metrics, &r, runner, error));
    KG_CHECK(add_run(metrics, &r, request, error));
    *out = json_incref(metrics);
done:
    json_decref(metrics);
    kg__free(r.path);
    return status;
}
