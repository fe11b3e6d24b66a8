/* Making an explanation, and its members: facts with their shares, terms with their reasons. */
#include "report/explanation_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "infer/workspace.h"

/* ---- Making ---- */

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

static void widen(report_explanation *explanation, double part) {
    explanation->least = fmin(explanation->least, part);
    explanation->most = fmax(explanation->most, part);
}

static void measure_piece(report_explanation *explanation, double part) {
    explanation->magnitudes += fabs(part);
    widen(explanation, part);
}

static void measure(report_explanation *explanation) {
    const kg_explanation *numbers = &explanation->numbers;
    for (size_t i = 0; i < numbers->share_count; i++) {
        const kg_share *share = &numbers->shares[i];
        widen(explanation, share->part);
        for (size_t k = 0; k < numbers->term_count; k++)
            measure_piece(explanation, share->parts[k]);
    }
    for (size_t k = 0; k < numbers->term_count; k++)
        measure_piece(explanation, numbers->terms[k].rest);
}

/* Of each term. */
#define MOST_REASONS 8

static kg_status make_room(report_explanation *explanation, kg_error *error) {
    kg_explanation *out = &explanation->numbers;
    *out = (kg_explanation)KG_EXPLANATION_INIT;
    out->share_capacity = explanation->links;
    out->term_capacity = kg__model_describe(explanation->workspace->model).terms;
    out->part_capacity = out->share_capacity * out->term_capacity;
    out->reason_capacity = MOST_REASONS * out->term_capacity;
    out->shares = kg__alloc(out->share_capacity, sizeof *out->shares);
    out->terms = kg__alloc(out->term_capacity, sizeof *out->terms);
    out->parts = kg__alloc(out->part_capacity, sizeof *out->parts);
    out->reasons = kg__alloc(out->reason_capacity, sizeof *out->reasons);
    bool good =
        out->shares != NULL && out->terms != NULL && out->parts != NULL && out->reasons != NULL;
    return good ? KG_OK : kg__fail_memory(error);
}

kg_status report_explanation_make(report_explanation *explanation, kg_error *error) {
    kg_explanation *out = &explanation->numbers;
    KG_TRY(make_room(explanation, error));
    KG_TRY(kg_workspace_explain(out, explanation->workspace, explanation->subject,
                                explanation->asked, error));
    qsort(out->shares, out->share_count, sizeof *out->shares, compare_shares);
    measure(explanation);
    return KG_OK;
}

void report_explanation_free(report_explanation *explanation) {
    kg__free(explanation->numbers.shares);
    kg__free(explanation->numbers.terms);
    kg__free(explanation->numbers.parts);
    kg__free(explanation->numbers.reasons);
    explanation->numbers = (kg_explanation)KG_EXPLANATION_INIT;
}

bool report_explanation_is_given(const report_explanation *explanation) {
    for (size_t i = 0; i < explanation->numbers.share_count; i++) {
        kg_link link = explanation->numbers.shares[i].link;
        if (link.directed == explanation->asked.directed && link.other == explanation->asked.other)
            return true;
    }
    return false;
}

double report_explanation_share(const report_explanation *explanation, double part) {
    return explanation->magnitudes > 0 ? part / explanation->magnitudes : 0;
}

/* ---- Facts ---- */

static json_t *fact_json(const report_explanation *explanation, kg_link link) {
    report_fact fact = report_fact_of(explanation->workspace->model, explanation->name, link);
    return report_fact_json(&fact);
}

/* What terms give through a fact. */
static int describe_parts(json_t *out, const report_explanation *explanation,
                          const kg_share *share) {
    int failed = 0;
    for (size_t i = 0; i < explanation->numbers.term_count; i++)
        failed |= json_object_set_new(out, explanation->numbers.terms[i].name,
                                      report_number_json(share->parts[i]));
    return failed;
}

static json_t *describe_share(const report_explanation *explanation, const kg_share *share) {
    json_t *out = fact_json(explanation, share->link);
    double part = report_explanation_share(explanation, share->part);
    bool good =
        json_object_set_new(out, "weight", report_number_json(share->weight)) == 0 &&
        json_object_set_new(out, "part", report_number_json(share->part)) == 0 &&
        describe_parts(out, explanation, share) == 0 &&
        json_object_set_new(out, "share", report_number_json(part)) == 0 &&
        json_object_set_new(out, "rank_without", report_number_json(share->rank_without)) == 0;
    return kg__json_complete(out, good);
}

static json_t *describe_shares(const report_explanation *explanation) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; i < explanation->numbers.share_count && good; i++)
        good = json_array_append_new(
                   out, describe_share(explanation, &explanation->numbers.shares[i])) == 0;
    return kg__json_complete(out, good);
}

/* ---- Terms ---- */

bool report_term_has_paths(const kg_score_term *term) {
    return kg__term_find(term->name)->has_paths;
}

static json_t *describe_path(const report_explanation *explanation, const kg_reason *reason) {
    const kg_model *model = explanation->workspace->model;
    kg_text here = explanation->name;
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; i < reason->steps && good; i++) {
        report_fact fact = report_fact_of(model, here, reason->path[i]);
        good = json_array_append_new(out, report_fact_json(&fact)) == 0;
        here = kg_model_entity_name(model, reason->path[i].other);
    }
    return kg__json_complete(out, good);
}

static json_t *describe_reason(const report_explanation *explanation, const kg_reason *reason) {
    return json_pack("{so so so}", "path", describe_path(explanation, reason), "fact",
                     fact_json(explanation, reason->fact), "share",
                     report_number_json(reason->share));
}

/* Where the graph was too large. */
static json_t *add_cuts(json_t *out, const kg_explanation *numbers) {
    json_t *untested = json_integer((json_int_t)numbers->untested_facts);
    json_t *unexpanded = json_integer((json_int_t)numbers->unexpanded);
    bool good = json_object_set_new(out, "untested_facts", untested) == 0;
    good = json_object_set_new(out, "unexpanded", unexpanded) == 0 && good;
    return kg__json_complete(out, good);
}

static json_t *describe_term(const report_explanation *explanation, size_t i) {
    const kg_explanation *numbers = &explanation->numbers;
    const kg_score_term *term = &numbers->terms[i];
    json_t *reasons = json_array();
    bool good = reasons != NULL;
    for (size_t k = 0; k < numbers->reason_count && good; k++)
        if (numbers->reasons[k].term == i)
            good = json_array_append_new(reasons,
                                         describe_reason(explanation, &numbers->reasons[k])) == 0;
    reasons = kg__json_complete(reasons, good);
    json_t *out =
        json_pack("{ss so so so sI so}", "term", term->name, "part", report_number_json(term->part),
                  "rest", report_number_json(term->rest), "share",
                  report_number_json(report_explanation_share(explanation, term->part)),
                  "reason_count", (json_int_t)term->reason_count, "reasons", reasons);
    return report_term_has_paths(term) ? add_cuts(out, numbers) : out;
}

static json_t *describe_terms(const report_explanation *explanation) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; i < explanation->numbers.term_count && good; i++)
        good = json_array_append_new(out, describe_term(explanation, i)) == 0;
    return kg__json_complete(out, good);
}

json_t *report_explanation_json(const report_explanation *explanation) {
    const kg_explanation *numbers = &explanation->numbers;
    bool is_head = kg_directed_end(explanation->asked.directed) == KG_HEAD;
    json_t *link = fact_json(explanation, explanation->asked);
    json_t *out = json_pack(
        "{so so sb sI ss sb so so so so so}", "calibration",
        report_calibration_json(explanation->workspace), "entity",
        kg__json_text(explanation->name.bytes, explanation->name.length), "new",
        explanation->is_new, "facts", (json_int_t)explanation->facts, "side",
        is_head ? "tail" : "head", "given", report_explanation_is_given(explanation), "score",
        report_number_json(numbers->score), "probability", report_float_json(numbers->probability),
        "rank", report_number_json(numbers->rank), "shares", describe_shares(explanation), "terms",
        describe_terms(explanation));
    bool good = json_object_update(out, link) == 0;
    json_decref(link);
    return kg__json_complete(out, good);
}
