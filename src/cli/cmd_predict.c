/* kgraft predict: what else is true of an entity, new or known? */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cli/inference.h"
#include "cli/json_list.h"
#include "report/text_table.h"

struct settings {
    cli_common common;
    cli_inference_options inference;
    const char *relation; /* NULL: any */
    const char *side;
    uint64_t k;
    double min_probability;
    bool keep_known;
    bool no_echo;
};

static const char *const sides[] = {"head", "tail", "both", NULL};
static const char *const reactions[] = {"stop", "skip", NULL};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    CLI_ENTITY(SETTING(inference.entity)),
    CLI_GRAPH(struct settings),
    {.name = "relation",
     .argument = "NAME",
     .kind = CLI_TEXT,
     .offset = SETTING(relation),
     .help = "ask about this relation only"},
    {.name = "side",
     .argument = "SIDE",
     .kind = CLI_CHOICE,
     .offset = SETTING(side),
     .help = "the end that is asked for: head, tail or both (default: both)",
     .choices = sides},
    {.name = "k",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = SETTING(k),
     .help = "answers in a list (default: 10)"},
    {.name = "keep-known",
     .kind = CLI_FLAG,
     .offset = SETTING(keep_known),
     .help = "also list what is known already, scored as if it were not"},
    {.name = "no-echo",
     .kind = CLI_FLAG,
     .offset = SETTING(no_echo),
     .help = "leave out echoes: answers that another fact links to the entity already"},
    {.name = "min-probability",
     .argument = "P",
     .kind = CLI_NUMBER,
     .offset = SETTING(min_probability),
     .help = "leave out answers that are less probable (default: 0)"},
    CLI_OVERRIDE_OPTIONS(SETTING(inference.overrides)),
    CLI_SKIP_UNKNOWN(struct settings),
    {.name = "on-error",
     .argument = "WHAT",
     .kind = CLI_CHOICE,
     .offset = SETTING(inference.on_error),
     .help = "skip facts that are wrong, report each, and exit with status 2 in the end; or stop "
             "before "
             "any answer (default: skip)",
     .choices = reactions},
    CLI_PREFIX(SETTING(inference.prefixes)),
    CLI_THREADS(SETTING(inference.threads)),
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

/* Lists that are asked for in one call: many share the passes over the entities, and their answers
 * take no more than this. */
#define CALL_SUBJECTS 1024
#define CALL_ANSWERS ((size_t)1 << 20)

struct predictor {
    cli_inference inference;
    cli_stream stream;
    bool is_calibrated;
    double min_probability;
    size_t most; /* answers in a list */

    /* What is asked of each entity: one list over all relations, or one for each side. */
    kg_request templates[2];
    size_t template_count;

    /* Of a call. */
    size_t room; /* entities */
    cli_subject *subjects;
    kg_request *requests; /* template_count of each entity */
    size_t *found;
    kg_answer *answers; /* most of each request */
};

static void close_predictor(struct predictor *predictor) {
    kg__free(predictor->subjects);
    kg__free(predictor->requests);
    kg__free(predictor->found);
    kg__free(predictor->answers);
    cli_stream_close(&predictor->stream);
    cli_inference_close(&predictor->inference);
}

/* ---- What is asked ---- */

static kg_status check_calibration(const struct predictor *predictor,
                                   const struct settings *settings, kg_error *error) {
    if (!(settings->min_probability >= 0 && settings->min_probability <= 1))
        return kg_fail(error, KG_BAD_INPUT, "--min-probability: expected 0 to 1, found %g",
                       settings->min_probability);
    if (settings->min_probability > 0 && !predictor->is_calibrated)
        return kg_fail(error, KG_BAD_INPUT,
                       "--min-probability: expected a model with a calibration, found none (kgraft "
                       "calibrate MODEL DATASET makes one)");
    if (predictor->is_calibrated || settings->relation != NULL)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected --relation, found none: this model has no calibration, and without "
                   "one the scores of different relations cannot be compared (kgraft calibrate "
                   "MODEL DATASET makes one)");
}

static kg_status make_templates(struct predictor *predictor, const struct settings *settings,
                                kg_error *error) {
    bool heads = strcmp(settings->side, "tail") != 0;
    bool tails = strcmp(settings->side, "head") != 0;
    kg_request request = KG_REQUEST_INIT;
    kg_request *templates = predictor->templates;
    request.keep_known = settings->keep_known;
    request.no_echo = settings->no_echo;
    if (settings->relation == NULL) {
        request.heads = heads;
        request.tails = tails;
        templates[predictor->template_count++] = request;
        return KG_OK;
    }
    KG_TRY(cli_inference_find_relation(&predictor->inference, &request.relation, "relation",
                                       settings->relation, error));
    request.tails = true;
    if (tails)
        templates[predictor->template_count++] = request;
    request.tails = false;
    request.heads = true;
    if (heads)
        templates[predictor->template_count++] = request;
    return KG_OK;
}

/* No list is longer than there are links that may hold. */
static size_t longest_list(const struct predictor *predictor, uint64_t k) {
    kg_model_info about = kg__model_describe(predictor->inference.model);
    size_t lists = predictor->templates[0].relation == KG_NO_ID ? 2 * about.relations : 1;
    bool is_all = about.entities < k / lists + 1;
    return is_all ? about.entities * lists : (size_t)k;
}

static kg_status make_room(struct predictor *predictor, kg_error *error) {
    size_t lists = predictor->template_count;
    size_t fitting = CALL_ANSWERS / (lists * predictor->most);
    size_t room = fitting < 1 ? 1 : fitting > CALL_SUBJECTS ? CALL_SUBJECTS : fitting;
    predictor->room = room < predictor->inference.count ? room : predictor->inference.count;
    size_t count = predictor->room * lists;
    predictor->subjects = kg__alloc(predictor->room, sizeof *predictor->subjects);
    predictor->requests = kg__alloc(count, sizeof *predictor->requests);
    predictor->found = kg__alloc(count, sizeof *predictor->found);
    predictor->answers = kg__alloc(count * predictor->most, sizeof *predictor->answers);
    if (predictor->subjects == NULL || predictor->requests == NULL || predictor->found == NULL ||
        predictor->answers == NULL)
        return kg__fail_memory(error);
    return KG_OK;
}

/* ---- As JSON ---- */

/* The answers of all lists of an entity of the call. */
static json_t *describe_answers(const struct predictor *predictor, size_t i) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t template = 0; template <predictor->template_count; template ++) {
        size_t list = i * predictor->template_count + template;
        const kg_answer *answers = predictor->answers + list * predictor->most;
        for (size_t k = 0; k < predictor->found[list] && good; k++)
            good = json_array_append_new(out, report_answer_json(predictor->inference.model,
                                                                 predictor->subjects[i].name,
                                                                 &answers[k], k + 1)) == 0;
    }
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *describe(const struct predictor *predictor, size_t i) {
    const cli_subject *subject = &predictor->subjects[i];
    return json_pack("{so sb sI so}", "entity",
                     kg__json_text(subject->name.bytes, subject->name.length), "new",
                     predictor->inference.entities != NULL, "facts", (json_int_t)subject->facts,
                     "answers", describe_answers(predictor, i));
}

/* ---- For people ---- */

/* The directed relation that all answers of a list have, or the one that it was asked for;
 * KG_NO_QUERY if they have several. */
static kg_directed common_relation(const struct predictor *predictor, size_t list,
                                   const kg_request *request) {
    const kg_answer *answers = predictor->answers + list * predictor->most;
    size_t count = predictor->found[list];
    if (request->relation != KG_NO_ID)
        return kg_direct(request->relation, request->tails ? KG_HEAD : KG_TAIL);
    for (size_t k = 1; k < count; k++)
        if (answers[k].directed != answers[0].directed)
            return KG_NO_QUERY;
    return count == 0 ? KG_NO_QUERY : answers[0].directed;
}

/* "wolf, 3 facts" and, where all answers have one relation, "-hypernym-> ?". */
static kg_status print_heading(const struct predictor *predictor, const cli_subject *subject,
                               kg_directed common, kg_error *error) {
    bool is_asked = common != KG_NO_QUERY;
    report_text_flow flow = report_text_flow_open(0, 0, 2);
    report_text_flow_word(&flow, cli_inference_show(&predictor->inference, subject->name, ","));
    report_text_flow_words(&flow, "%s%s", report_counted(subject->facts, "fact", "facts").text,
                           is_asked ? ":" : "");
    if (is_asked) {
        report_text_flow_word(&flow, cli_inference_arrow(&predictor->inference, common));
        report_text_flow_words(&flow, "?");
    }
    return report_text_flow_end(&flow, error);
}

static void fill_table(report_table *table, const struct predictor *predictor, size_t list,
                       bool has_relations) {
    const kg_answer *answers = predictor->answers + list * predictor->most;
    const cli_inference *inference = &predictor->inference;
    for (size_t k = 0; k < predictor->found[list]; k++) {
        report_table_addf(table, "%zu", k + 1);
        if (predictor->is_calibrated)
            report_table_addf(table, "%.4f", (double)answers[k].probability);
        report_table_addf(table, "%.4f", (double)answers[k].score);
        if (has_relations)
            report_table_take(table, cli_inference_arrow(inference, answers[k].directed));
        report_table_take(
            table, cli_inference_show(
                       inference, kg_model_entity_name(inference->model, answers[k].entity), ""));
    }
}

static kg_status print_list(const struct predictor *predictor, size_t i, size_t template,
                            kg_error *error) {
    const cli_subject *subject = &predictor->subjects[i];
    size_t list = i * predictor->template_count + template;
    kg_directed common = common_relation(predictor, list, &predictor->templates[template]);
    report_column columns[5];
    size_t count = 0;
    report_table table;
    KG_TRY(print_heading(predictor, subject, common, error));
    if (predictor->found[list] == 0) {
        printf("  no answer%s\n\n", predictor->min_probability > 0 ? " that is probable enough"
                                                                   : " that is not known already");
        return KG_OK;
    }
    columns[count++] = (report_column){"rank", REPORT_NUMBERS};
    if (predictor->is_calibrated)
        columns[count++] = (report_column){"probability", REPORT_NUMBERS};
    columns[count++] = (report_column){"score", REPORT_NUMBERS};
    if (common == KG_NO_QUERY)
        columns[count++] = (report_column){"relation", REPORT_NAMES};
    columns[count++] = (report_column){"answer", REPORT_NAMES};
    report_table_open(&table, columns, count);
    fill_table(&table, predictor, list, common == KG_NO_QUERY);
    kg_status status = report_table_print(&table, error);
    putchar('\n');
    report_table_close(&table);
    return status;
}

/* ---- The work ---- */

static kg_status show(struct predictor *predictor, size_t i, bool as_json, kg_error *error) {
    if (as_json)
        return cli_stream_add(&predictor->stream, describe(predictor, i), error);
    for (size_t template = 0; template <predictor->template_count; template ++)
        KG_TRY(print_list(predictor, i, template, error));
    return KG_OK;
}

static void leave_out_improbable(struct predictor *predictor, size_t list) {
    kg_answer *answers = predictor->answers + list * predictor->most;
    size_t kept = 0;
    if (predictor->min_probability == 0)
        return;
    for (size_t k = 0; k < predictor->found[list]; k++)
        if (answers[k].probability >= (float)predictor->min_probability)
            answers[kept++] = answers[k];
    predictor->found[list] = kept;
}

/* The entities from `from` on, as many as there is room for. */
static kg_status predict_some(struct predictor *predictor, size_t from, size_t count,
                              kg_error *error) {
    for (size_t i = 0; i < count; i++) {
        cli_subject *subject = &predictor->subjects[i];
        KG_TRY(cli_inference_subject(&predictor->inference, from + i, subject, error));
        for (size_t template = 0; template <predictor->template_count; template ++) {
            kg_request *request = &predictor->requests[i * predictor->template_count + template];
            *request = predictor->templates[template];
            request->subject = subject->subject;
        }
    }
    size_t lists = count * predictor->template_count;
    KG_TRY(kg_workspace_predict(predictor->answers, predictor->found,
                                predictor->inference.workspace, predictor->requests, lists,
                                predictor->most, error));
    for (size_t i = 0; i < lists; i++)
        leave_out_improbable(predictor, i);
    return KG_OK;
}

static kg_status predict(struct predictor *predictor, cli_context *context, kg_error *error) {
    size_t all = predictor->inference.count;
    for (size_t from = 0; from < all; from += predictor->room) {
        size_t count = all - from < predictor->room ? all - from : predictor->room;
        kg_progress_report report = {
            .stage = "predicting", .unit = "entities", .done = from, .total = all};
        KG_TRY(kg__progress_tick(&context->progress, &report, error));
        KG_TRY(predict_some(predictor, from, count, error));
        cli_bar_close(context->bar);
        for (size_t i = 0; i < count; i++)
            KG_TRY(show(predictor, i, context->common->json, error));
        KG_TRY(cli_flush(error));
    }
    return context->common->json ? cli_stream_finish(&predictor->stream, error) : KG_OK;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    struct predictor predictor = {0};
    kg_status status = KG_OK;
    KG_TRY(cli_check_answers(settings->k, error));
    KG_CHECK(cli_inference_open(&predictor.inference, &settings->inference, settings->k, context,
                                error));
    predictor.is_calibrated = kg__model_describe(predictor.inference.model).is_calibrated;
    predictor.min_probability = settings->min_probability;
    KG_CHECK(check_calibration(&predictor, settings, error));
    cli_inference_check_calibration(&predictor.inference, context);
    KG_CHECK(make_templates(&predictor, settings, error));
    predictor.most = longest_list(&predictor, settings->k);
    KG_CHECK(make_room(&predictor, error));
    if (context->common->json)
        KG_CHECK(cli_stream_open_calibrated(&predictor.stream, context->arguments[0],
                                            report_calibration_json(predictor.inference.workspace),
                                            error));
    KG_CHECK(predict(&predictor, context, error));
    KG_CHECK(cli_inference_end(&predictor.inference, error));
done:
    close_predictor(&predictor);
    return status;
}

static const struct settings defaults = {
    .inference = {.on_error = "skip"}, .side = "both", .k = 10};

const cli_command cli_predict = {
    .name = "predict",
    .usage = "MODEL [FACTS]",
    .summary = "predict links of new entities from a few facts, or of known ones",
    .details =
        "FACTS is a file of head, relation and tail in which one end of each fact is new to\n"
        "MODEL: TSV (- is standard input), or RDF if its name ends in .nt, .ttl, .nq or .trig.\n"
        "Without it, --entity names one that is known. With --graph, all of this is about another\n"
        "graph than the one that MODEL was trained on. MODEL may be a store.",
    .min_arguments = 1,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
