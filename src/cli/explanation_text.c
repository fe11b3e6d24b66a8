/* Terms, facts and paths of an explanation, as JSON and for people: paths as arrows. */
#include "cli/explanation_text.h"

#include <string.h>

#include "terms/propagation_term.h"

#define MOST_SHOWN 3

/* Of the summed magnitudes, like the shares of facts. */
static double share_of(const cli_contributions *contributions, const kg_score_term *term) {
    return contributions->magnitudes > 0 ? term->part / contributions->magnitudes : 0;
}

static kg_text name_of(const cli_contributions *contributions, kg_id entity) {
    return kg_model_entity_name(contributions->inference->model, entity);
}

/* ---- As JSON ---- */

static json_t *describe_path(const cli_contributions *contributions, const kg_reason *reason) {
    json_t *out = json_array();
    bool good = out != NULL;
    cli_subject here = {.name = contributions->subject->name};
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

static json_t *describe_reason(const cli_contributions *contributions, const kg_reason *reason) {
    cli_fact fact =
        cli_inference_fact(contributions->inference, contributions->subject, reason->fact);
    return json_pack("{so so so}", "path", describe_path(contributions, reason), "fact",
                     cli_fact_json(&fact), "share", cli_number_json(reason->share));
}

bool cli_term_is_propagation(const kg_score_term *term) {
    return strcmp(term->name, kg__term_propagation.name) == 0;
}

/* Where the graph was too large. */
static json_t *add_cuts(json_t *out, const kg_explanation *explanation) {
    if (json_object_set_new(out, "untested_facts",
                            json_integer((json_int_t)explanation->untested_facts)) == 0 &&
        json_object_set_new(out, "unexpanded", json_integer((json_int_t)explanation->unexpanded)) ==
            0)
        return out;
    json_decref(out);
    return NULL;
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
    if (!good) {
        json_decref(reasons);
        return NULL;
    }
    json_t *out = json_pack("{ss so so so sI so}", "term", term->name, "part",
                            cli_number_json(term->part), "rest", cli_number_json(term->rest),
                            "share", cli_number_json(share_of(contributions, term)), "reason_count",
                            (json_int_t)term->reason_count, "reasons", reasons);
    return cli_term_is_propagation(term) ? add_cuts(out, explanation) : out;
}

json_t *cli_contributions_json(const cli_contributions *contributions) {
    const kg_explanation *explanation = contributions->explanation;
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; i < explanation->term_count && good; i++)
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
        flow, cli_inference_show(contributions->inference, contributions->subject->name, ""));
    for (size_t i = 0; i < reason->steps; i++)
        put_step(flow, contributions, reason->path[i], i + 1 < reason->steps ? "" : ":");
}

/* Two digits of what is below 10 %. */
static cli_value percent(double share) {
    cli_value out;
    snprintf(out.text, sizeof out.text, share < 0.1 ? "%.2g%%" : "%.0f%%", 100 * share);
    return out;
}

const char *cli_term_title(const kg_score_term *term) {
    return kg__term_find(term->name)->title;
}

cli_value cli_rest_title(const kg_score_term *term) {
    cli_value out;
    snprintf(out.text, sizeof out.text, "%s: %s", cli_term_title(term),
             term->reason_count == 0 ? "none leads to it" : "what no single fact accounts for");
    return out;
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
        put_path(&flow, contributions, reason);
        report_text_flow_words(&flow, "%s of what reaches the answer", percent(reason->share).text);
        KG_TRY(report_text_flow_end(&flow, error));
        shown++;
    }
    return KG_OK;
}
