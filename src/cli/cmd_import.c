/* kgraft import: any knowledge graph to a data set directory. */
#include "cli/cli.h"
#include "cli/skipped_facts.h"
#include "graph/dataset_folder.h"
#include "graph/dataset_source.h"

struct settings {
    cli_common common;
    kg_read_options read;
    const char *literals;
    const char *inverses;
    bool force;
};

static const char *const skip_or_keep[] = {"skip", "keep", NULL};

static const cli_option options[] = {
    {.name = "format",
     .argument = "NAME",
     .kind = CLI_CHOICE,
     .offset = offsetof(struct settings, read.format),
     .help = "tsv, nt, ttl, nq, trig, openke, oos-json, ilpc or grail (default: by the source)",
     .choices = kg__formats},
    {.name = "comment",
     .argument = "PREFIX",
     .kind = CLI_TEXT,
     .offset = offsetof(struct settings, read.comment),
     .help = "TSV: leave out lines that start with PREFIX"},
    {.name = "skip-blank",
     .kind = CLI_FLAG,
     .offset = offsetof(struct settings, read.skip_blank),
     .help = "TSV: leave out empty lines"},
    {.name = "literals",
     .argument = "skip|keep",
     .kind = CLI_CHOICE,
     .offset = offsetof(struct settings, literals),
     .help = "RDF: whether literals are entities (default: skip)",
     .choices = skip_or_keep},
    {.name = "inverses",
     .argument = "skip|keep",
     .kind = CLI_CHOICE,
     .offset = offsetof(struct settings, inverses),
     .help = "WordNet: whether both of two inverses are kept (default: skip)",
     .choices = skip_or_keep},
    {.name = "skip-unknown",
     .kind = CLI_FLAG,
     .offset = offsetof(struct settings, read.skip_unknown),
     .help = "leave out facts of a new graph with relations that train lacks"},
    {.name = "force",
     .kind = CLI_FLAG,
     .offset = offsetof(struct settings, force),
     .help = "replace DIR if it is a data set already"},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

static json_t *describe(const kg_dataset *dataset, const kg_read_counts *counts) {
    json_t *out = kg__dataset_counts(dataset);
    json_t *left_out = json_pack(
        "{sI sI sI sI sI sI sI}", "duplicates", (json_int_t)cli_count_repeated(dataset), "literals",
        (json_int_t)counts->literals, "inverses", (json_int_t)counts->inverses, "comments",
        (json_int_t)counts->comments, "blank_lines", (json_int_t)counts->blank_lines,
        "unused_names", (json_int_t)counts->unused_names, "unknown_relations",
        (json_int_t)dataset->unknown_facts);
    if (json_object_set_new(out, "left_out", left_out) == 0)
        return out;
    json_decref(out);
    return NULL;
}

/* Entities of both graphs with the same name: expected are none. */
static uint64_t count_shared_names(const kg_dataset *dataset) {
    uint64_t count = 0;
    for (kg_id id = 0; id < dataset->graph_entities.count; id++) {
        kg_name name = kg__names_hashed(&dataset->graph_entities, id);
        count += kg__names_find(&dataset->entities, name) != KG_NO_ID;
    }
    return count;
}

static void show_graph(const kg_dataset *dataset, const cli_context *context) {
    uint64_t facts = dataset->parts[KG_GRAPH].count;
    uint64_t asked = dataset->parts[KG_GRAPH_VALID].count + dataset->parts[KG_GRAPH_TEST].count;
    uint64_t shared = count_shared_names(dataset);
    if (!kg__dataset_has_graph(dataset))
        return;
    cli_say(context, "new graph: %s, %s to ask for, %s",
            report_counted(facts, "fact", "facts").text,
            report_counted(asked, "fact", "facts").text,
            report_counted(dataset->graph_entities.count, "entity", "entities").text);
    if (shared > 0)
        cli_say(context, "new graph: %s also in the training graph (of another entity)",
                report_counted(shared, "name is", "names are").text);
}

static kg_status show(const kg_dataset *dataset, const kg_read_counts *counts,
                      const cli_context *context, kg_error *error) {
    uint64_t facts = 0;
    for (kg_part part = 0; part < KG_GRAPH; part++)
        facts += dataset->parts[part].count;
    cli_say_left_out(context, dataset, counts, "");
    cli_say(context, "%s: %s, %s, %s", context->arguments[context->argument_count - 1],
            report_counted(facts, "fact", "facts").text,
            report_counted(dataset->entities.count, "entity", "entities").text,
            report_counted(dataset->relations.count, "relation", "relations").text);
    show_graph(dataset, context);
    if (context->common->json)
        return cli_print_json(describe(dataset, counts), error);
    return KG_OK;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_reader reader = {.options = settings->read, .progress = &context->progress};
    reader.options.keep_literals = settings->literals[0] == 'k';
    reader.options.keep_inverses = settings->inverses[0] == 'k';
    size_t sources = context->argument_count - 1;
    kg_folder *folder = NULL;
    kg_dataset dataset = {0};
    kg_status status = KG_OK;
    KG_CHECK(kg__folder_start(&folder, context->arguments[sources], settings->force,
                              kg__dataset_files, error));
    KG_CHECK(kg__dataset_open(&dataset, error));
    KG_CHECK(kg__source_read(&dataset, &reader, context->arguments, sources, error));
    KG_CHECK(kg__dataset_write(&dataset, folder, &context->progress, error));
    KG_CHECK(kg__folder_commit(folder, error));
    KG_CHECK(show(&dataset, &reader.counts, context, error));
done:
    kg__dataset_close(&dataset);
    kg__folder_close(folder);
    return status;
}

static const struct settings defaults = {.literals = "skip", .inverses = "skip"};

const cli_command cli_import = {
    .name = "import",
    .usage = "SOURCE... DIR",
    .summary = "make a data set directory from a knowledge graph",
    .details =
        "SOURCE is a file of facts (TSV or RDF, gzipped or not; - is standard input; several\n"
        "files are taken together), a directory with train/valid/test files as published\n"
        "(TSV, OpenKE, the out-of-sample JSON form, or with inference files of a new graph as in\n"
        "ILPC), a pair of directories X X_ind (the new graph, as in GraIL), or wordnet[:PATH].",
    .min_arguments = 2,
    .max_arguments = SIZE_MAX,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
