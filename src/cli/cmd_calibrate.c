/* kgraft calibrate: fits probabilities to scores, by relation (Platt 1999), so that they can be
 * compared. */

#include <omp.h>

#include "base/thread_count.h"
#include "cli/aggregate_overrides.h"
#include "graph/dataset_source.h"
#include "model/model_folder.h"
#include "rank/calibrate.h"

struct settings {
    cli_common common;
    kg_aggregate_overrides overrides;
    uint64_t threads;
};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    CLI_OVERRIDE_OPTIONS(SETTING(overrides)),
    CLI_THREADS(SETTING(threads)),
    CLI_QUIET,
    CLI_END,
};

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    const char *path = context->arguments[0];
    kg_reader reader = {.options.folder_first = true, .progress = &context->progress};
    size_t threads = settings->threads == 0 ? (size_t)kg__threads(0) : settings->threads;
    kg_dataset dataset = {0};
    json_t *config = NULL;
    size_t left_out = 0;
    kg_status status = KG_OK;
    if (threads > 1024)
        return kg_fail(error, KG_BAD_INPUT, "--threads: expected 1 to 1024, found %zu", threads);
    omp_set_num_threads((int)threads);
    /* A wrong MODEL is refused before the data set is read. */
    KG_TRY(kg__model_read_config(&config, path, error));
    json_decref(config);
    KG_CHECK(kg__dataset_open(&dataset, error));
    KG_CHECK(kg__source_read(&dataset, &reader, context->arguments + 1, 1, error));
    KG_CHECK(kg__calibrate_model(path, &left_out, &dataset, &settings->overrides, threads,
                                 &context->progress, error));
    if (left_out > 0)
        cli_say(context, "left out: %s that the model knows",
                report_counted(left_out, "unseen entity", "unseen entities").text);
    cli_say(context, "%s: calibrated", path);
done:
    kg__dataset_close(&dataset);
    return status;
}

static const struct settings defaults = {.common = {.quiet = false}};

const cli_command cli_calibrate = {
    .name = "calibrate",
    .usage = "MODEL DATASET",
    .summary = "make scores of different relations comparable",
    .details =
        "MODEL gets a calibration made on the validation facts of DATASET. Models that train\n"
        "makes have one, unless the graph was too small; adopted models have none.",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
