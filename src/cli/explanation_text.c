/* Paths as arrows, counts as sentences. */
#include "cli/explanation_text.h"

#include <math.h>
#include <string.h>

#include "terms/features/features.h"

#define MOST_SHOWN 3

/* Of the summed magnitudes, like the shares of facts. */
static double share_of(const cli_contributions *contributions, const kg_score_term *term) {
    return contributions->magnitudes > 0 ? term->part / contributions->magnitudes : 0;
}

static kg_text name_of(const cli_contributions *contributions, kg_id entity) {
    return kg_model_entity_name(contributions->inference->model, entity);
}

/* Where a path starts: with a voter, or with the entity that it is all about. */
static kg_text start_of(const cli_contributions *contributions, const kg_reason *reason) {
    return reason->voter == KG_NO_ID ? contributions->subject->name
                                     : name_of(contributions, reason->voter);
}

/* ---- As JSON ---- */

static json_t *describe_path(const cli_contributions *contributions, const kg_reason *reason) {
    json_t *out = json_array();
    bool good = out != NULL;
    cli_subject here = {.name = start_of(contributions, reason)};
    for (size_t i = 0; i < reason->steps && good; i++) {
        cli_fact fact = cli_inference_fact(contributions->inference, &here, reason->path[i]);
        good = json_array_append_new(out, cli_fact_json(&fact)) == 0;
        here.name = name_of(contributions, reason->path[i].other);
    }
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

/* The fact that a reason runs through: none, where it names nothing. */
static json_t *describe_fact(const cli_contributions *contributions, const kg_reason *reason) {
    if (reason->steps == 0)
        return json_null();
    cli_fact fact =
        cli_inference_fact(contributions->inference, contributions->subject, reason->fact);
    return cli_fact_json(&fact);
}

static json_t *describe_reason(const cli_contributions *contributions, const kg_reason *reason) {
    return json_pack("{so so so so so}", "path", describe_path(contributions, reason), "fact",
                     describe_fact(contributions, reason), "hits", cli_number_json(reason->hits),
                     "chances", cli_number_json(reason->chances), "share",
                     cli_number_json(reason->share));
}

static json_t *describe(const cli_contributions *contributions, size_t i) {
    const kg_explanation *explanation = contributions->explanation;
    const kg_score_term *term = &explanation->terms[i];
    json_t *reasons = json_array();
    bool good = reasons != NULL;
    for (size_t k = 0; k < explanation->reason_count && good; k++)
        if (explanation->reasons[k].term == i)
            good = json_array_append_new(
                       reasons, describe_reason(contributions, &explanation->reasons[k])) == 0;
    if (good)
        return json_pack("{ss so so so sI so}", "feature", term->name, "part",
                         cli_number_json(term->part), "rest", cli_number_json(term->rest), "share",
                         cli_number_json(share_of(contributions, term)), "reason_count",
                         (json_int_t)term->reason_count, "reasons", reasons);
    json_decref(reasons);
    return NULL;
}

json_t *cli_contributions_json(const cli_contributions *contributions) {
    const kg_explanation *explanation = contributions->explanation;
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; i < explanation->term_count && good; i++)
        if (explanation->terms[i].reason_count > 0)
            good = json_array_append_new(out, describe(contributions, i)) == 0;
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

/* ---- For people ---- */

/* A step from an entity that was named before. */
static void put_step(report_text_flow *flow, const cli_contributions *contributions, kg_link step,
                     const char *behind) {
    const cli_inference *inference = contributions->inference;
    report_text_flow_word(flow, cli_inference_arrow(inference, step.directed));
    report_text_flow_word(
        flow, cli_inference_show(inference, name_of(contributions, step.other), behind));
}

static void put_path(report_text_flow *flow, const cli_contributions *contributions,
                     const kg_reason *reason) {
    report_text_flow_word(
        flow, cli_inference_show(contributions->inference, start_of(contributions, reason), ""));
    for (size_t i = 0; i < reason->steps; i++)
        put_step(flow, contributions, reason->path[i], i + 1 < reason->steps ? "" : ":");
}

/* Two digits of what is below 10 %. */
static cli_value percent(double share) {
    cli_value out;
    snprintf(out.text, sizeof out.text, share < 0.1 ? "%.2g%%" : "%.0f%%", 100 * share);
    return out;
}

/* Counts of rules are sums of weights, so the nearest whole number is shown. */
static void put_rule(report_text_flow *flow, const cli_contributions *contributions,
                     const kg_reason *reason) {
    double chances = fmax(1, round(reason->chances));
    put_path(flow, contributions, reason);
    report_text_flow_words(flow, "right in %s of %s",
                           percent(reason->chances > 0 ? reason->hits / reason->chances : 0).text,
                           report_counted((uint64_t)chances, "case", "cases").text);
}

/* Entities that have no answer at all say nothing, and are no part of the sample. */
static void put_cooccurrence(report_text_flow *flow, const cli_contributions *contributions,
                             const kg_reason *reason) {
    report_text_flow_words(flow, "%.0f of %.0f sampled %s that %s", reason->hits, reason->chances,
                           reason->chances == 1 ? "entity" : "entities",
                           reason->chances == 1 ? "shares" : "share");
    put_step(flow, contributions, reason->path[0], "");
    report_text_flow_words(flow, "also %s this answer", reason->hits == 1 ? "has" : "have");
}

static void put_vote(report_text_flow *flow, const cli_contributions *contributions,
                     const kg_reason *reason) {
    put_path(flow, contributions, reason);
    report_text_flow_words(flow, "%.1f%% of the votes", 100 * reason->share);
}

static void put_degree_prior(report_text_flow *flow, const cli_contributions *contributions,
                             const kg_reason *reason) {
    if (reason->hits == 0)
        report_text_flow_words(flow, "no entity is known with");
    else
        report_text_flow_words(flow, "%s %s known with",
                               report_counted((uint64_t)reason->hits, "entity", "entities").text,
                               reason->hits == 1 ? "is" : "are");
    put_step(flow, contributions, contributions->asked, "");
}

typedef void put_reason(report_text_flow *flow, const cli_contributions *contributions,
                        const kg_reason *reason);

static const struct {
    const char *title;
    put_reason *put;
} words[KG_FEATURE_COUNT] = {
    [KG_PATH1] = {"paths of one fact", put_rule},
    [KG_PATH2] = {"paths of two facts", put_rule},
    [KG_PATH3] = {"paths of three facts", put_rule},
    [KG_PATH4] = {"paths of four facts", put_rule},
    [KG_COOCCURRENCE] = {"entities that share the fact", put_cooccurrence},
    [KG_KNN_VOTE] = {"votes of the most similar entities", put_vote},
    [KG_DEGREE_PRIOR] = {"how many have this answer already", put_degree_prior},
};

/* The feature of a term of evidence. */
static kg_feature feature_of(const kg_score_term *term) {
    kg_feature feature = 0;
    while (feature + 1 < KG_FEATURE_COUNT && strcmp(kg__feature_names[feature], term->name) != 0)
        feature++;
    return feature;
}

const char *cli_term_title(const kg_score_term *term) {
    if (term->is_evidence)
        return words[feature_of(term)].title;
    return strcmp(term->name, "vector") == 0 ? "its vector" : "an echo: it leads to the answer";
}

#define INDENT 6

kg_status cli_contributions_print(const cli_contributions *contributions, size_t term, kg_link fact,
                                  kg_error *error) {
    const kg_explanation *explanation = contributions->explanation;
    size_t shown = 0;
    for (size_t i = 0; i < explanation->reason_count && shown < MOST_SHOWN; i++) {
        const kg_reason *reason = &explanation->reasons[i];
        if (reason->term != term || reason->fact.directed != fact.directed ||
            reason->fact.other != fact.other)
            continue;
        report_text_flow flow = report_text_flow_open(0, INDENT, INDENT + 2);
        words[feature_of(&explanation->terms[term])].put(&flow, contributions, reason);
        KG_TRY(report_text_flow_end(&flow, error));
        shown++;
    }
    return KG_OK;
}
