/* kgraft index: adds a quantised copy of a model's rows, by which best answers are found faster. */
#include "base/file_lock.h"
#include "cli/cli.h"
#include "model/model.h"
#include "model/model_folder.h"

struct settings {
    cli_common common;
};

static const cli_option options[] = {CLI_QUIET, CLI_END};

/* An index that is there already might be damaged, so that the model does not open with it. */
static kg_status write_index(const char *path, kg_error *error) {
    kg_model model = {0};
    kg_status status = kg__model_drop_quantized(path, error);
    if (status == KG_OK)
        status = kg__model_open(&model, path, error);
    if (status == KG_OK)
        status = kg__model_check_embedding(&model, error);
    if (status == KG_OK && model.params.dim > KG_MOST_QUANTIZED_DIM)
        status = kg_fail_at(error, path, 0, 0, "expected a dimension of at most %zu, found %zu",
                            KG_MOST_QUANTIZED_DIM, model.params.dim);
    if (status == KG_OK)
        status = kg__model_write_quantized(path, &model.params, model.entities.count, error);
    kg__model_close(&model);
    return status;
}

static kg_status run(const void *settings, cli_context *context, kg_error *error) {
    const char *path = context->arguments[0];
    int lock = -1;
    (void)settings;
    KG_TRY(kg__lock(&lock, path, error));
    kg_status status = write_index(path, error);
    kg__unlock(lock);
    if (status == KG_OK)
        cli_say(context, "%s: indexed", path);
    return status;
}

static const struct settings defaults = {.common = {.quiet = false}};

const cli_command cli_index = {
    .name = "index",
    .usage = "MODEL",
    .summary = "find answers among millions of entities faster",
    .details =
        "MODEL gets a copy of its entities' vectors in 8 bits. It proposes answers, and the\n"
        "vectors themselves decide: answers are the same, and a fourth of the bytes is read.",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
