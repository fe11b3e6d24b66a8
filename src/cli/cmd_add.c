/* kgraft add: facts into a store. */
#include "cli/change_facts.h"

static const cli_option options[] = {
    CLI_CHANGE_OPTIONS,
    {.name = "allow-relations",
     .kind = CLI_FLAG,
     .offset = CLI_CHANGE_SETTING(allow_relations),
     .help = "take relations that the model does not know"},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

static kg_status run(const void *settings, cli_context *context, kg_error *error) {
    return cli_change_facts(settings, KG_ADD, context, error);
}

const cli_command cli_add = {
    .name = "add",
    .usage = "STORE FACTS",
    .summary = "add facts to a store, or apply an RDF Patch to it",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(cli_change_settings),
    .defaults = &cli_change_defaults,
    .run = run,
};
