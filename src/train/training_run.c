/* Train, calibrate, refit on everything, and write the model directory. */
#include "train/training_run.h"

#include <string.h>

#include "base/cpu_name.h"
#include "base/memory.h"
#include "base/memory_limit.h"
#include "base/peak_memory.h"
#include "graph/dataset_folder.h"
#include "math/linalg.h"
#include "rank/calibrate.h"
#include "train/checkpoint.h"
#include "train/gathered_rows.h"
#include "train/hold_out.h"
#include "train/training_folder.h"

/* The state of a run. */
struct job {
    const kg_training_run_options *run;
    kg_train_options settings; /* of the model */
    kg_train_options options;  /* of the run: others if it has a warm start */
    kg_held_out held;
    kg_training_folder folder;
    kg_training_run_result result;
    kg_memory_needs needs;
    json_t *choice; /* the epochs that there were to choose from, the best, the calibration for the
                     * relations of the model that there will be; checkpoints of a refit carry it,
                     * since it is all that is left of the training before */
    /* The training at hand: */
    bool has_begun;
    const kg_dataset *dataset;
    kg_trainer *runs[KG_RUNS]; /* NULL: there is no such run */
    kg_params joint;           /* what the first has come to */
    kg_gathered_rows rows;     /* of entities, where several ranks have them; of the first rank */
    double preparing;          /* seconds */
    uint64_t peak_memory;      /* of a rank, the largest */
    bool takes_over;           /* propagation, of the model that it starts with */
    /* After a refit or a warm start: propagation, on the graph of everything. */
    kg_adjacency graph; /* empty: that of the first run is used */
    kg_params moved;
};

static void close_job(struct job *job) {
    kg__params_close_moved(&job->moved);
    kg__adjacency_free(&job->graph);
    kg__gathered_rows_close(&job->rows);
    for (size_t i = KG_RUNS; i > 0; i--)
        kg__trainer_close(job->runs[i - 1]);
    kg__held_out_close(&job->held);
    kg__training_folder_close(&job->folder);
    json_decref(job->choice);
}

/* The run whose epochs are chosen from, and the one that has all parameters; NULL if nothing is
 * trained. */
static kg_trainer *first_run(const struct job *job) {
    return job->runs[job->runs[KG_JOINT_RUN] != NULL ? KG_JOINT_RUN : KG_APART_RUN];
}

static kg_trainer *last_run(const struct job *job) {
    return job->runs[job->runs[KG_APART_RUN] != NULL ? KG_APART_RUN : KG_JOINT_RUN];
}

static bool trains_apart(const struct job *job) {
    return kg__train_has_apart(&job->options) && !job->takes_over;
}

static uint64_t best_epoch(const struct job *job) {
    return first_run(job) == NULL ? 0 : kg__trainer_best_epoch(first_run(job));
}

static json_t *history_of(const kg_trainer *trainer) {
    return kg__history_json(trainer->history, trainer->history_count);
}

static json_t *first_history(const struct job *job) {
    return first_run(job) == NULL ? json_array() : history_of(first_run(job));
}

/* Opens a run that goes on from a checkpoint, unless that is NULL. */
static kg_status open_run(struct job *job, size_t number, const char *start,
                          const kg_dataset *dataset, const kg_train_options *options,
                          kg_error *error) {
    const kg_params *beside = NULL;
    kg_trainer *opened = NULL;
    double started = kg__seconds();
    if (number == KG_APART_RUN && job->runs[KG_JOINT_RUN] != NULL) {
        job->joint = kg__trainer_params(job->runs[KG_JOINT_RUN]);
        beside = &job->joint;
    }
    KG_TRY(kg__trainer_open(&opened, options, dataset, beside, error));
    job->runs[number] = opened;
    opened->carried = json_incref(job->choice);
    opened->folder = job->folder.checkpoints[number];
    if (beside != NULL)
        opened->rows = job->runs[KG_JOINT_RUN]->rows;
    if (start != NULL)
        KG_TRY(kg__checkpoint_read(opened, start, error));
    else if (job->run->start != NULL)
        KG_TRY(kg__warm_start(opened, job->run->start, error));
    job->preparing += kg__seconds() - started;
    return KG_OK;
}

/* All have read their checkpoints before the first rank replaces any. */
static kg_status open_runs_together(struct job *job, size_t number, const char *start,
                                    const kg_dataset *dataset, const kg_train_options *options,
                                    kg_error *error) {
    kg_status status = open_run(job, number, start, dataset, options, error);
    kg_status agreed = kg__ranks_agree(job->options.ranks, status, error);
    return status == KG_OK || agreed != KG_OK ? agreed : status; /* OK only if it was opened here */
}

/* The first training of this process goes on from the checkpoints that there may be. */
static kg_status train(struct job *job, const char *phase, const kg_dataset *dataset,
                       const kg_train_options *options, kg_error *error) {
    bool is_first = !job->has_begun;
    kg_train_options apart = kg__train_apart(options);
    const kg_train_options *of_run[KG_RUNS] = {
        [KG_JOINT_RUN] = kg__train_has_joint(options) ? options : NULL,
        [KG_APART_RUN] = trains_apart(job) ? &apart : NULL,
    };
    kg_train_watcher watcher = *job->run->watcher;
    watcher.phase = phase;
    job->has_begun = true;
    job->dataset = dataset;
    job->preparing = 0;
    for (size_t i = 0; i < KG_RUNS; i++) {
        if (of_run[i] == NULL || job->runs[i] != NULL)
            continue;
        KG_TRY(open_runs_together(job, i, is_first ? job->folder.starts[i] : NULL, dataset,
                                  of_run[i], error));
        uint64_t before = job->runs[i]->epoch;
        KG_TRY(kg__trainer_run(job->runs[i], job->folder.checkpoints[i], &watcher, error));
        kg__trainer_end(job->runs[i]);
        job->result.facts += (job->runs[i]->epoch - before) * dataset->parts[KG_TRAIN].count;
    }
    return KG_OK;
}

/* ---- The choice ---- */

/* Of propagation beside other terms; NULL: there is none. */
static json_t *apart_history(const struct job *job) {
    return first_run(job) == last_run(job) ? NULL : history_of(last_run(job));
}

static json_t *pack_choice(const struct job *job, const real *lines, size_t count, json_t *about) {
    json_t *numbers = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(numbers, json_real((double)lines[i])) != 0)
            return kg__json_complete(numbers, false);
    return json_pack("{sI sI so so* so sO*}", "of_epochs", (json_int_t)job->options.epochs,
                     "best_epoch", (json_int_t)best_epoch(job), "history", first_history(job),
                     KG_APART_HISTORY, apart_history(job), "lines", numbers, KG_CALIBRATION_KEY,
                     about);
}

/* Calibrates by the validation part. */
static kg_status make_choice(struct job *job, kg_error *error) {
    const kg_dataset *target = job->result.is_refit ? job->run->dataset : job->dataset;
    kg_trainer *trainer = last_run(job);
    kg_params params = kg__trainer_params(trainer);
    kg_row_source rows = kg__trainer_rows(trainer);
    kg_calibrate_options options = {.aggregate = job->options.aggregate,
                                    .threads = (size_t)job->options.threads,
                                    .ranks = job->options.ranks,
                                    .rows = trainer->rows == NULL ? NULL : &rows,
                                    .progress = job->run->watcher->progress};
    kg_calibration calibration;
    real *lines = NULL;
    kg_status status = kg__calibrate(&calibration, &params, job->dataset, &options, error);
    status = kg__ranks_agree(job->options.ranks, status, error);
    if (status != KG_OK) {
        kg__calibration_free(&calibration);
        return status;
    }
    if (calibration.lines != NULL)
        lines = kg__calibration_reorder(&target->relations, target->in_sample_relations,
                                        &calibration, job->dataset);
    if (lines != NULL || calibration.lines == NULL)
        job->choice = pack_choice(job, lines, lines == NULL ? 0 : 4 * target->in_sample_relations,
                                  calibration.about);
    kg__free(lines);
    kg__calibration_free(&calibration);
    return job->choice == NULL ? kg__fail_memory(error) : KG_OK;
}

/* Lines of relations that the model does not know are those of a mean one. */
static real *take_lines(const struct job *job) {
    const kg_model *start = job->run->start;
    const kg_names *names = &job->dataset->relations;
    size_t known = 2 * start->relations.count;
    real *lines = kg__resize(NULL, 4 * names->count, sizeof *lines);
    real mean[2] = {0};
    for (size_t i = 0; i < 2 * known; i++)
        mean[i % 2] += start->calibration[i] / (real)known;
    for (size_t i = 0; i < names->count && lines != NULL; i++) {
        kg_id found = kg__names_find(&start->relations, kg__names_hashed(names, (kg_id)i));
        for (size_t k = 0; k < 4; k++)
            lines[4 * i + k] =
                found == KG_NO_ID ? mean[k % 2] : start->calibration[4 * (size_t)found + k];
    }
    return lines;
}

static kg_status take_choice(struct job *job, kg_error *error) {
    const kg_model *start = job->run->start;
    bool has_lines = start->calibration != NULL;
    size_t count = 4 * job->dataset->relations.count;
    real *lines = has_lines ? take_lines(job) : NULL;
    if (lines != NULL || !has_lines)
        job->choice = pack_choice(job, lines, has_lines ? count : 0,
                                  json_object_get(start->config, KG_CALIBRATION_KEY));
    kg__free(lines);
    return job->choice == NULL ? kg__fail_memory(error) : KG_OK;
}

static kg_status choose(struct job *job, kg_error *error) {
    if (job->run->start != NULL) {
        KG_TRY(train(job, NULL, job->run->dataset, &job->options, error));
        return take_choice(job, error);
    }
    if (job->held.share > 0)
        KG_TRY(train(job, "hold-out", &job->held.dataset, &job->options, error));
    else
        KG_TRY(train(job, NULL, job->run->dataset, &job->options, error));
    return make_choice(job, error);
}

/* One that was made by this process or by another one. */
static kg_status read_choice(struct job *job, kg_error *error) {
    const char *path = kg__training_folder_start(&job->folder);
    const json_t *history = json_object_get(job->choice, "history");
    json_int_t asked = json_integer_value(json_object_get(job->choice, "of_epochs"));
    json_int_t best = json_integer_value(json_object_get(job->choice, "best_epoch"));
    size_t lines = json_array_size(json_object_get(job->choice, "lines"));
    job->result.epochs = json_array_size(history);
    if (best < 0 || (size_t)best > job->result.epochs)
        return kg_fail_at(error, path, 0, 0,
                          "expected a checkpoint, found numbers that do not fit");
    if (asked < 0 || (uint64_t)asked != job->options.epochs)
        return kg_fail_at(error, path, 0, 0,
                          "expected epochs %jd, out of which %jd were chosen for training on "
                          "everything, found %ju",
                          (intmax_t)asked, (intmax_t)best, (uintmax_t)job->options.epochs);
    if (!job->has_begun && !job->result.is_refit)
        return kg_fail_at(error, path, 0, 0,
                          "expected to go on with training on everything, which the run has begun, "
                          "found no-refit");
    if (job->result.is_refit && lines != 0 && lines != 4 * job->run->dataset->in_sample_relations)
        return kg_fail_at(error, path, 0, 0,
                          "expected the data set that the run was started with, found another");
    if (best > 0)
        kg__history_best(&job->result.best, history, (uint64_t)best,
                         json_object_get(job->choice, KG_APART_HISTORY));
    return KG_OK;
}

/* A refit that is resumed reads propagation from its last checkpoint, and trains it no further. */
static kg_status reopen_apart(struct job *job, kg_error *error) {
    kg_train_options options = kg__train_apart(&job->options);
    const char *start = job->folder.starts[KG_APART_RUN];
    if (start == NULL)
        return kg_fail_at(error, job->folder.checkpoints[KG_APART_RUN], 0, 0,
                          "expected a checkpoint of propagation, found none");
    KG_TRY(open_runs_together(job, KG_APART_RUN, start, &job->held.dataset, &options, error));
    KG_TRY(kg__trainer_run(job->runs[KG_APART_RUN], job->folder.checkpoints[KG_APART_RUN],
                           job->run->watcher, error));
    kg__trainer_end(job->runs[KG_APART_RUN]);
    return KG_OK;
}

/* Puts propagation, of the run that trained it or of the model that all starts with, where the
 * others are. */
static kg_status move_apart(struct job *job, kg_error *error) {
    const kg_dataset *dataset = job->run->dataset;
    const kg_adjacency *graph = &job->graph;
    kg_trainer *trained = job->runs[KG_APART_RUN];
    kg_params apart = job->takes_over ? job->run->start->params : kg__trainer_own_params(trained);
    if (job->runs[KG_JOINT_RUN] != NULL)
        graph = &job->runs[KG_JOINT_RUN]->candidates;
    else
        KG_TRY(kg__adjacency_make(&job->graph, &dataset->parts[KG_TRAIN],
                                  kg__dataset_in_sample(dataset), KG_WITHOUT_REFLEXIVE, error));
    return kg__params_on_graph(&job->moved, &apart, graph, error);
}

/* Trains on everything, but not propagation: it knows relations, not entities, and those that were
 * held out taught it nothing that the others do not. */
static kg_status refit(struct job *job, kg_error *error) {
    bool has_apart = kg__train_has_apart(&job->options);
    kg_train_options options = job->options;
    options.rate_epochs = job->options.epochs;
    options.epochs = job->result.best.number;
    if (has_apart && job->runs[KG_APART_RUN] == NULL)
        KG_TRY(reopen_apart(job, error));
    kg__trainer_close(job->runs[KG_JOINT_RUN]);
    job->runs[KG_JOINT_RUN] = NULL;
    if (!has_apart) /* whose parameters are still needed, and the data they refer to */
        kg__held_out_close(&job->held);
    KG_TRY(train(job, "refit", job->run->dataset, &options, error));
    return has_apart ? move_apart(job, error) : KG_OK;
}

/* Of the model. */
static kg_params all_params(const struct job *job) {
    if (job->moved.graph == NULL)
        return kg__trainer_params(last_run(job));
    if (job->runs[KG_JOINT_RUN] == NULL)
        return job->moved;
    kg_params all = kg__trainer_params(job->runs[KG_JOINT_RUN]);
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (job->moved.terms[i].counted != NULL)
            all.terms[i] = job->moved.terms[i];
    return all;
}

/* ---- The model ---- */

json_t *kg__training_run_hold_out_json(const kg_training_run_result *result) {
    json_t *valid = result->best.is_validated ? kg__metrics_json(&result->best.valid) : NULL;
    return json_pack("{sf sI sI sb sI sI so*}", "share", result->share, "entities",
                     (json_int_t)result->held_entities, "facts", (json_int_t)result->held_facts,
                     "refit", result->is_refit, "epochs", (json_int_t)result->epochs, "best_epoch",
                     (json_int_t)result->best.number, "valid", valid);
}

/* NULL: it has no warm start. */
static json_t *describe_start(const struct job *job) {
    return job->run->start == NULL ? NULL
                                   : json_pack("{sI sb}", "epochs", (json_int_t)job->options.epochs,
                                               "propagation", job->takes_over);
}

static json_t *make_config(const struct job *job) {
    const kg_train_options *chosen = &job->settings;
    const kg_dataset *dataset = job->dataset;
    json_t *settings = kg__train_settings(chosen);
    char processor[KG_PROCESSOR_MAX];
    /* What was asked for: patience may have ended it sooner. */
    if (json_object_set_new(settings, "epochs", json_integer((json_int_t)chosen->epochs)) != 0)
        return kg__json_complete(settings, false);
    bool is_shared = kg__ranks_many(chosen->ranks);
    json_t *ranks = is_shared ? json_integer((json_int_t)chosen->ranks->count) : NULL;
    json_t *memory = job->run->is_beside_others ? NULL : json_integer((json_int_t)job->peak_memory);
    json_t *machine =
        json_pack("{ss ss ss sI so* sf so* so}", "processor", kg__processor_name(processor),
                  "kernels", kg__linear_kernels(), "blas", kg__linear_blas(), "threads",
                  (json_int_t)chosen->threads, "ranks", ranks, "preparing", job->preparing,
                  "memory", memory, "needs", kg__memory_json(&job->needs));
    return json_pack("{ss si sI sI ss so sI sI so so sO so so* so*}", "version", kg_version(),
                     "kgraft_model", 0, "entities", (json_int_t)kg__dataset_in_sample(dataset),
                     "relations", (json_int_t)dataset->in_sample_relations, "preset",
                     kg__preset_names[chosen->preset], "settings", settings, "epochs",
                     (json_int_t)(first_run(job) == NULL ? 0 : first_run(job)->history_count),
                     "best_epoch", (json_int_t)best_epoch(job), "machine", machine, "dataset",
                     json_pack("{ss}", "checksum", kg__dataset_checksum(dataset).text), "data",
                     dataset->history, "history", first_history(job), KG_APART_HISTORY,
                     apart_history(job), "warm_start", describe_start(job));
}

/* Adds what the choice was about. The epochs that a refit was chosen by are not its own. */
static bool describe_choice(json_t *config, const struct job *job) {
    json_t *about = json_object_get(job->choice, KG_CALIBRATION_KEY);
    json_t *held = job->result.share > 0 ? kg__training_run_hold_out_json(&job->result) : NULL;
    bool good = config != NULL;
    if (job->result.share > 0)
        good = json_object_set_new(config, "hold_out", held) == 0 && good;
    if (job->result.is_refit)
        good =
            good && json_object_set(held, "history", json_object_get(job->choice, "history")) == 0;
    return good && (about == NULL || json_object_set(config, KG_CALIBRATION_KEY, about) == 0);
}

/* The first rank gets the rows of all, to write them. */
static kg_status gather_rows(struct job *job, kg_error *error) {
    const kg_trainer *t = job->runs[KG_JOINT_RUN];
    if (t == NULL || t->rows == NULL)
        return KG_OK;
    const kg_param *p = &t->list.items[KG_PARAM_ENTITIES];
    kg_row_table values = {.param = p, .numbers = p->values, .columns = p->columns};
    return kg__gathered_rows_make(&job->rows, job->options.ranks, &values, 1, t->folder, error);
}

/* Of that rank which has taken most. */
static kg_status measure_memory(struct job *job, kg_error *error) {
    kg_ranks *ranks = job->options.ranks;
    uint64_t *peaks = kg__alloc(kg__ranks_count(ranks), sizeof *peaks);
    if (peaks == NULL)
        return kg__fail_memory(error);
    peaks[kg__ranks_number(ranks)] = kg__peak_memory();
    kg__ranks_gather(ranks, peaks, sizeof *peaks);
    for (size_t i = 0; i < kg__ranks_count(ranks); i++)
        job->peak_memory = peaks[i] > job->peak_memory ? peaks[i] : job->peak_memory;
    kg__free(peaks);
    return KG_OK;
}

static kg_status save(struct job *job, kg_error *error) {
    const json_t *numbers = json_object_get(job->choice, "lines");
    size_t count = json_array_size(numbers);
    real *lines = kg__alloc(count, sizeof *lines);
    kg_params params = all_params(job);
    json_t *config = make_config(job);
    kg_model_parts parts = {&params, job->dataset, count == 0 ? NULL : lines, config,
                            &job->rows.mapping};
    if (job->rows.mapping.bytes != NULL)
        params.entities = (const real *)(const void *)job->rows.mapping.bytes;
    bool good = lines != NULL && describe_choice(config, job);
    for (size_t i = 0; i < count && good; i++)
        lines[i] = (real)json_number_value(json_array_get(numbers, i));
    kg_status status =
        good ? kg__training_folder_finish(&job->folder, &parts, error) : kg__fail_memory(error);
    json_decref(config);
    kg__free(lines);
    return status;
}

/* ---- Ranks ---- */

/* The folder is the first rank's; others look at what the run goes on from. */
static kg_status open_folder(struct job *job, kg_error *error) {
    const kg_training_run_options *run = job->run;
    kg_ranks *ranks = job->options.ranks;
    kg_training_folder *folder = &job->folder;
    kg_status status = KG_OK;
    if (kg__ranks_first(ranks))
        status = kg__training_folder_open(folder, run->path, run->resume, run->force, error);
    KG_TRY(kg__ranks_agree(ranks, status, error));
    if (kg__ranks_first(ranks))
        return KG_OK;
    KG_TRY(kg__training_folder_find(folder, run->path, error));
    for (size_t i = 0; i < KG_RUNS && !run->resume; i++)
        folder->starts[i] = NULL;
    return KG_OK;
}

static kg_status clear_folder(const struct job *job, kg_error *error) {
    return kg__ranks_first(job->options.ranks) ? kg__training_folder_clear(&job->folder, error)
                                               : KG_OK;
}

/* Results depend on the kernels of the processor, so that ranks must have the same. */
static kg_status check_kernels(kg_ranks *ranks, kg_error *error) {
    enum { NAME = 64 };
    char(*names)[NAME] = kg__alloc(ranks->count, sizeof *names);
    kg_status status = KG_OK;
    if (names == NULL)
        return kg__fail_memory(error);
    snprintf(names[ranks->number], NAME, "%s", kg__linear_kernels());
    kg__ranks_gather(ranks, names, sizeof *names);
    for (size_t i = 1; i < ranks->count && status == KG_OK; i++)
        if (strcmp(names[i], names[0]) != 0)
            status = kg_fail(error, KG_BAD_INPUT,
                             "expected ranks with the same type of processor, found %s and %s",
                             names[0], names[i]);
    kg__free(names);
    return status;
}

static kg_status check_ranks(const struct job *job, kg_error *error) {
    kg_ranks *ranks = job->options.ranks;
    if (!kg__ranks_many(ranks))
        return KG_OK;
    if (ranks->count > KG_SHARDS)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected at most %d ranks, which is how many shards a batch has, found %zu",
                       KG_SHARDS, ranks->count);
    if (job->options.scoring->is_encoded)
        return kg_fail(error, KG_BAD_INPUT,
                       "`model`: expected one whose entities have rows that ranks can share, found "
                       "%s, whose encoder passes over the whole graph in each step",
                       job->options.scoring->name);
    return check_kernels(ranks, error);
}

/* ---- All of it ---- */

/* Says what will be needed, also if that is too much. */
static kg_status check_memory(struct job *job, kg_error *error) {
    const kg_training_run_options *run = job->run;
    bool holds_out = run->start == NULL && run->hold_out != 0 && !kg__has_validation(run->dataset);
    kg_memory_counts counts = kg__memory_counts(run->dataset, holds_out);
    job->needs = kg__training_memory(&job->options, &counts);
    if (run->watcher->on_start != NULL)
        run->watcher->on_start(run->watcher->payload, &job->needs);
    double limit = (double)kg__memory_limit() / (double)kg__ranks_beside(job->options.ranks);
    return kg__training_memory_check(&job->needs, limit, &job->options, &counts, error);
}

static kg_status run_job(struct job *job, kg_error *error) {
    const kg_training_run_options *run = job->run;
    KG_TRY(kg__train_check(&job->settings, error));
    kg__train_choose_epochs(&job->settings, run->dataset->parts[KG_TRAIN].count);
    job->options = job->settings;
    KG_TRY(check_ranks(job, error));
    if (run->start != NULL) {
        job->options = kg__warm_options(&job->settings, run->warm_epochs);
        job->takes_over =
            kg__train_has_apart(&job->options) && kg__warm_propagation(run->start, run->dataset);
    }
    if (kg__dataset_has_graph(run->dataset))
        KG_TRY(kg__train_check_moving(&job->options, error));
    KG_TRY(kg__ranks_agree(job->options.ranks, check_memory(job, error), error));
    KG_TRY(kg__hold_out(&job->held, run->dataset, run->hold_out, job->options.seed, error));
    job->settings.hold_out = job->options.hold_out = job->held.share;
    job->result = (kg_training_run_result){.share = job->held.share,
                                           .held_entities = job->held.entities,
                                           .held_facts = job->held.facts,
                                           .is_refit = job->held.share > 0 && run->refit};
    KG_TRY(open_folder(job, error));
    const char *start = kg__training_folder_start(&job->folder);
    if (start != NULL && job->held.share > 0)
        KG_TRY(kg__checkpoint_carried(&job->choice, start, error));
    KG_TRY(kg__ranks_agree(job->options.ranks, clear_folder(job, error), error));
    if (job->choice == NULL)
        KG_TRY(choose(job, error));
    KG_TRY(read_choice(job, error));
    if (job->result.is_refit)
        KG_TRY(refit(job, error));
    if (job->takes_over)
        KG_TRY(move_apart(job, error));
    KG_TRY(gather_rows(job, error));
    KG_TRY(measure_memory(job, error));
    return kg__ranks_agree(job->options.ranks,
                           kg__ranks_first(job->options.ranks) ? save(job, error) : KG_OK, error);
}

kg_status kg__training_run(kg_training_run_result *out, const kg_training_run_options *run,
                           kg_error *error) {
    struct job job = {.run = run, .settings = *run->options, .folder.lock = -1};
    kg_status status = run_job(&job, error);
    *out = job.result;
    close_job(&job);
    return status;
}
