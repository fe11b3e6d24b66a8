/* kgraft store: makes a store of a model. */
#include "cli/cli.h"
#include "store/store.h"

struct settings {
    cli_common common;
};

static const cli_option options[] = {CLI_JSON, CLI_QUIET, CLI_END};

static kg_status show(const cli_context *context, const kg_store *store, kg_error *error) {
    const kg_base_facts *base = kg__store_base(store);
    cli_say(context, "%s: %s, %s", context->arguments[1],
            report_counted(base->entities.count, "entity", "entities").text,
            report_counted(base->relations.count, "relation", "relations").text);
    if (!context->common->json)
        return KG_OK;
    return cli_print_json(json_pack("{sI sI sI}", "generation", (json_int_t)1, "entities",
                                    (json_int_t)base->entities.count, "relations",
                                    (json_int_t)base->relations.count),
                          error);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    (void)payload;
    kg_store *store = NULL;
    KG_TRY(kg__store_create(context->arguments[1], context->arguments[0], error));
    KG_TRY(kg__store_open(&store, context->arguments[1], KG_STORE_WRITE, error));
    kg_status status = show(context, store, error);
    kg__store_close(store);
    return status;
}

static const struct settings defaults = {.common = {.quiet = false}};

const cli_command cli_store = {
    .name = "store",
    .usage = "MODEL STORE",
    .summary = "make a store, to which facts can be added, of a model",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
