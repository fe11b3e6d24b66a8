/* The state of runs, read from and written to their folders. */
#include "experiment/run.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/peak_memory.h"
#include "experiment/run_record.h"
#include "graph/dataset_folder.h"
#include "model/model.h"
#include "model/model_folder.h"
#include "train/checkpoint.h"
#include "train/training_folder.h"
#include "train/training_run.h"

/* The file of that name in the folder, or NULL if there is none. */
static kg_status find_file(char **out, const experiment_run *run, const char *name,
                           kg_error *error) {
    *out = kg__path_join(run->path, name);
    if (*out == NULL)
        return kg__fail_memory(error);
    struct stat about;
    if (stat(*out, &about) == 0)
        return KG_OK;
    kg_status status = errno == ENOENT ? KG_OK : kg__fail_errno(error, *out, "look at it");
    kg__free(*out);
    *out = NULL;
    return status;
}

/* A run may be continued to more epochs, but not cut to fewer. */
static kg_status check_epochs(const experiment_run *run, uint64_t found, kg_error *error) {
    if (found <= kg__train_epochs(&run->options))
        return KG_OK;
    return kg_fail_at(error, run->path, 0, 0,
                      "expected a run of at most %ju epochs, found one of %ju",
                      (uintmax_t)kg__train_epochs(&run->options), (uintmax_t)found);
}

/* ---- Records ---- */

static void keep_record(experiment_run *run, json_t *record) {
    json_incref(record);
    json_decref(run->record);
    run->record = record;
}

/* Of a finished run, which may be wanted longer now. */
static kg_status take_record(experiment_run *run, json_t *record, kg_error *error) {
    const json_t *best = json_object_get(record, "best");
    json_int_t memory = json_integer_value(json_object_get(record, "memory"));
    json_int_t epochs = json_integer_value(json_object_get(record, "epochs"));
    run->epochs = epochs > 0 ? (uint64_t)epochs : 0;
    run->seconds = json_number_value(json_object_get(record, "seconds"));
    run->memory = memory > 0 ? (uint64_t)memory : 0;
    KG_TRY(check_epochs(run, run->epochs, error));
    kg__epoch_read(&run->best, json_object_get(record, "best"));
    if (best == NULL || !run->best.is_validated)
        return kg_fail_at(error, run->path, 0, 0,
                          "expected a model that was validated, found one that was not");
    if (!kg__train_is_done(&run->options, run->epochs, experiment_record_since_best(record)))
        return KG_OK;
    run->state = EXPERIMENT_FINISHED;
    keep_record(run, record);
    return KG_OK;
}

/* Fewer epochs than those of a failed run may not diverge. */
static void take_failure(experiment_run *run, json_t *record) {
    const char *message = json_string_value(json_object_get(record, "message"));
    json_int_t epochs = json_integer_value(json_object_get(record, "epochs"));
    if (message == NULL || run->options.epochs < (uint64_t)epochs)
        return;
    snprintf(run->failure, sizeof run->failure, "%s", message);
    run->state = EXPERIMENT_FAILED;
    keep_record(run, record);
}

static kg_status look_for_record(experiment_run *run, const kg_dataset *dataset, kg_error *error) {
    json_t *record = NULL;
    if (run->record_path == NULL)
        return KG_OK;
    KG_TRY(experiment_record_read(&record, run->record_path, error));
    if (record == NULL)
        return KG_OK;
    kg_status status =
        kg__train_check_same(&run->options, dataset, json_object_get(record, "settings"),
                             json_object_get(record, "dataset"), run->record_path, error);
    if (status == KG_OK && json_object_get(record, "message") != NULL)
        take_failure(run, record);
    else if (status == KG_OK)
        status = take_record(run, record, error);
    json_decref(record);
    return status;
}

/* ---- Models ---- */

static kg_status look_for_model(experiment_run *run, const kg_dataset *dataset, kg_error *error) {
    char *file = NULL;
    KG_TRY(find_file(&file, run, KG_MODEL_CONFIG, error));
    if (file == NULL)
        return KG_OK;
    kg__free(file);
    json_t *config = NULL;
    json_t *record = NULL;
    KG_TRY(kg__model_read_config(&config, run->path, error));
    const json_t *checksum = json_object_get(json_object_get(config, "dataset"), "checksum");
    kg_status status = kg__train_check_same(
        &run->options, dataset, json_object_get(config, "settings"), checksum, run->path, error);
    if (status == KG_OK && (record = experiment_record_make(config)) == NULL)
        status = kg__fail_memory(error);
    if (status == KG_OK)
        status = take_record(run, record, error);
    json_decref(record);
    json_decref(config);
    return status;
}

/* ---- Failures ---- */

static kg_status read_failure(experiment_run *run, const kg_dataset *dataset, const char *file,
                              kg_error *error) {
    kg_input *input = NULL;
    json_t *about = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__input_open(&input, file, KG_PLAIN, error));
    KG_CHECK(kg__json_read(&about, input, error));
    KG_CHECK(kg__train_check_same(&run->options, dataset, json_object_get(about, "settings"),
                                  json_object_get(about, "dataset"), file, error));
    if (!json_is_string(json_object_get(about, "message")))
        status = kg_fail_at(error, file, 0, 0, "expected a \"message\", found none");
    else
        take_failure(run, about);
done:
    json_decref(about);
    kg__input_close(input);
    return status;
}

static kg_status look_for_failure(experiment_run *run, const kg_dataset *dataset, kg_error *error) {
    char *file = NULL;
    KG_TRY(find_file(&file, run, KG_MODEL_FAILURE, error));
    kg_status status = file == NULL ? KG_OK : read_failure(run, dataset, file, error);
    kg__free(file);
    return status;
}

static kg_status write_failure(const experiment_run *run, json_t *about, kg_error *error) {
    char *file = kg__path_join(run->path, KG_MODEL_FAILURE);
    kg_output *output = NULL;
    kg_status status = file == NULL || about == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(kg__folder_ensure(run->path, NULL, error));
    KG_CHECK(kg__output_open(&output, file, file, error));
    KG_CHECK(kg__json_write(about, output, error));
    KG_CHECK(kg__output_commit(output, error));
done:
    kg__output_close(output);
    kg__free(file);
    return status;
}

static kg_status fail(const experiment_run *run, const kg_dataset *dataset, const kg_error *reason,
                      kg_error *error) {
    char message[KG_ERROR_TEXT_MAX];
    kg_error_text(message, sizeof message, reason);
    json_t *about = json_pack(
        "{ss so ss sI so}", "version", kg_version(), "settings", kg__train_settings(&run->options),
        "dataset", kg__dataset_checksum(dataset).text, "epochs", (json_int_t)run->options.epochs,
        "message", kg__json_text(message, strlen(message)));
    kg_status status = write_failure(run, about, error);
    json_decref(about);
    return status;
}

/* ---- Any state ---- */

static kg_status look_for_checkpoint(const experiment_run *run, const kg_dataset *dataset,
                                     kg_error *error) {
    kg_training_folder folder;
    uint64_t epochs = 0;
    kg_status status = kg__training_folder_find(&folder, run->path, error);
    bool is_joint = kg__train_has_joint(&run->options);
    const char *start = folder.starts[is_joint ? KG_JOINT_RUN : KG_APART_RUN];
    kg_train_options options = is_joint ? run->options : kg__train_apart(&run->options);
    if (status == KG_OK && start != NULL)
        status = kg__checkpoint_check(&options, dataset, start, &epochs, error);
    kg__training_folder_close(&folder);
    return status == KG_OK ? check_epochs(run, epochs, error) : status;
}

/* What has come to an end in the folder, also if the model was not put in place entirely. It is
 * read from the record that is written, so that the digits are the same with the model and without.
 */
static kg_status look_at_folder(experiment_run *run, const kg_dataset *dataset, kg_error *error) {
    KG_TRY(look_for_model(run, dataset, error));
    if (run->state == EXPERIMENT_FINISHED)
        KG_TRY(kg__training_folder_settle(run->path, error));
    else
        KG_TRY(look_for_failure(run, dataset, error));
    run->has_folder = run->state != EXPERIMENT_WAITING;
    if (!run->has_folder || run->record_path == NULL)
        return KG_OK;
    KG_TRY(experiment_record_write(run->record_path, run->record, error));
    return look_for_record(run, dataset, error);
}

static kg_status look(experiment_run *run, const kg_dataset *dataset, kg_error *error) {
    run->state = EXPERIMENT_WAITING;
    kg__train_choose_epochs(&run->options, dataset->parts[KG_TRAIN].count);
    KG_TRY(look_at_folder(run, dataset, error));
    if (run->state == EXPERIMENT_WAITING)
        KG_TRY(look_for_record(run, dataset, error));
    return run->state == EXPERIMENT_WAITING ? look_for_checkpoint(run, dataset, error) : KG_OK;
}

/* Of several ranks, the first may have to put something in place before the others look. */
static kg_status look_in_turn(experiment_run *run, const kg_dataset *dataset,
                              kg_status (*how)(experiment_run *, const kg_dataset *, kg_error *),
                              kg_error *error) {
    kg_ranks *ranks = run->options.ranks;
    bool is_first = kg__ranks_first(ranks);
    KG_TRY(kg__ranks_agree(ranks, is_first ? how(run, dataset, error) : KG_OK, error));
    return kg__ranks_agree(ranks, is_first ? KG_OK : how(run, dataset, error), error);
}

kg_status experiment_run_look(experiment_run *run, const kg_dataset *dataset, kg_error *error) {
    return look_in_turn(run, dataset, look, error);
}

void experiment_run_need_model(experiment_run *run) {
    if (run->state == EXPERIMENT_FINISHED && !run->has_folder)
        run->state = EXPERIMENT_WAITING;
}

void experiment_run_close(experiment_run *run) {
    kg__free(run->path);
    kg__free(run->record_path);
    json_decref(run->record);
    *run = (experiment_run){0};
}

/* The first rank writes down why. */
static kg_status fail_together(experiment_run *run, const kg_dataset *dataset,
                               const kg_error *reason, kg_error *error) {
    kg_ranks *ranks = run->options.ranks;
    kg_status status = kg__ranks_first(ranks) ? fail(run, dataset, reason, error) : KG_OK;
    return kg__ranks_agree(ranks, status, error);
}

kg_status experiment_run_train(experiment_run *run, const kg_dataset *dataset,
                               bool is_beside_others, const kg_progress *progress,
                               kg_error *error) {
    kg_train_watcher watcher = {.progress = progress};
    kg_training_run_options fit = {.options = &run->options,
                                   .dataset = dataset,
                                   .path = run->path,
                                   .resume = true,
                                   .is_beside_others = is_beside_others,
                                   .watcher = &watcher};
    kg_training_run_result trained;
    kg_error reason = {0};
    kg__peak_memory_reset();
    kg_status status = kg__training_run(&trained, &fit, &reason);
    if (status == KG_DIVERGED)
        KG_TRY(fail_together(run, dataset, &reason, error));
    else if (status != KG_OK) {
        *error = reason;
        return status;
    }
    KG_TRY(look_in_turn(run, dataset, look_at_folder, error));
    if (run->state != EXPERIMENT_WAITING)
        return KG_OK;
    return kg_fail_at(error, run->path, 0, 0,
                      "expected the model that was just written, found that it is gone");
}
