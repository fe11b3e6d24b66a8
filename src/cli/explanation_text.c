/* Terms, facts and paths of an explanation, for people: paths as arrows. */
#include "cli/explanation_text.h"

#include <string.h>

#include "model/term.h"

#define MOST_SHOWN 3

static kg_text name_of(const cli_contributions *contributions, kg_id entity) {
    return kg_model_entity_name(contributions->inference->model, entity);
}

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
