/* What a run leaves behind. */
#include "train/fit.h"

#include "base/cpu_name.h"
#include "base/memory.h"
#include "base/peak_memory.h"
#include "base/progress.h"
#include "graph/dataset_folder.h"
#include "math/linear.h"
#include "rank/calibrate.h"
#include "train/checkpoint.h"
#include "train/hold_out.h"
#include "train/training_folder.h"

/* A run on its way. */
struct job {
    const kg_fit_options *run;
    kg_train_options options;
    kg_held_out held;
    kg_training_folder folder;
    kg_fit_result result;
    json_t *history;            /* the epochs that there were to choose from */
    kg_calibration calibration; /* of the relations of the model that there will be */
};

/* A training of it. */
struct phase {
    const char *name; /* NULL: the only one */
    const kg_dataset *dataset;
    kg_train_options options;
    bool is_first; /* of this process: it goes on from the checkpoint that there may be */
    kg_trainer *trainer;
    double preparing; /* seconds */
};

static void close_job(struct job *job) {
    kg__held_out_close(&job->held);
    kg__training_folder_close(&job->folder);
    json_decref(job->history);
    kg__calibration_free(&job->calibration);
}

/* ---- What was chosen ---- */

static json_t *list_epochs(const kg_trainer *trainer) {
    size_t count = 0;
    const kg_epoch *history = kg__trainer_history(trainer, &count);
    json_t *epochs = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(epochs, kg__epoch_json(&history[i])) != 0) {
            json_decref(epochs);
            return NULL;
        }
    return epochs;
}

static kg_status keep_result(struct job *job, const kg_trainer *trainer, kg_error *error) {
    const kg_epoch *history = kg__trainer_history(trainer, &job->result.epochs);
    uint64_t best = kg__trainer_best_epoch(trainer);
    if (best > 0 && best <= job->result.epochs)
        job->result.best = history[best - 1];
    job->history = list_epochs(trainer);
    return job->history == NULL ? kg__fail_memory(error) : KG_OK;
}

/* By the validation part of the phase, for the relations of the model that there will be. */
static kg_status calibrate(struct job *job, const struct phase *phase, kg_error *error) {
    kg_params params = kg__trainer_result(phase->trainer);
    kg_calibration *calibration = &job->calibration;
    const kg_dataset *target = job->result.is_refit ? job->run->dataset : phase->dataset;
    kg_calibrate_options options = {.aggregate = phase->options.aggregate,
                                    .threads = (size_t)phase->options.threads,
                                    .progress = job->run->watcher->progress};
    KG_TRY(kg__calibrate(calibration, &params, phase->dataset, &options, error));
    if (calibration->lines == NULL || target == phase->dataset)
        return KG_OK;
    real *ordered = kg__resize(NULL, 4 * target->in_sample_relations, sizeof *ordered);
    if (ordered == NULL)
        return kg__fail_memory(error);
    kg__calibration_reorder(ordered, &target->relations, target->in_sample_relations, calibration,
                            phase->dataset);
    kg__free(calibration->lines);
    calibration->lines = ordered;
    return KG_OK;
}

/* ---- From one phase to the next ---- */

/* What the checkpoints of a refit carry, since it is all that is left of the phase before. */
static json_t *pack_chosen(const struct job *job) {
    const real *lines = job->calibration.lines;
    size_t count = lines == NULL ? 0 : 4 * job->run->dataset->in_sample_relations;
    json_t *numbers = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(numbers, json_real((double)lines[i])) != 0) {
            json_decref(numbers);
            return NULL;
        }
    return json_pack("{sI sI sO so sO*}", "of_epochs", (json_int_t)job->options.epochs,
                     "best_epoch", (json_int_t)job->result.best.number, "history", job->history,
                     "lines", numbers, KG_CALIBRATION_KEY, job->calibration.about);
}

static kg_status unpack_calibration(struct job *job, const json_t *chosen, kg_error *error) {
    const json_t *numbers = json_object_get(chosen, "lines");
    size_t count = 4 * job->run->dataset->in_sample_relations;
    if (json_array_size(numbers) == 0)
        return KG_OK;
    if (json_array_size(numbers) != count)
        return kg_fail_at(error, job->folder.start, 0, 0,
                          "expected the data set that the run was started with, found another");
    job->calibration.about = json_incref(json_object_get(chosen, KG_CALIBRATION_KEY));
    job->calibration.lines = kg__resize(NULL, count, sizeof *job->calibration.lines);
    if (job->calibration.lines == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        job->calibration.lines[i] = (real)json_number_value(json_array_get(numbers, i));
    return KG_OK;
}

static kg_status unpack_chosen(struct job *job, const json_t *chosen, kg_error *error) {
    json_t *history = json_object_get(chosen, "history");
    json_int_t asked = json_integer_value(json_object_get(chosen, "of_epochs"));
    json_int_t best = json_integer_value(json_object_get(chosen, "best_epoch"));
    size_t count = json_array_size(history);
    if (best < 0 || (size_t)best > count)
        return kg_fail_at(error, job->folder.start, 0, 0,
                          "expected a checkpoint, found numbers that do not fit");
    if (asked < 0 || (uint64_t)asked != job->options.epochs)
        return kg_fail_at(error, job->folder.start, 0, 0,
                          "expected epochs %jd, out of which %jd were chosen for training on "
                          "everything, found %ju",
                          (intmax_t)asked, (intmax_t)best, (uintmax_t)job->options.epochs);
    if (!job->result.is_refit)
        return kg_fail_at(error, job->folder.start, 0, 0,
                          "expected to go on with training on everything, which the run has begun, "
                          "found no-refit");
    if (best > 0)
        kg__epoch_read(&job->result.best, json_array_get(history, (size_t)best - 1));
    job->result.epochs = count;
    job->history = json_incref(history);
    return unpack_calibration(job, chosen, error);
}

/* ---- Training ---- */

static kg_status train(struct phase *phase, const struct job *job, json_t *carried,
                       kg_error *error) {
    kg_train_watcher watcher = *job->run->watcher;
    double started = kg__seconds();
    watcher.phase = phase->name;
    KG_TRY(kg__trainer_open(&phase->trainer, &phase->options, phase->dataset, watcher.progress,
                            error));
    phase->preparing = kg__seconds() - started;
    kg__trainer_carry(phase->trainer, json_incref(carried));
    if (phase->is_first && job->folder.start != NULL)
        KG_TRY(kg__checkpoint_read(phase->trainer, job->folder.start, error));
    if (phase->is_first)
        KG_TRY(kg__training_folder_clear(&job->folder, error));
    return kg__trainer_run(phase->trainer, job->folder.checkpoint, &watcher, error);
}

/* Chooses the epoch and calibrates. */
static kg_status choose(struct phase *phase, struct job *job, kg_error *error) {
    bool is_held = job->held.share > 0;
    phase->name = is_held ? "hold-out" : NULL;
    phase->dataset = is_held ? &job->held.dataset : job->run->dataset;
    phase->options = job->options;
    phase->is_first = true;
    KG_TRY(train(phase, job, NULL, error));
    KG_TRY(keep_result(job, phase->trainer, error));
    return calibrate(job, phase, error);
}

/* Trains on everything. */
static kg_status refit(struct phase *phase, struct job *job, bool is_first, kg_error *error) {
    kg__trainer_close(phase->trainer);
    *phase = (struct phase){.name = "refit",
                            .dataset = job->run->dataset,
                            .options = job->options,
                            .is_first = is_first};
    phase->options.rate_epochs = job->options.epochs;
    phase->options.epochs = job->result.best.number;
    kg__held_out_close(&job->held);
    json_t *chosen = pack_chosen(job);
    kg_status status = chosen == NULL ? kg__fail_memory(error) : train(phase, job, chosen, error);
    json_decref(chosen);
    return status;
}

/* ---- The model ---- */

json_t *kg__fit_hold_out_json(const kg_fit_result *result) {
    json_t *valid = result->best.is_validated ? kg__metrics_json(&result->best.valid) : NULL;
    return json_pack("{sf sI sI sb sI sI so*}", "share", result->share, "entities",
                     (json_int_t)result->held_entities, "facts", (json_int_t)result->held_facts,
                     "refit", result->is_refit, "epochs", (json_int_t)result->epochs, "best_epoch",
                     (json_int_t)result->best.number, "valid", valid);
}

/* The epochs that a refit was chosen by are not its own. */
static kg_status describe_hold_out(json_t *config, const struct job *job, kg_error *error) {
    json_t *about = kg__fit_hold_out_json(&job->result);
    bool good = json_object_set_new(config, "hold_out", about) == 0;
    if (job->result.is_refit)
        good = json_object_set(about, "history", job->history) == 0 && good;
    return good ? KG_OK : kg__fail_memory(error);
}

static json_t *make_config(const struct phase *phase, const struct job *job) {
    const kg_train_options *chosen = &job->options;
    const kg_dataset *dataset = phase->dataset;
    size_t count = 0;
    kg__trainer_history(phase->trainer, &count);
    /* What was asked for: patience may have ended it sooner. */
    json_t *settings = kg__train_settings(chosen);
    if (json_object_set_new(settings, "epochs", json_integer((json_int_t)chosen->epochs)) != 0) {
        json_decref(settings);
        return NULL;
    }
    char processor[KG_PROCESSOR_MAX];
    json_t *machine = json_pack("{ss ss ss sI sf sI}", "processor", kg__processor_name(processor),
                                "kernels", kg__linear_kernels(), "blas", kg__linear_blas(),
                                "threads", (json_int_t)chosen->threads, "preparing",
                                phase->preparing, "memory", (json_int_t)kg__peak_memory());
    return json_pack("{ss si sI sI ss so sI sI so so sO so}", "version", kg_version(),
                     "kgraft_model", 0, "entities", (json_int_t)kg__dataset_in_sample(dataset),
                     "relations", (json_int_t)dataset->in_sample_relations, "preset",
                     kg__preset_names[chosen->preset], "settings", settings, "epochs",
                     (json_int_t)count, "best_epoch",
                     (json_int_t)kg__trainer_best_epoch(phase->trainer), "machine", machine,
                     "dataset", json_pack("{ss}", "checksum", kg__dataset_checksum(dataset).text),
                     "data", dataset->history, "history", list_epochs(phase->trainer));
}

static kg_status save(const struct phase *phase, struct job *job, kg_error *error) {
    kg_params params = kg__trainer_result(phase->trainer);
    json_t *config = make_config(phase, job);
    kg_status status = config == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK && job->result.share > 0)
        status = describe_hold_out(config, job, error);
    if (status == KG_OK && job->calibration.about != NULL &&
        json_object_set(config, KG_CALIBRATION_KEY, job->calibration.about) != 0)
        status = kg__fail_memory(error);
    if (status == KG_OK) {
        kg_model_parts parts = {&params, phase->dataset, job->calibration.lines, config};
        status = kg__training_folder_finish(&job->folder, &parts, error);
    }
    json_decref(config);
    return status;
}

/* ---- All of it ---- */

/* What the checkpoint to go on from carries, if it is that of a refit. */
static kg_status look_back(json_t **out, const struct job *job, kg_error *error) {
    *out = NULL;
    if (job->folder.start == NULL || job->result.share == 0)
        return KG_OK;
    return kg__checkpoint_carried(out, job->folder.start, error);
}

static kg_status run_job(struct job *job, kg_error *error) {
    struct phase phase = {0};
    json_t *chosen = NULL;
    kg_status status = KG_OK;
    KG_CHECK(look_back(&chosen, job, error));
    if (chosen != NULL)
        KG_CHECK(unpack_chosen(job, chosen, error));
    else
        KG_CHECK(choose(&phase, job, error));
    if (job->result.is_refit)
        KG_CHECK(refit(&phase, job, chosen != NULL, error));
    status = save(&phase, job, error);
done:
    json_decref(chosen);
    kg__trainer_close(phase.trainer);
    return status;
}

static kg_status open_job(struct job *job, kg_error *error) {
    const kg_fit_options *run = job->run;
    KG_TRY(kg__train_check(&job->options, error));
    KG_TRY(kg__hold_out(&job->held, run->dataset, run->hold_out, job->options.seed, error));
    job->options.hold_out = job->held.share;
    job->result = (kg_fit_result){.share = job->held.share,
                                  .held_entities = job->held.entities,
                                  .held_facts = job->held.facts,
                                  .is_refit = job->held.share > 0 && run->refit};
    return kg__training_folder_open(&job->folder, run->path, run->resume, run->force, error);
}

kg_status kg__fit(kg_fit_result *out, const kg_fit_options *run, kg_error *error) {
    struct job job = {.run = run, .options = *run->options, .folder.lock = -1};
    kg_status status = open_job(&job, error);
    if (status == KG_OK)
        status = run_job(&job, error);
    *out = job.result;
    close_job(&job);
    return status;
}
