/* kgraft generate: a synthetic graph of any size, to test scalability and, with planted rules,
 * accuracy. */
#include <string.h>

#include "cli/cli.h"
#include "graph/dataset_folder.h"
#include "graph/generate.h"

#define NOT_GIVEN UINT64_MAX

struct settings {
    cli_common common;
    const char *shape;
    kg_generate_options generate;
};

static const char *const shapes[] = {"zipf", "wikidata5m", NULL};

/* What is not given. */
static const kg_generate_options usual[] = {
    {.facts = 100000, .entities = 20000, .relations = 50},
    {.facts = 20600000, .entities = 4600000, .relations = 822},
};

static const cli_option options[] = {
    {.name = "shape",
     .argument = "NAME",
     .kind = CLI_CHOICE,
     .offset = offsetof(struct settings, shape),
     .help = "zipf: one file, without structure; wikidata5m: a data set with types and planted "
             "rules (default: zipf)",
     .choices = shapes},
    {.name = "facts",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = offsetof(struct settings, generate.facts),
     .help = "number of facts, all different (default: 100000, or 20600000)"},
    {.name = "entities",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = offsetof(struct settings, generate.entities),
     .help = "number of entities, all used (default: 20000, or in proportion to facts)"},
    {.name = "relations",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = offsetof(struct settings, generate.relations),
     .help = "number of relations, all used (default: 50, or 822)"},
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

static kg_status generate_file(const char *path, const kg_generate_options *wanted,
                               const kg_progress *progress, kg_error *error) {
    kg_output *output = NULL;
    KG_TRY(kg__output_open(&output, path, path, error));
    kg_status status = kg__generate(output, wanted, progress, error);
    if (status == KG_OK)
        status = kg__output_commit(output, error);
    kg__output_close(output);
    return status;
}

static kg_status generate_folder(const char *path, const kg_generate_options *wanted,
                                 const kg_progress *progress, kg_error *error) {
    kg_folder *folder = NULL;
    KG_TRY(kg__folder_start(&folder, path, false, kg__dataset_files, error));
    kg_status status = kg__generate_planted(folder, wanted, progress, error);
    if (status == KG_OK)
        status = kg__folder_commit(folder, error);
    kg__folder_close(folder);
    return status;
}

static uint64_t in_proportion(uint64_t given, uint64_t usual_given, uint64_t wanted) {
    return (uint64_t)((double)given * ((double)wanted / (double)usual_given) + 0.5);
}

/* A planted graph of another size keeps its facts per entity. */
static kg_generate_options fill_in(const kg_generate_options *given, size_t shape) {
    const kg_generate_options *most = &usual[shape];
    kg_generate_options out = *given;
    bool scales = shape > 0;
    if (out.facts == NOT_GIVEN)
        out.facts = scales && out.entities != NOT_GIVEN
                        ? in_proportion(out.entities, most->entities, most->facts)
                        : most->facts;
    if (out.entities == NOT_GIVEN)
        out.entities =
            scales ? in_proportion(out.facts, most->facts, most->entities) : most->entities;
    if (out.relations == NOT_GIVEN)
        out.relations = most->relations;
    return out;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    size_t shape = cli_choice(shapes, settings->shape);
    kg_generate_options wanted = fill_in(&settings->generate, shape);
    return shape == 0 ? generate_file(context->arguments[0], &wanted, &context->progress, error)
                      : generate_folder(context->arguments[0], &wanted, &context->progress, error);
}

static const struct settings defaults = {
    .shape = "zipf", .generate = {NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, .exponent = 1}};

const cli_command cli_generate = {
    .name = "generate",
    .usage = "FILE|DIR",
    .summary = "make a synthetic graph of any size",
    .details =
        "FILE may be - for standard output. A data set is written to DIR, which must be new.",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
