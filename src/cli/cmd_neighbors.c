/* kgraft neighbors: which entities are most like a new or a known one? */
#include <math.h>

#include "base/memory.h"
#include "cli/inference.h"
#include "cli/json_list.h"
#include "report/text_table.h"

struct settings {
    cli_common common;
    cli_inference_options inference;
    uint64_t k;
};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    CLI_ENTITY(SETTING(inference.entity)),
    {.name = "k",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = SETTING(k),
     .help = "neighbors of each (default: 10)"},
    CLI_OVERRIDE_OPTIONS(SETTING(inference.overrides)),
    CLI_SKIP_UNKNOWN(struct settings),
    CLI_PREFIX(SETTING(inference.prefixes)),
    CLI_THREADS(SETTING(inference.threads)),
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

/* The nearest of one entity. */
struct nearest {
    cli_subject subject;
    kg_answer *answers;
    size_t found;
};

static json_t *describe_neighbor(const kg_model *model, const kg_answer *answer, size_t rank) {
    kg_text name = kg_model_entity_name(model, answer->entity);
    return json_pack("{sI so so}", "rank", (json_int_t)rank, "entity",
                     kg__json_text(name.bytes, name.length), "cosine",
                     report_float_json(answer->score));
}

static json_t *describe(const cli_inference *inference, const struct nearest *nearest) {
    const cli_subject *subject = &nearest->subject;
    json_t *neighbors = json_array();
    bool good = neighbors != NULL;
    for (size_t k = 0; k < nearest->found && good; k++)
        good =
            json_array_append_new(
                neighbors, describe_neighbor(inference->model, &nearest->answers[k], k + 1)) == 0;
    if (!good) {
        json_decref(neighbors);
        return NULL;
    }
    return json_pack(
        "{so sb sI so}", "entity", kg__json_text(subject->name.bytes, subject->name.length), "new",
        inference->entities != NULL, "facts", (json_int_t)subject->facts, "neighbors", neighbors);
}

static kg_status print(const cli_inference *inference, const struct nearest *nearest,
                       kg_error *error) {
    static const report_column columns[] = {
        {"rank", REPORT_NUMBERS}, {"cosine", REPORT_NUMBERS}, {"entity", REPORT_NAMES}};
    report_table table;
    report_text_flow flow = report_text_flow_open(0, 0, 2);
    report_text_flow_word(&flow, cli_inference_show(inference, nearest->subject.name, ","));
    report_text_flow_words(&flow, "%s",
                           report_counted(nearest->subject.facts, "fact", "facts").text);
    KG_TRY(report_text_flow_end(&flow, error));
    if (nearest->found == 0) {
        printf("  none: its vector has no direction\n\n");
        return cli_flush(error);
    }
    report_table_open(&table, columns, sizeof columns / sizeof *columns);
    for (size_t k = 0; k < nearest->found; k++) {
        report_table_addf(&table, "%zu", k + 1);
        report_table_addf(&table, "%.4f", (double)nearest->answers[k].score);
        kg_text name = kg_model_entity_name(inference->model, nearest->answers[k].entity);
        report_table_take(&table, cli_inference_show(inference, name, ""));
    }
    kg_status status = report_table_print(&table, error);
    putchar('\n');
    report_table_close(&table);
    return status == KG_OK ? cli_flush(error) : status;
}

static kg_status find_all(const cli_inference *inference, cli_stream *stream,
                          struct nearest *nearest, size_t most, cli_context *context,
                          kg_error *error) {
    for (size_t i = 0; i < inference->count; i++) {
        kg_progress_report report = {
            .stage = "searching", .unit = "entities", .done = i, .total = inference->count};
        KG_TRY(kg__progress_tick(&context->progress, &report, error));
        KG_TRY(cli_inference_subject(inference, i, &nearest->subject, error));
        KG_TRY(kg_workspace_neighbors(nearest->answers, &nearest->found, inference->workspace,
                                      nearest->subject.subject, most, error));
        cli_bar_close(context->bar);
        if (context->common->json)
            KG_TRY(cli_stream_add(stream, describe(inference, nearest), error));
        else
            KG_TRY(print(inference, nearest, error));
    }
    return context->common->json ? cli_stream_finish(stream, error) : KG_OK;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    cli_inference inference = {0};
    cli_stream stream = {0};
    struct nearest nearest = {0};
    kg_status status = KG_OK;
    KG_TRY(cli_check_answers(settings->k, error));
    KG_CHECK(cli_inference_open(&inference, &settings->inference, settings->k, context, error));
    size_t entities = kg__model_describe(inference.model).entities;
    size_t most = settings->k < entities ? (size_t)settings->k : entities;
    nearest.answers = kg__alloc(most, sizeof *nearest.answers);
    if (nearest.answers == NULL) {
        status = kg__fail_memory(error);
        goto done;
    }
    if (context->common->json)
        KG_CHECK(cli_stream_open(&stream, context->arguments[0], error));
    KG_CHECK(find_all(&inference, &stream, &nearest, most, context, error));
done:
    kg__free(nearest.answers);
    cli_stream_close(&stream);
    cli_inference_close(&inference);
    return status;
}

static const struct settings defaults = {.inference = CLI_INFERENCE_DEFAULTS, .k = 10};

const cli_command cli_neighbors = {
    .name = "neighbors",
    .usage = "MODEL [FACTS]",
    .summary = "find the entities most similar to new or known ones",
    .details =
        "FACTS is a file of head, relation and tail in which one end of each fact is new to\n"
        "MODEL: TSV (- is standard input), or RDF if its name ends in .nt, .ttl, .nq or .trig.\n"
        "Without it, --entity names one that is known. MODEL may be a store.",
    .min_arguments = 1,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
