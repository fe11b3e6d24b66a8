/* Runs, as their folders tell them. */
#include "cli/run.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/peak.h"
#include "cli/train.h"
#include "graph/dataset_folder.h"
#include "model/model.h"
#include "model/model_folder.h"
#include "train/checkpoint.h"
#include "train/training_folder.h"

/* The file of that name in the folder, or NULL if there is none. */
static kg_status find_file(char **out, const cli_run *trial, const char *name, kg_error *error) {
    *out = kg__path_join(trial->path, name);
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

/* A run may go on to more epochs, but not back to fewer. */
static kg_status check_epochs(const cli_run *trial, uint64_t found, kg_error *error) {
    if (found <= trial->options.epochs)
        return KG_OK;
    return kg_fail_at(error, trial->path, 0, 0,
                      "expected a run of at most %ju epochs, found one of %ju",
                      (uintmax_t)trial->options.epochs, (uintmax_t)found);
}

/* ---- Models ---- */

static kg_status read_model(cli_run *trial, const json_t *config, kg_error *error) {
    const json_t *history = json_object_get(config, "history");
    uint64_t best = (uint64_t)json_integer_value(json_object_get(config, "best_epoch"));
    uint64_t since_best = 0;
    size_t i = 0;
    const json_t *item = NULL;
    const json_t *machine = json_object_get(config, "machine");
    json_int_t memory = json_integer_value(json_object_get(machine, "memory"));
    trial->epochs = json_array_size(history);
    trial->seconds = json_number_value(json_object_get(machine, "preparing"));
    trial->memory = memory > 0 ? (uint64_t)memory : 0;
    json_array_foreach(history, i, item) {
        kg_epoch epoch;
        kg__epoch_read(&epoch, item);
        trial->seconds += epoch.seconds;
        if (epoch.number == best)
            trial->best = epoch;
        if (epoch.number > best && epoch.is_validated)
            since_best++;
    }
    KG_TRY(check_epochs(trial, trial->epochs, error));
    if (!trial->best.is_validated)
        return kg_fail_at(error, trial->path, 0, 0,
                          "expected a model that was validated, found one that was not");
    if (kg__train_is_done(&trial->options, trial->epochs, since_best))
        trial->state = CLI_FINISHED;
    return KG_OK;
}

static kg_status look_for_model(cli_run *trial, const kg_dataset *dataset, kg_error *error) {
    char *file = NULL;
    KG_TRY(find_file(&file, trial, KG_MODEL_CONFIG, error));
    if (file == NULL)
        return KG_OK;
    kg__free(file);
    json_t *config = NULL;
    KG_TRY(kg__model_read_config(&config, trial->path, error));
    const json_t *checksum = json_object_get(json_object_get(config, "dataset"), "checksum");
    kg_status status =
        kg__train_check_same(&trial->options, dataset, json_object_get(config, "settings"),
                             checksum, trial->path, error);
    if (status == KG_OK)
        status = read_model(trial, config, error);
    json_decref(config);
    return status;
}

/* ---- Failures ---- */

static kg_status read_failure(cli_run *trial, const kg_dataset *dataset, const char *file,
                              kg_error *error) {
    kg_input *input = NULL;
    json_t *about = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__input_open(&input, file, KG_PLAIN, error));
    KG_CHECK(kg__json_read(&about, input, error));
    KG_CHECK(kg__train_check_same(&trial->options, dataset, json_object_get(about, "settings"),
                                  json_object_get(about, "dataset"), file, error));
    const char *message = json_string_value(json_object_get(about, "message"));
    json_int_t epochs = json_integer_value(json_object_get(about, "epochs"));
    if (message == NULL) {
        status = kg_fail_at(error, file, 0, 0, "expected a \"message\", found none");
        goto done;
    }
    /* Fewer epochs may end well. */
    if (trial->options.epochs >= (uint64_t)epochs) {
        snprintf(trial->failure, sizeof trial->failure, "%s", message);
        trial->state = CLI_FAILED;
    }
done:
    json_decref(about);
    kg__input_close(input);
    return status;
}

static kg_status look_for_failure(cli_run *trial, const kg_dataset *dataset, kg_error *error) {
    char *file = NULL;
    KG_TRY(find_file(&file, trial, KG_MODEL_FAILURE, error));
    kg_status status = file == NULL ? KG_OK : read_failure(trial, dataset, file, error);
    kg__free(file);
    return status;
}

static kg_status write_failure(const cli_run *trial, json_t *about, kg_error *error) {
    char *file = kg__path_join(trial->path, KG_MODEL_FAILURE);
    kg_output *output = NULL;
    kg_status status = file == NULL || about == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(kg__folder_ensure(trial->path, NULL, error));
    KG_CHECK(kg__output_open(&output, file, file, error));
    KG_CHECK(kg__json_write(about, output, error));
    KG_CHECK(kg__output_commit(output, error));
done:
    kg__output_close(output);
    kg__free(file);
    return status;
}

static kg_status fail(cli_run *trial, const kg_dataset *dataset, const kg_error *reason,
                      kg_error *error) {
    trial->state = CLI_FAILED;
    kg_error_text(trial->failure, sizeof trial->failure, reason);
    json_t *about =
        json_pack("{ss so ss sI so}", "version", kg_version(), "settings",
                  kg__train_settings(&trial->options), "dataset",
                  kg__dataset_checksum(dataset).text, "epochs", (json_int_t)trial->options.epochs,
                  "message", kg__json_text(trial->failure, strlen(trial->failure)));
    kg_status status = write_failure(trial, about, error);
    json_decref(about);
    return status;
}

/* ---- Either, or neither ---- */

static kg_status look_for_checkpoint(const cli_run *trial, const kg_dataset *dataset,
                                     kg_error *error) {
    char *file = NULL;
    KG_TRY(kg__training_checkpoint(&file, trial->path, error));
    if (file == NULL)
        return KG_OK;
    uint64_t epochs = 0;
    kg_status status = kg__checkpoint_check(&trial->options, dataset, file, &epochs, error);
    kg__free(file);
    return status == KG_OK ? check_epochs(trial, epochs, error) : status;
}

kg_status cli_run_look(cli_run *trial, const kg_dataset *dataset, kg_error *error) {
    trial->state = CLI_WAITING;
    KG_TRY(look_for_model(trial, dataset, error));
    if (trial->state == CLI_FINISHED)
        return kg__training_folder_settle(trial->path, error);
    KG_TRY(look_for_failure(trial, dataset, error));
    return trial->state == CLI_WAITING ? look_for_checkpoint(trial, dataset, error) : KG_OK;
}

kg_status cli_run_train(cli_run *trial, const kg_dataset *dataset, const kg_progress *progress,
                        kg_error *error) {
    kg_train_watcher watcher = {.progress = progress};
    cli_training training = {.settings = trial->settings,
                             .dataset = dataset,
                             .path = trial->path,
                             .resume = true,
                             .watcher = &watcher};
    kg_fit_result trained;
    kg_error reason = {0};
    kg__peak_memory_reset();
    kg_status status = cli_train_model(&trained, &training, &reason);
    if (status == KG_DIVERGED)
        return fail(trial, dataset, &reason, error);
    if (status != KG_OK) {
        *error = reason;
        return status;
    }
    KG_TRY(cli_run_look(trial, dataset, error));
    if (trial->state != CLI_WAITING)
        return KG_OK;
    return kg_fail_at(error, trial->path, 0, 0,
                      "expected the model that was just written, found that it is gone");
}
