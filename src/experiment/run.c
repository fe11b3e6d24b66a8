/* The state of runs, read from and written to their folders. */
#include "experiment/run.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/peak_memory.h"
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

/* ---- Models ---- */

static kg_status read_model(experiment_run *run, const json_t *config, kg_error *error) {
    const json_t *history = json_object_get(config, "history");
    const json_t *apart = json_object_get(config, KG_APART_HISTORY);
    uint64_t best = (uint64_t)json_integer_value(json_object_get(config, "best_epoch"));
    uint64_t since_best = 0;
    size_t i = 0;
    json_t *item = NULL;
    const json_t *machine = json_object_get(config, "machine");
    json_int_t memory = json_integer_value(json_object_get(machine, "memory"));
    run->epochs = json_array_size(history);
    run->seconds = json_number_value(json_object_get(machine, "preparing"));
    run->memory = memory > 0 ? (uint64_t)memory : 0;
    if (best > 0)
        kg__history_best(&run->best, history, best, apart);
    json_array_foreach(apart, i, item) {
        run->seconds += json_number_value(json_object_get(item, "seconds"));
    }
    json_array_foreach(history, i, item) {
        kg_epoch epoch;
        kg__epoch_read(&epoch, item);
        run->seconds += epoch.seconds;
        if (epoch.number > best && epoch.is_validated)
            since_best++;
    }
    KG_TRY(check_epochs(run, run->epochs, error));
    if (!run->best.is_validated)
        return kg_fail_at(error, run->path, 0, 0,
                          "expected a model that was validated, found one that was not");
    if (kg__train_is_done(&run->options, run->epochs, since_best))
        run->state = EXPERIMENT_FINISHED;
    return KG_OK;
}

static kg_status look_for_model(experiment_run *run, const kg_dataset *dataset, kg_error *error) {
    char *file = NULL;
    KG_TRY(find_file(&file, run, KG_MODEL_CONFIG, error));
    if (file == NULL)
        return KG_OK;
    kg__free(file);
    json_t *config = NULL;
    KG_TRY(kg__model_read_config(&config, run->path, error));
    const json_t *checksum = json_object_get(json_object_get(config, "dataset"), "checksum");
    kg_status status = kg__train_check_same(
        &run->options, dataset, json_object_get(config, "settings"), checksum, run->path, error);
    if (status == KG_OK)
        status = read_model(run, config, error);
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
    const char *message = json_string_value(json_object_get(about, "message"));
    json_int_t epochs = json_integer_value(json_object_get(about, "epochs"));
    if (message == NULL) {
        status = kg_fail_at(error, file, 0, 0, "expected a \"message\", found none");
        goto done;
    }
    /* Fewer epochs may not diverge. */
    if (run->options.epochs >= (uint64_t)epochs) {
        snprintf(run->failure, sizeof run->failure, "%s", message);
        run->state = EXPERIMENT_FAILED;
    }
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

static kg_status fail(experiment_run *run, const kg_dataset *dataset, const kg_error *reason,
                      kg_error *error) {
    run->state = EXPERIMENT_FAILED;
    kg_error_text(run->failure, sizeof run->failure, reason);
    json_t *about = json_pack(
        "{ss so ss sI so}", "version", kg_version(), "settings", kg__train_settings(&run->options),
        "dataset", kg__dataset_checksum(dataset).text, "epochs", (json_int_t)run->options.epochs,
        "message", kg__json_text(run->failure, strlen(run->failure)));
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

kg_status experiment_run_look(experiment_run *run, const kg_dataset *dataset, kg_error *error) {
    run->state = EXPERIMENT_WAITING;
    kg__train_choose_epochs(&run->options, dataset->parts[KG_TRAIN].count);
    KG_TRY(look_for_model(run, dataset, error));
    if (run->state == EXPERIMENT_FINISHED)
        return kg__training_folder_settle(run->path, error);
    KG_TRY(look_for_failure(run, dataset, error));
    return run->state == EXPERIMENT_WAITING ? look_for_checkpoint(run, dataset, error) : KG_OK;
}

kg_status experiment_run_train(experiment_run *run, const kg_dataset *dataset,
                               const kg_progress *progress, kg_error *error) {
    kg_train_watcher watcher = {.progress = progress};
    kg_training_run_options fit = {.options = &run->options,
                                   .dataset = dataset,
                                   .path = run->path,
                                   .resume = true,
                                   .watcher = &watcher};
    kg_training_run_result trained;
    kg_error reason = {0};
    kg__peak_memory_reset();
    kg_status status = kg__training_run(&trained, &fit, &reason);
    if (status == KG_DIVERGED)
        return fail(run, dataset, &reason, error);
    if (status != KG_OK) {
        *error = reason;
        return status;
    }
    KG_TRY(experiment_run_look(run, dataset, error));
    if (run->state != EXPERIMENT_WAITING)
        return KG_OK;
    return kg_fail_at(error, run->path, 0, 0,
                      "expected the model that was just written, found that it is gone");
}
