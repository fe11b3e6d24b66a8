/* Paths as arrows, counts as sentences. */
#include "cli/feature_text.h"

#include <math.h>

#define MOST_SHOWN 3

/* Of the summed magnitudes, like the shares of facts. */
static double share_of(const cli_contributions *testimony, kg_feature feature) {
    double part = testimony->evidence[feature].part;
    return testimony->magnitudes > 0 ? part / testimony->magnitudes : 0;
}

static size_t listed(const kg_contribution *said) {
    return said->reason_count < KG_MOST_REASONS ? said->reason_count : KG_MOST_REASONS;
}

static kg_text name_of(const cli_contributions *testimony, kg_id entity) {
    return kg_entity_name(testimony->graft->model, entity);
}

/* Where a path starts: with a voter, or with the entity that it is all about. */
static kg_text start_of(const cli_contributions *testimony, const kg_reason *reason) {
    return reason->voter == KG_NO_ID ? testimony->subject->name : name_of(testimony, reason->voter);
}

/* ---- As JSON ---- */

static json_t *describe_path(const cli_contributions *testimony, const kg_reason *reason) {
    json_t *out = json_array();
    bool good = out != NULL;
    cli_subject here = {.name = start_of(testimony, reason)};
    for (size_t i = 0; i < reason->steps && good; i++) {
        cli_fact fact = cli_inference_fact(testimony->graft, &here, reason->path[i]);
        good = json_array_append_new(out, cli_fact_json(&fact)) == 0;
        here.name = name_of(testimony, reason->path[i].other);
    }
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

/* The fact that a reason runs through. */
static json_t *describe_fact(const cli_contributions *testimony, kg_feature feature,
                             const kg_reason *reason) {
    if (feature == KG_DEGREE_PRIOR)
        return json_null();
    cli_fact fact = cli_inference_fact(testimony->graft, testimony->subject, reason->fact);
    return cli_fact_json(&fact);
}

static json_t *describe_reason(const cli_contributions *testimony, kg_feature feature,
                               const kg_reason *reason) {
    return json_pack("{so so so so so}", "path", describe_path(testimony, reason), "fact",
                     describe_fact(testimony, feature, reason), "hits",
                     cli_number_json(reason->hits), "chances", cli_number_json(reason->chances),
                     "share", cli_number_json(reason->share));
}

static json_t *describe(const cli_contributions *testimony, kg_feature feature) {
    const kg_contribution *said = &testimony->evidence[feature];
    json_t *reasons = json_array();
    bool good = reasons != NULL;
    for (size_t i = 0; i < listed(said) && good; i++)
        good = json_array_append_new(reasons,
                                     describe_reason(testimony, feature, &said->reasons[i])) == 0;
    if (good)
        return json_pack("{ss so so so sI so}", "feature", kg_feature_name(feature), "part",
                         cli_number_json(said->part), "rest", cli_number_json(said->rest), "share",
                         cli_number_json(share_of(testimony, feature)), "reason_count",
                         (json_int_t)said->reason_count, "reasons", reasons);
    json_decref(reasons);
    return NULL;
}

json_t *cli_contributions_json(const cli_contributions *testimony) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (kg_feature k = 0; k < KG_FEATURE_COUNT && good; k++)
        if (testimony->evidence[k].reason_count > 0)
            good = json_array_append_new(out, describe(testimony, k)) == 0;
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

/* ---- For people ---- */

/* A step from an entity that was named before. */
static void put_step(cli_text_flow *flow, const cli_contributions *testimony, kg_link step,
                     const char *behind) {
    const cli_inference *graft = testimony->graft;
    cli_text_flow_word(flow, cli_inference_arrow(graft, step.directed));
    cli_text_flow_word(flow, cli_inference_show(graft, name_of(testimony, step.other), behind));
}

static void put_path(cli_text_flow *flow, const cli_contributions *testimony,
                     const kg_reason *reason) {
    cli_text_flow_word(flow, cli_inference_show(testimony->graft, start_of(testimony, reason), ""));
    for (size_t i = 0; i < reason->steps; i++)
        put_step(flow, testimony, reason->path[i], i + 1 < reason->steps ? "" : ":");
}

/* Two digits of what is below 10 %. */
static cli_value percent(double share) {
    cli_value out;
    snprintf(out.text, sizeof out.text, share < 0.1 ? "%.2g%%" : "%.0f%%", 100 * share);
    return out;
}

/* Counts of rules are sums of weights, so the nearest whole number is shown. */
static void put_rule(cli_text_flow *flow, const cli_contributions *testimony,
                     const kg_reason *reason) {
    double chances = fmax(1, round(reason->chances));
    put_path(flow, testimony, reason);
    cli_text_flow_words(flow, "right in %s of %s",
                        percent(reason->chances > 0 ? reason->hits / reason->chances : 0).text,
                        report_counted((uint64_t)chances, "case", "cases").text);
}

/* Entities that have no answer at all say nothing, and are no part of the sample. */
static void put_company(cli_text_flow *flow, const cli_contributions *testimony,
                        const kg_reason *reason) {
    cli_text_flow_words(flow, "%.0f of %.0f sampled %s that %s", reason->hits, reason->chances,
                        reason->chances == 1 ? "entity" : "entities",
                        reason->chances == 1 ? "shares" : "share");
    put_step(flow, testimony, reason->path[0], "");
    cli_text_flow_words(flow, "also %s this answer", reason->hits == 1 ? "has" : "have");
}

static void put_vote(cli_text_flow *flow, const cli_contributions *testimony,
                     const kg_reason *reason) {
    put_path(flow, testimony, reason);
    cli_text_flow_words(flow, "%.1f%% of the votes", 100 * reason->share);
}

static void put_vacancy(cli_text_flow *flow, const cli_contributions *testimony,
                        const kg_reason *reason) {
    if (reason->hits == 0)
        cli_text_flow_words(flow, "no entity is known with");
    else
        cli_text_flow_words(flow, "%s %s known with",
                            report_counted((uint64_t)reason->hits, "entity", "entities").text,
                            reason->hits == 1 ? "is" : "are");
    put_step(flow, testimony, testimony->asked, "");
}

static const struct {
    const char *title;
    void (*put)(cli_text_flow *flow, const cli_contributions *testimony, const kg_reason *reason);
} words[KG_FEATURE_COUNT] = {
    [KG_PATH1] = {"paths of one fact", put_rule},
    [KG_PATH2] = {"paths of two facts", put_rule},
    [KG_PATH3] = {"paths of three facts", put_rule},
    [KG_PATH4] = {"paths of four facts", put_rule},
    [KG_COOCCURRENCE] = {"entities that share the fact", put_company},
    [KG_KNN_VOTE] = {"votes of the most similar entities", put_vote},
    [KG_DEGREE_PRIOR] = {"how many have this answer already", put_vacancy},
};

const char *cli_feature_title(kg_feature feature) {
    return words[feature].title;
}

#define INDENT 6

kg_status cli_contributions_print(const cli_contributions *testimony, kg_feature feature,
                                  kg_link fact, kg_error *error) {
    const kg_contribution *said = &testimony->evidence[feature];
    size_t shown = 0;
    for (size_t i = 0; i < listed(said) && shown < MOST_SHOWN; i++) {
        const kg_reason *reason = &said->reasons[i];
        if (reason->fact.directed != fact.directed || reason->fact.other != fact.other)
            continue;
        cli_text_flow flow = cli_text_flow_open(0, INDENT, INDENT + 2);
        words[feature].put(&flow, testimony, reason);
        KG_TRY(cli_text_flow_end(&flow, error));
        shown++;
    }
    return KG_OK;
}
