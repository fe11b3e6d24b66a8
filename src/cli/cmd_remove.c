/* kgraft remove: facts out of a store. */
#include "cli/change_facts.h"

static const cli_option options[] = {
    CLI_CHANGE_OPTIONS,
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

static kg_status run(const void *settings, cli_context *context, kg_error *error) {
    return cli_change_facts(settings, KG_REMOVE, context, error);
}

const cli_command cli_remove = {
    .name = "remove",
    .usage = "STORE FACTS",
    .summary = "remove facts from a store",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(cli_change_settings),
    .defaults = &cli_change_defaults,
    .run = run,
};
