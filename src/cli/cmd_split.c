/* kgraft split: the paper's out-of-sample split of a data set. */
#include "cli/cli.h"
#include "graph/dataset_folder.h"
#include "graph/dataset_source.h"
#include "graph/split.h"

struct settings {
    cli_common common;
    kg_split_options split;
    bool force;
};

static const cli_option options[] = {
    {.name = "unseen",
     .argument = "SHARE",
     .kind = CLI_NUMBER,
     .offset = offsetof(struct settings, split.unseen),
     .help = "share of the entities with enough facts to take out (default: 0.2)"},
    {.name = "valid-share",
     .argument = "SHARE",
     .kind = CLI_NUMBER,
     .offset = offsetof(struct settings, split.valid_share),
     .help = "share of the unseen entities that goes to validation (default: 0.5)"},
    {.name = "min-facts",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = offsetof(struct settings, split.min_facts),
     .help = "facts that an unseen entity must have (default: 2)"},
    {.name = "keep-between",
     .kind = CLI_FLAG,
     .offset = offsetof(struct settings, split.keep_between),
     .help = "keep facts between unseen entities, for eval --live"},
    {.name = "seed",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = offsetof(struct settings, split.seed),
     .help = "same seed, same bytes (default: 0)"},
    {.name = "force",
     .kind = CLI_FLAG,
     .offset = offsetof(struct settings, force),
     .help = "replace OUT if it is a data set already"},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

static void print_steps(const kg_split_report *r, const kg_dataset *out, bool kept_between) {
    printf("1  merged           %12s facts (%s repeated)\n", report_grouped(r->merged_facts).text,
           report_grouped(r->repeated_facts).text);
    printf("2  taken out        %12s of %s entities with enough facts\n",
           report_grouped(r->drawn).text, report_grouped(r->candidates).text);
    printf("3  removed          %12s facts between unseen entities (%s with itself)\n",
           report_grouped(r->between_unseen).text, report_grouped(r->reflexive).text);
    printf("4  removed          %12s entities and %s relations without a training fact, %s facts\n",
           report_grouped(r->lost_entities).text, report_grouped(r->lost_relations).text,
           report_grouped(r->lost_facts).text);
    printf("5  removed          %12s unseen entities with too few facts, %s facts\n",
           report_grouped(r->sparse_unseen).text, report_grouped(r->sparse_facts).text);
    printf("6  unseen entities  %12s for validation, %s for test\n",
           report_grouped(r->valid_entities).text, report_grouped(r->test_entities).text);
    printf("   training facts   %12s over %s entities and %s relations\n",
           report_grouped(out->parts[KG_TRAIN].count).text,
           report_grouped(kg__dataset_in_sample(out)).text,
           report_grouped(out->relations.count).text);
    printf("   queries          %12s for validation, %s for test\n",
           report_grouped(out->parts[KG_UNSEEN_VALID].count).text,
           report_grouped(out->parts[KG_UNSEEN_TEST].count).text);
    if (kept_between)
        printf(
            "   kept             %12s facts between unseen entities for validation, %s for test\n",
            report_grouped(out->parts[KG_BETWEEN_VALID].count).text,
            report_grouped(out->parts[KG_BETWEEN_TEST].count).text);
}

static json_t *describe(const kg_dataset *out) {
    json_t *result = kg__dataset_counts(out);
    if (json_object_set(result, "split", json_object_get(out->history, "split")) == 0)
        return result;
    json_decref(result);
    return NULL;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_reader reader = {.options.folder_first = true, .progress = &context->progress};
    kg_folder *folder = NULL;
    kg_dataset from = {0};
    kg_dataset out = {0};
    kg_split_report report;
    kg_status status = KG_OK;
    KG_CHECK(kg__folder_start(&folder, context->arguments[1], settings->force, kg__dataset_files,
                              error));
    KG_CHECK(kg__dataset_open(&from, error));
    KG_CHECK(kg__dataset_open(&out, error));
    KG_CHECK(kg__source_read(&from, &reader, context->arguments, 1, error));
    KG_CHECK(kg__split(&out, &report, &from, &settings->split, error));
    KG_CHECK(kg__dataset_write(&out, folder, &context->progress, error));
    KG_CHECK(kg__folder_commit(folder, error));
    if (context->common->json)
        KG_CHECK(cli_print_json(describe(&out), error));
    else
        print_steps(&report, &out, settings->split.keep_between);
    KG_CHECK(cli_flush(error));
done:
    kg__dataset_close(&out);
    kg__dataset_close(&from);
    kg__folder_close(folder);
    return status;
}

static const struct settings defaults = {
    .split = {.unseen = 0.2, .valid_share = 0.5, .min_facts = 2}};

const cli_command cli_split = {
    .name = "split",
    .usage = "SOURCE OUT",
    .summary = "make a benchmark with unseen entities from a graph",
    .details = "SOURCE is anything that import takes. OUT gets train.tsv, unseen-valid.tsv and\n"
               "unseen-test.tsv, made by the six steps of Albooyeh, Goel and Kazemi (2020); with\n"
               "--keep-between also between-valid.tsv and between-test.tsv.",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
