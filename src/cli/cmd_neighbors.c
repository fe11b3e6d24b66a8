/* kgraft neighbors: which entities are most like a new or a known one? */
#include <math.h>

#include "base/memory.h"
#include "cli/inference.h"
#include "cli/stream.h"
#include "cli/table.h"

struct settings {
    cli_common common;
    cli_inference_options grafting;
    uint64_t k;
};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {"entity", "NAME", CLI_TEXT, SETTING(grafting.entity),
     "one of the new entities; without FACTS, one that the model knows", NULL},
    {"k", "N", CLI_COUNT, SETTING(k), "neighbors of each (default: 10)", NULL},
    CLI_OVERRIDESES(SETTING(grafting.wish)),
    CLI_GRAFT_SKIP_UNKNOWN(struct settings),
    CLI_PREFIX(SETTING(grafting.prefixes)),
    {"threads", "N", CLI_COUNT, SETTING(grafting.threads),
     "default: all processors; no influence on the result", NULL},
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
    kg_text name = kg_entity_name(model, answer->entity);
    return json_pack("{sI so so}", "rank", (json_int_t)rank, "entity",
                     kg__json_text(name.bytes, name.length), "cosine",
                     cli_float_json(answer->score));
}

static json_t *describe(const cli_inference *graft, const struct nearest *nearest) {
    const cli_subject *subject = &nearest->subject;
    json_t *neighbors = json_array();
    bool good = neighbors != NULL;
    for (size_t k = 0; k < nearest->found && good; k++)
        good = json_array_append_new(
                   neighbors, describe_neighbor(graft->model, &nearest->answers[k], k + 1)) == 0;
    if (!good) {
        json_decref(neighbors);
        return NULL;
    }
    return json_pack(
        "{so sb sI so}", "entity", kg__json_text(subject->name.bytes, subject->name.length), "new",
        graft->newcomers != NULL, "facts", (json_int_t)subject->facts, "neighbors", neighbors);
}

static kg_status print(const cli_inference *graft, const struct nearest *nearest, kg_error *error) {
    static const cli_column columns[] = {
        {"rank", CLI_NUMBERS}, {"cosine", CLI_NUMBERS}, {"entity", CLI_NAMES}};
    cli_table table;
    cli_text_flow flow = cli_text_flow_open(0, 0, 2);
    cli_text_flow_word(&flow, cli_inference_show(graft, nearest->subject.name, ","));
    cli_text_flow_words(&flow, "%s", report_counted(nearest->subject.facts, "fact", "facts").text);
    KG_TRY(cli_text_flow_end(&flow, error));
    if (nearest->found == 0) {
        printf("  none: its vector has no direction\n\n");
        return cli_flush(error);
    }
    cli_table_open(&table, columns, sizeof columns / sizeof *columns);
    for (size_t k = 0; k < nearest->found; k++) {
        cli_table_addf(&table, "%zu", k + 1);
        cli_table_addf(&table, "%.4f", (double)nearest->answers[k].score);
        kg_text name = kg_entity_name(graft->model, nearest->answers[k].entity);
        cli_table_take(&table, cli_inference_show(graft, name, ""));
    }
    kg_status status = cli_table_print(&table, error);
    putchar('\n');
    cli_table_close(&table);
    return status == KG_OK ? cli_flush(error) : status;
}

static kg_status find_all(const cli_inference *graft, cli_stream *stream, struct nearest *nearest,
                          size_t most, cli_context *context, kg_error *error) {
    for (size_t i = 0; i < graft->count; i++) {
        kg_progress_report report = {"searching", "entities", i, graft->count, NULL};
        KG_TRY(kg__progress_tick(&context->progress, &report, error));
        KG_TRY(cli_inference_subject(graft, i, &nearest->subject, error));
        KG_TRY(kg_neighbors(graft->workspace, nearest->answers, &nearest->found,
                            nearest->subject.subject, most, error));
        kg__bar_close(context->bar);
        if (context->common->json)
            KG_TRY(cli_stream_add(stream, describe(graft, nearest), error));
        else
            KG_TRY(print(graft, nearest, error));
    }
    return context->common->json ? cli_stream_finish(stream, error) : KG_OK;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    cli_inference graft = {0};
    cli_stream stream = {0};
    struct nearest nearest = {0};
    kg_status status = KG_OK;
    KG_TRY(cli_check_answers(settings->k, error));
    KG_CHECK(cli_inference_open(&graft, &settings->grafting, settings->k, context, error));
    size_t entities = kg_describe(graft.model).entities;
    size_t most = settings->k < entities ? (size_t)settings->k : entities;
    nearest.answers = kg__alloc(most, sizeof *nearest.answers);
    if (nearest.answers == NULL) {
        status = kg__fail_memory(error);
        goto done;
    }
    if (context->common->json)
        KG_CHECK(cli_stream_open(&stream, context->arguments[0], error));
    KG_CHECK(find_all(&graft, &stream, &nearest, most, context, error));
done:
    kg__free(nearest.answers);
    cli_stream_close(&stream);
    cli_inference_close(&graft);
    return status;
}

static const struct settings defaults = {.grafting = CLI_INFERENCE_DEFAULTS, .k = 10};

const cli_command cli_neighbors = {
    .name = "neighbors",
    .usage = "MODEL [FACTS]",
    .summary = "find the entities most like new or known ones",
    .details =
        "FACTS is a file of head, relation and tail in which one end of each fact is new to\n"
        "MODEL: TSV (- is standard input), or RDF if its name ends in .nt, .ttl, .nq or .trig.\n"
        "Without it, --entity names one that is known.",
    .min_arguments = 1,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
