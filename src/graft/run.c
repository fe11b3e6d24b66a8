/* What a run leaves behind. */
#include "graft/run.h"

#include "base/memory.h"
#include "base/peak.h"
#include "base/processor.h"
#include "base/progress.h"
#include "graft/calibrate.h"
#include "graft/run_folder.h"
#include "graph/dataset_folder.h"
#include "learn/checkpoint.h"
#include "math/linear.h"

static json_t *make_config(const kg_trainer *trainer, const kg_run *run, double preparing) {
    const kg_train_options *chosen = run->options;
    const kg_dataset *dataset = run->dataset;
    size_t count = 0;
    const kg_epoch *history = kg_trainer_history(trainer, &count);
    json_t *epochs = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(epochs, kg_epoch_json(&history[i])) != 0) {
            json_decref(epochs);
            return NULL;
        }
    /* What was asked for: patience may have ended it sooner. */
    json_t *settings = kg_train_settings(chosen);
    if (json_object_set_new(settings, "epochs", json_integer((json_int_t)chosen->epochs)) != 0) {
        json_decref(settings);
        json_decref(epochs);
        return NULL;
    }
    char processor[KG_PROCESSOR_MAX];
    json_t *machine = json_pack("{ss ss ss sI sf sI}", "processor", kg_processor_name(processor),
                                "kernels", kg_linear_kernels(), "blas", kg_linear_blas(), "threads",
                                (json_int_t)chosen->threads, "preparing", preparing, "memory",
                                (json_int_t)kg_peak_memory());
    return json_pack("{ss si sI sI ss so sI sI so so sO so}", "version", kg_version(),
                     "kgraft_model", 0, "entities", (json_int_t)kg_dataset_in_sample(dataset),
                     "relations", (json_int_t)dataset->in_sample_relations, "preset", run->preset,
                     "settings", settings, "epochs", (json_int_t)count, "best_epoch",
                     (json_int_t)kg_trainer_best_epoch(trainer), "machine", machine, "dataset",
                     json_pack("{ss}", "checksum", kg_dataset_checksum(dataset).text), "data",
                     dataset->history, "history", epochs);
}

/* All zeroes if there is nothing to calibrate with. */
static kg_status calibrate(kg_calibration *out, json_t *config, const kg_tables *tables,
                           const kg_run *run, kg_error *error) {
    kg_calibrate_options options = {.aggregate = run->options->aggregate,
                                    .threads = (size_t)run->options->threads,
                                    .progress = run->watcher->progress};
    KG_TRY(kg_calibrate(out, tables, run->dataset, &options, error));
    if (out->lines == NULL)
        return KG_OK;
    return json_object_set(config, KG_CALIBRATION_KEY, out->about) == 0 ? KG_OK
                                                                        : kg_fail_memory(error);
}

static kg_status save(const kg_trainer *trainer, const kg_run *run, kg_run_folder *folder,
                      double preparing, kg_error *error) {
    kg_tables tables = kg_trainer_result(trainer);
    kg_calibration calibration = {0};
    json_t *config = make_config(trainer, run, preparing);
    kg_status status = config == NULL ? kg_fail_memory(error) : KG_OK;
    if (status == KG_OK)
        status = calibrate(&calibration, config, &tables, run, error);
    if (status == KG_OK) {
        kg_model_parts parts = {&tables, run->dataset, calibration.lines, config};
        status = kg_run_folder_finish(folder, &parts, error);
    }
    kg_calibration_free(&calibration);
    json_decref(config);
    return status;
}

static kg_run_result describe_result(const kg_trainer *trainer) {
    kg_run_result out = {0};
    const kg_epoch *history = kg_trainer_history(trainer, &out.epochs);
    uint64_t best = kg_trainer_best_epoch(trainer);
    if (best > 0 && best <= out.epochs)
        out.best = history[best - 1];
    return out;
}

static kg_status train(kg_run_result *out, const kg_run *run, kg_run_folder *folder,
                       kg_error *error) {
    kg_trainer *trainer = NULL;
    double started = kg_seconds();
    kg_status status = KG_OK;
    KG_CHECK(kg_trainer_open(&trainer, run->options, run->dataset, run->watcher->progress, error));
    double preparing = kg_seconds() - started;
    if (folder->start != NULL)
        KG_CHECK(kg_checkpoint_read(trainer, folder->start, error));
    KG_CHECK(kg_run_folder_clear(folder, error));
    KG_CHECK(kg_trainer_run(trainer, folder->checkpoint, run->watcher, error));
    KG_CHECK(save(trainer, run, folder, preparing, error));
    *out = describe_result(trainer);
done:
    kg_trainer_close(trainer);
    return status;
}

kg_status kg_run_train(kg_run_result *out, const kg_run *run, kg_error *error) {
    kg_run_folder folder;
    KG_TRY(kg_train_check(run->options, error));
    KG_TRY(kg_run_folder_open(&folder, run->path, run->resume, run->force, error));
    kg_status status = train(out, run, &folder, error);
    kg_run_folder_close(&folder);
    return status;
}
