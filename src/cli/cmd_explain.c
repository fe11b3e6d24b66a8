/* kgraft explain: which facts make a new entity's link likely, what if they were not known, and
 * what else speaks for it? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/bars.h"
#include "cli/table.h"
#include "cli/testimony.h"

struct settings {
    cli_common common;
    cli_grafting grafting;
    const char *relation;
    const char *answer;
    const char *side;
};

static const char *const sides[] = {"head", "tail", NULL};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {"relation", "NAME", CLI_TEXT, SETTING(relation), "the relation of the link", NULL},
    {"answer", "NAME", CLI_TEXT, SETTING(answer), "the entity at its other end", NULL},
    {"side", "SIDE", CLI_CHOICE, SETTING(side),
     "the end at which the answer stands: head or tail (default: tail)", sides},
    {"entity", "NAME", CLI_TEXT, SETTING(grafting.entity),
     "the new entity, where there are several in FACTS", NULL},
    CLI_WISHES(SETTING(grafting.wish)),
    CLI_GRAFT_SKIP_UNKNOWN(struct settings),
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

struct explainer {
    cli_graft graft;
    cli_subject subject;
    kg_link asked;
    kg_explanation explanation;
    kg_share *shares;  /* the largest parts first */
    double magnitudes; /* of all parts, summed */
};

/* Whether the link is one of the entity's facts: then the library leaves it out. */
static bool is_given(const struct explainer *explainer) {
    kg_subject subject = explainer->subject.subject;
    for (size_t i = 0; i < subject.count; i++)
        if (subject.links[i].directed == explainer->asked.directed &&
            subject.links[i].other == explainer->asked.other)
            return true;
    return false;
}

/* ---- As JSON ---- */

/* Of the summed magnitudes, so that a score near 0 does not blow it up. */
static double share_of(const struct explainer *explainer, const kg_share *share) {
    return explainer->magnitudes > 0 ? share->part / explainer->magnitudes : 0;
}

static json_t *describe_share(const struct explainer *explainer, const kg_share *share) {
    cli_fact fact = cli_graft_fact(&explainer->graft, &explainer->subject, share->link);
    json_t *out = cli_fact_json(&fact);
    if (json_object_set_new(out, "weight", cli_number_json(share->weight)) == 0 &&
        json_object_set_new(out, "part", cli_number_json(share->part)) == 0 &&
        json_object_set_new(out, "echo", cli_number_json(share->echo)) == 0 &&
        json_object_set_new(out, "share", cli_number_json(share_of(explainer, share))) == 0 &&
        json_object_set_new(out, "rank_without", cli_number_json(share->rank_without)) == 0)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *describe_shares(const struct explainer *explainer) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; i < explainer->subject.facts && good; i++)
        good = json_array_append_new(out, describe_share(explainer, &explainer->shares[i])) == 0;
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

static cli_testimony testimony_of(const struct explainer *explainer) {
    return (cli_testimony){&explainer->graft, &explainer->subject, explainer->asked,
                           explainer->explanation.evidence, explainer->magnitudes};
}

static json_t *describe(const struct explainer *explainer, const char *model) {
    const cli_subject *subject = &explainer->subject;
    const kg_explanation *explanation = &explainer->explanation;
    cli_fact fact = cli_graft_fact(&explainer->graft, subject, explainer->asked);
    bool is_head = kg_directed_end(explainer->asked.directed) == KG_HEAD;
    json_t *link = cli_fact_json(&fact);
    cli_testimony testimony = testimony_of(explainer);
    json_t *out = json_pack(
        "{so so so sI ss sb so so so so so}", "model", kg_json_text(model, strlen(model)),
        "calibration", cli_graft_calibration_json(&explainer->graft), "entity",
        kg_json_text(subject->name.bytes, subject->name.length), "facts",
        (json_int_t)subject->facts, "side", is_head ? "tail" : "head", "given", is_given(explainer),
        "score", cli_number_json(explanation->score), "probability",
        cli_float_json(explanation->probability), "rank", cli_number_json(explanation->rank),
        "shares", describe_shares(explainer), "evidence", cli_testimony_json(&testimony));
    if (out != NULL && json_object_update(out, link) == 0) {
        json_decref(link);
        return out;
    }
    json_decref(link);
    json_decref(out);
    return NULL;
}

/* ---- For people ---- */

static const cli_column columns[] = {
    {"head", CLI_NAMES},   {"relation", CLI_NAMES}, {"tail", CLI_NAMES},
    {"part", CLI_NUMBERS}, {"share", CLI_NUMBERS},  {"rank without", CLI_NUMBERS},
    {"", CLI_OTHERS},
};
enum { HEAD, RELATION, TAIL, PART, SHARE, RANK, BAR, COLUMNS };

#define BAR_MIN 12
#define BAR_MAX 40
#define NAME_MIN 8

/* A rank may be half of a number; there is none without any fact. */
static void add_rank(cli_table *table, double rank) {
    if (isnan(rank))
        cli_table_addf(table, "-");
    else
        cli_table_addf(table, "%.15g", rank);
}

static void fill_table(cli_table *table, const struct explainer *explainer, size_t bar_width) {
    double least = 0;
    double most = 0;
    for (size_t i = 0; i < explainer->subject.facts; i++) {
        least = fmin(least, explainer->shares[i].part);
        most = fmax(most, explainer->shares[i].part);
    }
    for (size_t i = 0; i < explainer->subject.facts; i++) {
        const kg_share *share = &explainer->shares[i];
        cli_fact fact = cli_graft_fact(&explainer->graft, &explainer->subject, share->link);
        for (size_t k = 0; k < 3; k++)
            cli_table_add(table, fact.names[k]);
        cli_table_addf(table, "%+.4f", share->part);
        cli_table_addf(table, "%+.1f%%", 100 * share_of(explainer, share));
        add_rank(table, share->rank_without);
        cli_table_addf(table, "%s", cli_signed_bar(bar_width, share->part, least, most).text);
    }
}

static size_t sum_widths(const cli_table *table, size_t from, size_t to) {
    size_t sum = 0;
    for (size_t k = from; k <= to; k++)
        sum += cli_table_width(table, k) + 2;
    return sum;
}

/* Bars are as long as what a terminal's width leaves for them; where that is too little, names are
 * cut. Elsewhere there is room for everything. */
static size_t fit(cli_table *table, size_t terminal) {
    size_t numbers = sum_widths(table, PART, RANK) + 2;
    size_t names = sum_widths(table, HEAD, TAIL);
    if (terminal == 0 || terminal >= numbers + names + BAR_MAX)
        return BAR_MAX;
    if (terminal >= numbers + names + BAR_MIN)
        return terminal - numbers - names;
    size_t left = terminal > numbers + BAR_MIN ? terminal - numbers - BAR_MIN : 0;
    table->widest = left / 3 > NAME_MIN + 2 ? left / 3 - 2 : NAME_MIN;
    return BAR_MIN;
}

static kg_status print_shares(const struct explainer *explainer, kg_error *error) {
    cli_table table;
    cli_table_open(&table, columns, COLUMNS);
    fill_table(&table, explainer, 1); /* to be measured */
    size_t bar_width = fit(&table, cli_terminal_width());
    cli_table_clear(&table);
    fill_table(&table, explainer, bar_width);
    kg_status status = cli_table_print(&table, error);
    cli_table_close(&table);
    return status;
}

/* Facts that lead to the answer itself, which graft learns to copy. */
static kg_status print_echoes(const struct explainer *explainer, kg_error *error) {
    bool is_first = true;
    for (size_t i = 0; i < explainer->subject.facts; i++) {
        const kg_share *share = &explainer->shares[i];
        cli_fact fact = cli_graft_fact(&explainer->graft, &explainer->subject, share->link);
        if (share->echo == 0)
            continue;
        printf("%s  an echo gives %+.4f of it, since the answer stands in  ", is_first ? "\n" : "",
               share->echo);
        is_first = false;
        for (size_t k = 0; k < 3; k++) {
            KG_TRY(cli_print_text(fact.names[k], error));
            printf("%s", k < 2 ? "  " : "\n");
        }
    }
    return KG_OK;
}

static kg_status print(const struct explainer *explainer, kg_error *error) {
    const kg_explanation *explanation = &explainer->explanation;
    cli_fact fact = cli_graft_fact(&explainer->graft, &explainer->subject, explainer->asked);
    for (size_t i = 0; i < 3; i++) {
        KG_TRY(cli_print_text(fact.names[i], error));
        printf("%s", i < 2 ? "  " : "\n");
    }
    printf("score %.4f", explanation->score);
    if (!isnan(explanation->probability))
        printf(", probability %.4f", (double)explanation->probability);
    printf(", rank %.15g\n", explanation->rank);
    if (is_given(explainer))
        printf("as if this were not one of the facts that are given\n");
    putchar('\n');
    KG_TRY(print_shares(explainer, error));
    KG_TRY(print_echoes(explainer, error));
    cli_testimony testimony = testimony_of(explainer);
    KG_TRY(cli_testimony_print(&testimony, error));
    return cli_flush(error);
}

/* ---- The work ---- */

/* What is not a number comes last. */
static double size_of(const kg_share *share) {
    return isnan(share->part) ? -1 : fabs(share->part);
}

static int compare_shares(const void *a, const void *b) {
    const kg_share *one = a;
    const kg_share *other = b;
    double x = size_of(one);
    double y = size_of(other);
    if (x != y)
        return x > y ? -1 : 1;
    if (one->link.directed != other->link.directed)
        return one->link.directed < other->link.directed ? -1 : 1;
    return one->link.other < other->link.other ? -1 : one->link.other > other->link.other;
}

static kg_status check(const struct settings *settings, kg_error *error) {
    if (settings->relation == NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected --relation, found none");
    if (settings->answer == NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected --answer, found none");
    return KG_OK;
}

static kg_status ask(struct explainer *explainer, const struct settings *settings,
                     kg_error *error) {
    cli_graft *graft = &explainer->graft;
    kg_end end = strcmp(settings->side, "tail") == 0 ? KG_HEAD : KG_TAIL;
    kg_id relation = KG_NO_ID;
    if (graft->count > 1) {
        kg_text first = kg_newcomers_name(graft->newcomers, 0);
        return kg_fail(error, KG_BAD_INPUT,
                       "expected --entity with one of the %zu new entities in the facts, such as "
                       "%s, found none",
                       graft->count, kg_quote(first.bytes, first.length).text);
    }
    KG_TRY(cli_graft_find_relation(graft, &relation, "relation", settings->relation, error));
    explainer->asked.directed = kg_direct(relation, end);
    return cli_graft_find_entity(graft, &explainer->asked.other, "answer", settings->answer, error);
}

static kg_status explain(struct explainer *explainer, kg_error *error) {
    cli_subject *subject = &explainer->subject;
    KG_TRY(cli_graft_subject(&explainer->graft, 0, subject, error));
    explainer->shares = kg_alloc(subject->facts, sizeof *explainer->shares);
    if (explainer->shares == NULL)
        return kg_fail_memory(error);
    KG_TRY(kg_explain(explainer->graft.workspace, &explainer->explanation, explainer->shares,
                      subject->subject, explainer->asked, error));
    qsort(explainer->shares, subject->facts, sizeof *explainer->shares, compare_shares);
    for (size_t i = 0; i < subject->facts; i++)
        explainer->magnitudes += fabs(explainer->shares[i].part);
    for (size_t k = 0; k < KG_FEATURE_COUNT; k++)
        explainer->magnitudes += fabs(explainer->explanation.evidence[k].part);
    return KG_OK;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    struct explainer explainer = {0};
    kg_status status = KG_OK;
    KG_TRY(check(settings, error));
    KG_CHECK(cli_graft_open(&explainer.graft, &settings->grafting, 1, context, error));
    cli_graft_check_calibration(&explainer.graft, context);
    KG_CHECK(ask(&explainer, settings, error));
    KG_CHECK(explain(&explainer, error));
    kg_bar_close(context->bar);
    if (context->common->json)
        KG_CHECK(cli_print_json(describe(&explainer, context->arguments[0]), error));
    else
        KG_CHECK(print(&explainer, error));
done:
    kg_free(explainer.shares);
    cli_graft_close(&explainer.graft);
    return status;
}

static const struct settings defaults = {.grafting = CLI_GRAFTING_DEFAULTS, .side = "tail"};

const cli_command cli_explain = {
    .name = "explain",
    .usage = "MODEL FACTS --relation NAME --answer NAME",
    .summary = "split the score of a new entity's link over the facts it comes from",
    .details = "FACTS is a TSV file of head, relation and tail (- is standard input) in which one\n"
               "end of each fact is new to MODEL.",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
