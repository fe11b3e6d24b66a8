/* Paths as arrows, counts as sentences. */
#include "cli/testimony.h"

#include <math.h>

#include "cli/table.h"

#define MOST_SHOWN 3

/* Of the summed magnitudes, like the shares of facts. */
static double share_of(const cli_testimony *testimony, kg_feature feature) {
    double part = testimony->evidence[feature].part;
    return testimony->magnitudes > 0 ? part / testimony->magnitudes : 0;
}

static size_t listed(const kg_testimony *said) {
    return said->reason_count < KG_MOST_REASONS ? said->reason_count : KG_MOST_REASONS;
}

static kg_text name_of(const cli_testimony *testimony, kg_id entity) {
    return kg_entity_name(testimony->graft->model, entity);
}

/* Where a path starts: with a voter, or with the entity that it is all about. */
static kg_text start_of(const cli_testimony *testimony, const kg_reason *reason) {
    return reason->voter == KG_NO_ID ? testimony->subject->name : name_of(testimony, reason->voter);
}

/* ---- As JSON ---- */

static json_t *describe_path(const cli_testimony *testimony, const kg_reason *reason) {
    json_t *out = json_array();
    bool good = out != NULL;
    cli_subject here = {.name = start_of(testimony, reason)};
    for (size_t i = 0; i < reason->steps && good; i++) {
        cli_fact fact = cli_graft_fact(testimony->graft, &here, reason->path[i]);
        good = json_array_append_new(out, cli_fact_json(&fact)) == 0;
        here.name = name_of(testimony, reason->path[i].other);
    }
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *describe_reason(const cli_testimony *testimony, const kg_reason *reason) {
    return json_pack("{so so so so}", "path", describe_path(testimony, reason), "hits",
                     cli_number_json(reason->hits), "chances", cli_number_json(reason->chances),
                     "share", cli_number_json(reason->share));
}

static json_t *describe(const cli_testimony *testimony, kg_feature feature) {
    const kg_testimony *said = &testimony->evidence[feature];
    json_t *reasons = json_array();
    bool good = reasons != NULL;
    for (size_t i = 0; i < listed(said) && good; i++)
        good = json_array_append_new(reasons, describe_reason(testimony, &said->reasons[i])) == 0;
    if (good)
        return json_pack("{ss so so sI so}", "feature", kg_feature_name(feature), "part",
                         cli_number_json(said->part), "share",
                         cli_number_json(share_of(testimony, feature)), "reason_count",
                         (json_int_t)said->reason_count, "reasons", reasons);
    json_decref(reasons);
    return NULL;
}

json_t *cli_testimony_json(const cli_testimony *testimony) {
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
static kg_status print_step(const cli_testimony *testimony, kg_link step, kg_error *error) {
    const kg_model *model = testimony->graft->model;
    bool is_head = kg_directed_end(step.directed) == KG_HEAD;
    printf(" %s", is_head ? "-" : "<-");
    KG_TRY(cli_print_text(kg_relation_name(model, kg_directed_relation(step.directed)), error));
    printf("%s ", is_head ? "->" : "-");
    return cli_print_text(name_of(testimony, step.other), error);
}

static kg_status print_path(const cli_testimony *testimony, const kg_reason *reason,
                            kg_error *error) {
    KG_TRY(cli_print_text(start_of(testimony, reason), error));
    for (size_t i = 0; i < reason->steps; i++)
        KG_TRY(print_step(testimony, reason->path[i], error));
    return KG_OK;
}

/* Counts of rules need not be whole, but few care for the fraction of a large one. */
static double shorten(double count) {
    return count < 100 ? round(10 * count) / 10 : round(count);
}

static kg_status print_rule(const cli_testimony *testimony, const kg_reason *reason,
                            kg_error *error) {
    KG_TRY(print_path(testimony, reason, error));
    printf(": right in %.15g of %.15g cases\n", shorten(reason->hits), shorten(reason->chances));
    return KG_OK;
}

/* Others that have no answer at all say nothing, and were not counted. */
static kg_status print_company(const cli_testimony *testimony, const kg_reason *reason,
                               kg_error *error) {
    bool is_only = reason->chances == 1;
    if (is_only)
        printf("the one other looked at with ");
    else
        printf("%.0f of %.0f others looked at with ", reason->hits, reason->chances);
    KG_TRY(print_step(testimony, reason->path[0], error));
    printf("  that %s any answer %s this one\n", is_only ? "has" : "have",
           reason->hits == 1 ? "has" : "have");
    return KG_OK;
}

static kg_status print_vote(const cli_testimony *testimony, const kg_reason *reason,
                            kg_error *error) {
    KG_TRY(print_path(testimony, reason, error));
    printf(": %.1f%% of the votes\n", 100 * reason->share);
    return KG_OK;
}

static kg_status print_vacancy(const cli_testimony *testimony, const kg_reason *reason,
                               kg_error *error) {
    if (reason->hits == 0)
        printf("nobody is known with ");
    else
        printf("%.0f %s known with ", reason->hits, reason->hits == 1 ? "other is" : "others are");
    KG_TRY(print_step(testimony, testimony->asked, error));
    printf("%s\n", reason->hits == 0 ? "  yet" : "");
    return KG_OK;
}

static const struct {
    const char *title;
    kg_status (*print)(const cli_testimony *testimony, const kg_reason *reason, kg_error *error);
} words[KG_FEATURE_COUNT] = {
    [KG_ONE_STEP] = {"a fact that often comes with the answer", print_rule},
    [KG_TWO_STEPS] = {"paths of two facts", print_rule},
    [KG_THREE_STEPS] = {"paths of three facts", print_rule},
    [KG_FOUR_STEPS] = {"paths of four facts", print_rule},
    [KG_COMPANY] = {"others with one of its facts", print_company},
    [KG_VOTES] = {"those that are most like it", print_vote},
    [KG_VACANCY] = {"how many have this answer already", print_vacancy},
};

kg_status cli_testimony_print(const cli_testimony *testimony, kg_error *error) {
    bool is_first = true;
    for (kg_feature k = 0; k < KG_FEATURE_COUNT; k++) {
        const kg_testimony *said = &testimony->evidence[k];
        if (said->reason_count == 0)
            continue;
        printf("%s  %+.4f  %+.1f%%  %s\n", is_first ? "\nevidence\n" : "", said->part,
               100 * share_of(testimony, k), words[k].title);
        is_first = false;
        for (size_t i = 0; i < listed(said) && i < MOST_SHOWN; i++) {
            printf("    ");
            KG_TRY(words[k].print(testimony, &said->reasons[i], error));
        }
        if (said->reason_count > MOST_SHOWN)
            printf("    and %zu more\n", said->reason_count - MOST_SHOWN);
    }
    return KG_OK;
}
