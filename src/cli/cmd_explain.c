/* kgraft explain: which facts make a link of an entity likely, by its vector and along paths in
 * the graph, and what if they were not known? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/explanation_plot.h"
#include "report/text_bars.h"
#include "report/text_table.h"

struct settings {
    cli_common common;
    cli_inference_options inference;
    const char *relation;
    const char *answer;
    const char *side;
    const char *plot;
};

static const char *const sides[] = {"head", "tail", NULL};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {.name = "relation",
     .argument = "NAME",
     .kind = CLI_TEXT,
     .offset = SETTING(relation),
     .help = "the relation of the link"},
    {.name = "answer",
     .argument = "NAME",
     .kind = CLI_TEXT,
     .offset = SETTING(answer),
     .help = "the entity at its other end"},
    {.name = "side",
     .argument = "SIDE",
     .kind = CLI_CHOICE,
     .offset = SETTING(side),
     .help = "the end at which the answer stands: head or tail (default: tail)",
     .choices = sides},
    {.name = "entity",
     .argument = "NAME",
     .kind = CLI_TEXT,
     .offset = SETTING(inference.entity),
     .help = "the new entity, where there are several in FACTS; without FACTS, one that the model "
             "knows"},
    CLI_GRAPH(struct settings),
    {.name = "plot",
     .argument = "FILE.svg",
     .kind = CLI_TEXT,
     .offset = SETTING(plot),
     .help = "also draw the paths that the term propagation reaches the answer along"},
    CLI_OVERRIDE_OPTIONS(SETTING(inference.overrides)),
    CLI_SKIP_UNKNOWN(struct settings),
    CLI_PREFIX(SETTING(inference.prefixes)),
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

struct explainer {
    cli_inference inference;
    cli_subject subject;
    kg_link asked;
    report_explanation made;
};

static cli_contributions contributions_of(const struct explainer *explainer) {
    return (cli_contributions){&explainer->inference, &explainer->subject, explainer->asked,
                               &explainer->made.numbers};
}

static json_t *describe(const struct explainer *explainer, const char *model) {
    json_t *out = json_pack("{so}", "model", kg__json_text(model, strlen(model)));
    json_t *rest = report_explanation_json(&explainer->made);
    bool good = json_object_update(out, rest) == 0;
    json_decref(rest);
    return kg__json_complete(out, good);
}

/* ---- For people ---- */

/* Columns: part, share, rank without, a bar, and what it is. All bars have one scale. */
#define PART_WIDTH 10
#define SHARE_WIDTH 8
#define RANK_WIDTH 14
#define NUMBERS_WIDTH (PART_WIDTH + SHARE_WIDTH + RANK_WIDTH)
#define BAR_MIN 8
#define BAR_MAX 30

static size_t bar_width(void) {
    size_t terminal = report_terminal_width();
    size_t some = terminal > NUMBERS_WIDTH ? (terminal - NUMBERS_WIDTH) / 4 : 0;
    return terminal == 0 || some > BAR_MAX ? BAR_MAX : some < BAR_MIN ? BAR_MIN : some;
}

/* The numbers of a row, and its bar; what it is goes on in the flow. `rank` is a text. */
static report_text_flow start_row(const struct explainer *explainer, double part, const char *rank,
                                  size_t indent) {
    size_t width = bar_width();
    char percent[32];
    snprintf(percent, sizeof percent, "%+.1f%%",
             100 * report_explanation_share(&explainer->made, part));
    report_bar bar = report_signed_bar(width, part, explainer->made.least, explainer->made.most);
    printf("%+*.4f%*s%*s  %s", PART_WIDTH, part, SHARE_WIDTH, percent, RANK_WIDTH, rank, bar.text);
    size_t column = NUMBERS_WIDTH + 2 + width + 2 + indent;
    return report_text_flow_open(NUMBERS_WIDTH + 2 + strlen(bar.text), column, column + 2);
}

/* A rank may be half of a number; there is none without any fact. */
static cli_value rank_text(double rank) {
    cli_value out = {"-"};
    if (!isnan(rank))
        snprintf(out.text, sizeof out.text, "%.15g", rank);
    return out;
}

static kg_status print_piece(const struct explainer *explainer, double part, const char *what,
                             kg_error *error) {
    report_text_flow flow = start_row(explainer, part, "", 2);
    report_text_flow_words(&flow, "%s", what);
    return report_text_flow_end(&flow, error);
}

/* A fact, and what its part is made of, unless that is its vector or propagation alone; and why. */
static kg_status print_share(const struct explainer *explainer, const kg_share *share,
                             kg_error *error) {
    const cli_inference *inference = &explainer->inference;
    cli_contributions contributions = contributions_of(explainer);
    report_text_flow flow =
        start_row(explainer, share->part, rank_text(share->rank_without).text, 0);
    report_text_flow_word(&flow, cli_inference_arrow(inference, share->link.directed));
    report_text_flow_word(
        &flow, cli_inference_show(inference,
                                  kg_model_entity_name(inference->model, share->link.other), ""));
    KG_TRY(report_text_flow_end(&flow, error));
    if (share->part == share->parts[0])
        return KG_OK;
    for (size_t i = 0; i < explainer->made.numbers.term_count; i++) {
        if (share->parts[i] == 0)
            continue;
        const kg_score_term *term = &explainer->made.numbers.terms[i];
        if (share->part != share->parts[i] || !report_term_has_paths(term))
            KG_TRY(print_piece(explainer, share->parts[i], cli_term_title(term), error));
        KG_TRY(cli_contributions_print(&contributions, i, share->link, error));
    }
    return KG_OK;
}

/* What runs through no fact. */
static kg_status print_rest(const struct explainer *explainer, size_t i, kg_error *error) {
    const kg_score_term *term = &explainer->made.numbers.terms[i];
    if (term->rest == 0)
        return KG_OK;
    report_text_flow flow = start_row(explainer, term->rest, "", 0);
    report_text_flow_words(&flow, "%s", cli_rest_title(term).text);
    return report_text_flow_end(&flow, error);
}

static kg_status print_query(const struct explainer *explainer, kg_error *error) {
    const cli_inference *inference = &explainer->inference;
    report_text_flow flow = report_text_flow_open(0, 0, 2);
    report_text_flow_word(&flow, cli_inference_show(inference, explainer->subject.name, ""));
    report_text_flow_word(&flow, cli_inference_arrow(inference, explainer->asked.directed));
    report_text_flow_word(
        &flow, cli_inference_show(
                   inference, kg_model_entity_name(inference->model, explainer->asked.other), ""));
    return report_text_flow_end(&flow, error);
}

/* Where the graph is too large. */
static kg_status print_cuts(const struct explainer *explainer, kg_error *error) {
    const kg_explanation *explanation = &explainer->made.numbers;
    if (explanation->untested_facts > 0) {
        report_text_flow flow = report_text_flow_open(0, 0, 2);
        report_text_flow_words(
            &flow, "learned paths were not computed without %s: there are too many",
            report_counted(explanation->untested_facts, "of the facts", "of the facts").text);
        KG_TRY(report_text_flow_end(&flow, error));
    }
    if (explanation->unexpanded == 0)
        return KG_OK;
    report_text_flow flow = report_text_flow_open(0, 0, 2);
    report_text_flow_words(&flow,
                           "learned paths do not go on from up to %s a step: too "
                           "many links",
                           report_counted(explanation->unexpanded, "entity", "entities").text);
    return report_text_flow_end(&flow, error);
}

static kg_status print(const struct explainer *explainer, kg_error *error) {
    const kg_explanation *explanation = &explainer->made.numbers;
    bool is_new = explainer->inference.entities != NULL;
    bool is_trained =
        explainer->inference.trained == NULL && explainer->inference.model->live == NULL;
    const char *kind = is_trained ? "training " : "";
    KG_TRY(print_query(explainer, error));
    printf("score %.4f", explanation->score);
    if (!isnan(explanation->probability))
        printf(", probability %.4f", (double)explanation->probability);
    printf(", rank %.15g\n", explanation->rank);
    if (explainer->subject.facts == 0)
        printf("it has no facts: by how often candidates are answers\n");
    else if (!is_new)
        printf("by its %s %sfact%s, as if it were new\n",
               report_grouped(explainer->subject.facts).text, kind,
               explainer->subject.facts == 1 ? "" : "s");
    if (report_explanation_is_given(&explainer->made))
        printf("as if this were not one of %s%sfacts%s\n", is_new ? "the " : "its ",
               is_new ? "" : kind, is_new ? " that are given" : "");
    printf("\n%*s%*s%*s  %-*s  fact\n", PART_WIDTH, "part", SHARE_WIDTH, "share", RANK_WIDTH,
           "rank without", (int)bar_width(), "");
    for (size_t i = 0; i < explainer->subject.links; i++)
        KG_TRY(print_share(explainer, &explainer->made.numbers.shares[i], error));
    for (size_t i = 0; i < explanation->term_count; i++)
        KG_TRY(print_rest(explainer, i, error));
    KG_TRY(print_cuts(explainer, error));
    return cli_flush(error);
}

/* ---- The work ---- */

static kg_status check(const struct settings *settings, const cli_context *context,
                       kg_error *error) {
    if (settings->relation == NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected --relation, found none");
    if (settings->answer == NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected --answer, found none");
    KG_TRY(cli_check_apart("plot", settings->plot, settings->inference.graph, error));
    return cli_check_plot(settings->plot, context, error);
}

static kg_status ask(struct explainer *explainer, const struct settings *settings,
                     kg_error *error) {
    cli_inference *inference = &explainer->inference;
    kg_end end = strcmp(settings->side, "tail") == 0 ? KG_HEAD : KG_TAIL;
    kg_id relation = KG_NO_ID;
    if (inference->entities != NULL && inference->count > 1) {
        kg_text first = kg_new_entities_name(inference->entities, 0);
        return kg_fail(error, KG_BAD_INPUT,
                       "expected --entity with one of the %zu new entities in the facts, such as "
                       "%s, found none",
                       inference->count, kg__quote(first.bytes, first.length).text);
    }
    KG_TRY(
        cli_inference_find_relation(inference, &relation, "relation", settings->relation, error));
    explainer->asked.directed = kg_direct(relation, end);
    return cli_inference_find_entity(inference, &explainer->asked.other, "answer", settings->answer,
                                     error);
}

static kg_status explain(struct explainer *explainer, kg_error *error) {
    const cli_inference *inference = &explainer->inference;
    const cli_subject *subject = &explainer->subject;
    KG_TRY(cli_inference_subject(inference, 0, &explainer->subject, error));
    explainer->made = (report_explanation){.workspace = inference->workspace,
                                           .name = subject->name,
                                           .subject = subject->subject,
                                           .facts = subject->facts,
                                           .links = subject->links,
                                           .is_new = inference->entities != NULL,
                                           .asked = explainer->asked};
    return report_explanation_make(&explainer->made, error);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    struct explainer explainer = {0};
    kg_status status = KG_OK;
    KG_TRY(check(settings, context, error));
    KG_CHECK(cli_inference_open(&explainer.inference, &settings->inference, 1, context, error));
    KG_CHECK(ask(&explainer, settings, error));
    KG_CHECK(explain(&explainer, error));
    if (settings->plot != NULL) {
        cli_contributions contributions = contributions_of(&explainer);
        KG_CHECK(cli_contributions_draw(&contributions, settings->plot, error));
    }
    cli_inference_check_calibration(&explainer.inference, context);
    cli_bar_close(context->bar);
    if (context->common->json)
        KG_CHECK(cli_print_json(describe(&explainer, context->arguments[0]), error));
    else
        KG_CHECK(print(&explainer, error));
done:
    report_explanation_free(&explainer.made);
    cli_inference_close(&explainer.inference);
    return status;
}

static const struct settings defaults = {.inference = {.on_error = "stop", .known_by_facts = true},
                                         .side = "tail"};

const cli_command cli_explain = {
    .name = "explain",
    .usage = "MODEL [FACTS] --relation NAME --answer NAME",
    .summary = "split the score of an entity's link over the facts it comes from",
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
