/* kgraft generate: a synthetic graph of any size, to test scalability. */
#include "cli/cli.h"
#include "graph/generate.h"

struct settings {
    cli_common common;
    kg_generate_options generate;
};

static const cli_option options[] = {
    {.name = "facts",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = offsetof(struct settings, generate.facts),
     .help = "number of facts, all different (default: 100000)"},
    {.name = "entities",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = offsetof(struct settings, generate.entities),
     .help = "number of entities, all used (default: 20000)"},
    {.name = "relations",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = offsetof(struct settings, generate.relations),
     .help = "number of relations, all used (default: 50)"},
    {.name = "exponent",
     .argument = "X",
     .kind = CLI_NUMBER,
     .offset = offsetof(struct settings, generate.exponent),
     .help = "of Zipf's law, which degrees follow (default: 1)"},
    {.name = "seed",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = offsetof(struct settings, generate.seed),
     .help = "same seed, same bytes (default: 0)"},
    CLI_QUIET,
    CLI_END,
};

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    const char *path = context->arguments[0];
    kg_output *output = NULL;
    KG_TRY(kg__output_open(&output, path, path, error));
    kg_status status = kg__generate(output, &settings->generate, &context->progress, error);
    if (status == KG_OK)
        status = kg__output_commit(output, error);
    kg__output_close(output);
    return status;
}

static const struct settings defaults = {
    .generate = {.facts = 100000, .entities = 20000, .relations = 50, .exponent = 1}};

const cli_command cli_generate = {
    .name = "generate",
    .usage = "FILE",
    .summary = "make a synthetic graph of any size, as TSV",
    .details = "FILE may be - for standard output.",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
