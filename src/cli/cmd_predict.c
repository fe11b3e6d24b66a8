/* kgraft predict: what else is true of an entity, new or known? */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cli/grafting.h"
#include "cli/stream.h"
#include "cli/table.h"

struct settings {
    cli_common common;
    cli_grafting grafting;
    const char *relation; /* NULL: any */
    const char *side;
    uint64_t k;
    bool keep_known;
};

static const char *const sides[] = {"head", "tail", "both", NULL};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {"entity", "NAME", CLI_TEXT, SETTING(grafting.entity),
     "one of the new entities; without FACTS, one that the model knows", NULL},
    {"relation", "NAME", CLI_TEXT, SETTING(relation), "ask about this relation only", NULL},
    {"side", "SIDE", CLI_CHOICE, SETTING(side),
     "the end that is asked for: head, tail or both (default: both)", sides},
    {"k", "N", CLI_COUNT, SETTING(k), "answers in a list (default: 10)", NULL},
    {"keep-known", NULL, CLI_FLAG, SETTING(keep_known),
     "also list what is known already, scored as if it were not", NULL},
    CLI_WISHES(SETTING(grafting.wish)),
    CLI_GRAFT_SKIP_UNKNOWN(struct settings),
    {"threads", "N", CLI_COUNT, SETTING(grafting.threads),
     "default: all processors; no influence on the result", NULL},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

/* Lists that are asked for in one call: many share the passes over the entities, and their answers
 * take no more than this. */
#define CALL_SUBJECTS 1024
#define CALL_ANSWERS ((size_t)1 << 20)

struct predictor {
    cli_graft graft;
    cli_stream stream;
    bool is_calibrated;
    size_t most; /* answers in a list */

    /* What is asked of each entity: one list over all relations, or one for each side. */
    kg_request wishes[2];
    size_t wish_count;

    /* Of a call. */
    size_t room; /* entities */
    cli_subject *subjects;
    kg_request *requests; /* wish_count of each entity */
    size_t *found;
    kg_answer *answers; /* most of each request */
};

static void close_predictor(struct predictor *predictor) {
    kg_free(predictor->subjects);
    kg_free(predictor->requests);
    kg_free(predictor->found);
    kg_free(predictor->answers);
    cli_stream_close(&predictor->stream);
    cli_graft_close(&predictor->graft);
}

/* ---- What is asked ---- */

static kg_status check_calibration(const struct predictor *predictor,
                                   const struct settings *settings, kg_error *error) {
    if (predictor->is_calibrated || settings->relation != NULL)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected --relation, found none: this model has no calibration, and without "
                   "one the scores of different relations cannot be compared (kgraft calibrate "
                   "MODEL DATASET makes one)");
}

static kg_status make_wishes(struct predictor *predictor, const struct settings *settings,
                             kg_error *error) {
    bool heads = strcmp(settings->side, "tail") != 0;
    bool tails = strcmp(settings->side, "head") != 0;
    kg_request wish = {.relation = KG_NO_ID, .keep_known = settings->keep_known};
    kg_request *wishes = predictor->wishes;
    if (settings->relation == NULL) {
        wish.heads = heads;
        wish.tails = tails;
        wishes[predictor->wish_count++] = wish;
        return KG_OK;
    }
    KG_TRY(cli_graft_find_relation(&predictor->graft, &wish.relation, "relation",
                                   settings->relation, error));
    wish.tails = true;
    if (tails)
        wishes[predictor->wish_count++] = wish;
    wish.tails = false;
    wish.heads = true;
    if (heads)
        wishes[predictor->wish_count++] = wish;
    return KG_OK;
}

/* No list is longer than there are links that may hold. */
static size_t longest_list(const struct predictor *predictor, uint64_t k) {
    kg_about about = kg_describe(predictor->graft.model);
    size_t lists = predictor->wishes[0].relation == KG_NO_ID ? 2 * about.relations : 1;
    bool is_all = about.entities < k / lists + 1;
    return is_all ? about.entities * lists : (size_t)k;
}

static kg_status make_room(struct predictor *predictor, kg_error *error) {
    size_t lists = predictor->wish_count;
    size_t fitting = CALL_ANSWERS / (lists * predictor->most);
    size_t room = fitting < 1 ? 1 : fitting > CALL_SUBJECTS ? CALL_SUBJECTS : fitting;
    predictor->room = room < predictor->graft.count ? room : predictor->graft.count;
    size_t count = predictor->room * lists;
    predictor->subjects = kg_alloc(predictor->room, sizeof *predictor->subjects);
    predictor->requests = kg_alloc(count, sizeof *predictor->requests);
    predictor->found = kg_alloc(count, sizeof *predictor->found);
    predictor->answers = kg_alloc(count * predictor->most, sizeof *predictor->answers);
    if (predictor->subjects == NULL || predictor->requests == NULL || predictor->found == NULL ||
        predictor->answers == NULL)
        return kg_fail_memory(error);
    return KG_OK;
}

/* ---- As JSON ---- */

static json_t *describe_answer(const struct predictor *predictor, const cli_subject *subject,
                               const kg_answer *answer, size_t rank) {
    kg_link link = {answer->directed, answer->entity};
    cli_fact fact = cli_graft_fact(&predictor->graft, subject, link);
    bool is_head = kg_directed_end(answer->directed) == KG_HEAD;
    kg_text entity = fact.names[is_head ? 2 : 0];
    json_t *rest = json_pack(
        "{sI ss so so so}", "rank", (json_int_t)rank, "side", is_head ? "tail" : "head", "entity",
        kg_json_text(entity.bytes, entity.length), "score", cli_float_json(answer->score),
        "probability", cli_float_json(answer->probability));
    json_t *out = cli_fact_json(&fact);
    if (out != NULL && json_object_update(out, rest) == 0) {
        json_decref(rest);
        return out;
    }
    json_decref(rest);
    json_decref(out);
    return NULL;
}

/* The answers of all lists of an entity of the call. */
static json_t *describe_answers(const struct predictor *predictor, size_t i) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t wish = 0; wish < predictor->wish_count; wish++) {
        size_t list = i * predictor->wish_count + wish;
        const kg_answer *answers = predictor->answers + list * predictor->most;
        for (size_t k = 0; k < predictor->found[list] && good; k++)
            good = json_array_append_new(out, describe_answer(predictor, &predictor->subjects[i],
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
                     kg_json_text(subject->name.bytes, subject->name.length), "new",
                     predictor->graft.newcomers != NULL, "facts", (json_int_t)subject->facts,
                     "answers", describe_answers(predictor, i));
}

/* ---- For people ---- */

/* "wolf, 3 facts" and, where one relation is asked about, the question. */
static kg_status print_heading(const struct predictor *predictor, const cli_subject *subject,
                               const kg_request *request, kg_error *error) {
    KG_TRY(cli_print_text(subject->name, error));
    printf(", %s", cli_counted(subject->facts, "fact", "facts").text);
    if (request->relation != KG_NO_ID) {
        printf(": %s", request->heads ? "?  " : "");
        if (request->tails)
            KG_TRY(cli_print_text(subject->name, error));
        printf("%s", request->tails ? "  " : "");
        KG_TRY(cli_print_text(kg_relation_name(predictor->graft.model, request->relation), error));
        printf("  %s", request->tails ? "?" : "");
        if (request->heads)
            KG_TRY(cli_print_text(subject->name, error));
    }
    putchar('\n');
    return KG_OK;
}

/* Names share what the numbers leave of a terminal's width. */
#define NUMBERS_WIDTH 36
#define NAME_WIDTH_MIN 12

static void fill_table(cli_table *table, const struct predictor *predictor,
                       const cli_subject *subject, size_t list) {
    const kg_answer *answers = predictor->answers + list * predictor->most;
    size_t terminal = cli_terminal_width();
    if (terminal > 0)
        table->widest = terminal > NUMBERS_WIDTH + 3 * NAME_WIDTH_MIN
                            ? (terminal - NUMBERS_WIDTH) / 3
                            : NAME_WIDTH_MIN;
    for (size_t k = 0; k < predictor->found[list]; k++) {
        kg_link link = {answers[k].directed, answers[k].entity};
        cli_fact fact = cli_graft_fact(&predictor->graft, subject, link);
        cli_table_addf(table, "%zu", k + 1);
        if (predictor->is_calibrated)
            cli_table_addf(table, "%.4f", (double)answers[k].probability);
        cli_table_addf(table, "%.4f", (double)answers[k].score);
        for (size_t i = 0; i < 3; i++)
            cli_table_add(table, fact.names[i]);
    }
}

static kg_status print_list(const struct predictor *predictor, size_t i, size_t wish,
                            kg_error *error) {
    static const cli_column columns[] = {{"rank", CLI_NUMBERS},   {"probability", CLI_NUMBERS},
                                         {"score", CLI_NUMBERS},  {"head", CLI_NAMES},
                                         {"relation", CLI_NAMES}, {"tail", CLI_NAMES}};
    static const cli_column plain[] = {{"rank", CLI_NUMBERS},
                                       {"score", CLI_NUMBERS},
                                       {"head", CLI_NAMES},
                                       {"relation", CLI_NAMES},
                                       {"tail", CLI_NAMES}};
    const cli_subject *subject = &predictor->subjects[i];
    size_t list = i * predictor->wish_count + wish;
    cli_table table;
    KG_TRY(print_heading(predictor, subject, &predictor->wishes[wish], error));
    if (predictor->found[list] == 0) {
        printf("  no answer that is not known already\n\n");
        return KG_OK;
    }
    if (predictor->is_calibrated)
        cli_table_open(&table, columns, sizeof columns / sizeof *columns);
    else
        cli_table_open(&table, plain, sizeof plain / sizeof *plain);
    fill_table(&table, predictor, subject, list);
    kg_status status = cli_table_print(&table, error);
    putchar('\n');
    cli_table_close(&table);
    return status;
}

/* ---- The work ---- */

static kg_status show(struct predictor *predictor, size_t i, bool as_json, kg_error *error) {
    if (as_json)
        return cli_stream_add(&predictor->stream, describe(predictor, i), error);
    for (size_t wish = 0; wish < predictor->wish_count; wish++)
        KG_TRY(print_list(predictor, i, wish, error));
    return KG_OK;
}

/* The entities from `from` on, as many as there is room for. */
static kg_status predict_some(struct predictor *predictor, size_t from, size_t count,
                              kg_error *error) {
    for (size_t i = 0; i < count; i++) {
        cli_subject *subject = &predictor->subjects[i];
        KG_TRY(cli_graft_subject(&predictor->graft, from + i, subject, error));
        for (size_t wish = 0; wish < predictor->wish_count; wish++) {
            kg_request *request = &predictor->requests[i * predictor->wish_count + wish];
            *request = predictor->wishes[wish];
            request->subject = subject->subject;
        }
    }
    return kg_predict(predictor->graft.workspace, predictor->answers, predictor->found,
                      predictor->requests, count * predictor->wish_count, predictor->most, error);
}

static kg_status predict(struct predictor *predictor, cli_context *context, kg_error *error) {
    size_t all = predictor->graft.count;
    for (size_t from = 0; from < all; from += predictor->room) {
        size_t count = all - from < predictor->room ? all - from : predictor->room;
        kg_progress_report report = {"predicting", "entities", from, all, NULL};
        KG_TRY(kg_progress_tick(&context->progress, &report, error));
        KG_TRY(predict_some(predictor, from, count, error));
        kg_bar_close(context->bar);
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
    KG_CHECK(cli_graft_open(&predictor.graft, &settings->grafting, settings->k, context, error));
    predictor.is_calibrated = kg_describe(predictor.graft.model).is_calibrated;
    KG_CHECK(check_calibration(&predictor, settings, error));
    cli_graft_check_calibration(&predictor.graft, context);
    KG_CHECK(make_wishes(&predictor, settings, error));
    predictor.most = longest_list(&predictor, settings->k);
    KG_CHECK(make_room(&predictor, error));
    if (context->common->json)
        KG_CHECK(cli_stream_open_calibrated(&predictor.stream, context->arguments[0],
                                            cli_graft_calibration_json(&predictor.graft), error));
    KG_CHECK(predict(&predictor, context, error));
done:
    close_predictor(&predictor);
    return status;
}

static const struct settings defaults = {
    .grafting = CLI_GRAFTING_DEFAULTS, .side = "both", .k = 10};

const cli_command cli_predict = {
    .name = "predict",
    .usage = "MODEL [FACTS]",
    .summary = "predict links of new entities from a few facts, or of known ones",
    .details = "FACTS is a TSV file of head, relation and tail (- is standard input) in which one\n"
               "end of each fact is new to MODEL. Without it, --entity names one that is known.",
    .min_arguments = 1,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
