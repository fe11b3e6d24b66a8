/* The settings of aggregators: defaults, those of a model, and what a user wants instead. */
#include "aggregate/aggregate_options.h"

#include <string.h>

#include "base/text.h"

/* The numbers among them. */
static const struct number {
    const char *key;
    size_t option;   /* where options have it, */
    size_t override; /* and overrides */
    kg_aggregate_setting setting;
    const char *what;
} numbers[] = {
#define FIELD(name)                                               \
    .key = #name, .option = offsetof(kg_aggregate_options, name), \
    .override = offsetof(kg_aggregate_overrides, name)
    {FIELD(ls_lambda), .setting = KG_BY_LS_LAMBDA, .what = "ridge"},
    {FIELD(ials_alpha), .setting = KG_BY_IALS, .what = "weight"},
    {FIELD(ials_lambda), .setting = KG_BY_IALS, .what = "ridge"},
};
#define NUMBER_COUNT (sizeof numbers / sizeof *numbers)

static double number_at(const void *fields, size_t offset) {
    double number = 0;
    memcpy(&number, (const char *)fields + offset, sizeof number);
    return number;
}

kg_aggregate_options kg__aggregate_defaults(const kg_aggregator *aggregator) {
    return (kg_aggregate_options){.aggregator = aggregator,
                                  .ls_lambda = KG_LS_LAMBDA,
                                  .ials_alpha = KG_IALS_ALPHA,
                                  .ials_lambda = KG_IALS_LAMBDA};
}

kg_status kg__aggregate_check(const kg_aggregate_options *options, const kg_scoring *scoring,
                              kg_error *error) {
    if (options->aggregator->is_encoder != scoring->is_encoded)
        return kg_fail(error, KG_BAD_INPUT,
                       "`aggregate`: expected %s for model %s, which has %s encoder, found %s",
                       kg__aggregators_list(scoring->is_encoded ? KG_OF_ENCODER : KG_OF_FACTS).text,
                       scoring->name, scoring->is_encoded ? "an" : "no", options->aggregator->name);
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        if (!kg__is_positive(number_at(options, numbers[i].option)))
            return kg_fail(error, KG_BAD_INPUT,
                           "`%s`: expected a %s above 0 that single precision can hold, found %g",
                           numbers[i].key, numbers[i].what, number_at(options, numbers[i].option));
    return KG_OK;
}

/* A name that was asked for, or else the one that was trained with, or else the usual one. */
static const char *choose_name(const char *asked, const json_t *trained, const char *key,
                               const char *fallback) {
    const char *name = asked == NULL ? json_string_value(json_object_get(trained, key)) : asked;
    return name == NULL ? fallback : name;
}

kg_status kg__aggregate_override(kg_aggregate_options *out, const kg_aggregate_overrides *overrides,
                                 const json_t *trained, kg_error *error) {
    const char *name =
        choose_name(overrides->aggregate, trained, "aggregate", KG_DEFAULT_AGGREGATOR);
    const char *rows =
        choose_name(overrides->ls_rows, trained, "ls_rows", kg__ls_rows_names[KG_LS_NORMALIZED]);
    *out = kg__aggregate_defaults(kg__aggregator_find(name));
    if (out->aggregator == NULL)
        return kg_fail(error, KG_BAD_INPUT, "`aggregate`: expected %s, found %s",
                       kg__aggregators_list(KG_OF_FACTS).text, kg__quote(name, strlen(name)).text);
    while (kg__ls_rows_names[out->ls_rows] != NULL &&
           strcmp(kg__ls_rows_names[out->ls_rows], rows) != 0)
        out->ls_rows++;
    if (kg__ls_rows_names[out->ls_rows] == NULL)
        return kg_fail(error, KG_BAD_INPUT, "`ls_rows`: expected %s or %s, found %s",
                       kg__ls_rows_names[KG_LS_NORMALIZED], kg__ls_rows_names[KG_LS_WEIGHTED],
                       kg__quote(rows, strlen(rows)).text);
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        const json_t *value = json_object_get(trained, numbers[i].key);
        double asked = number_at(overrides, numbers[i].override);
        if (asked == 0 && !json_is_number(value))
            continue;
        if (asked == 0)
            asked = json_number_value(value);
        memcpy((char *)out + numbers[i].option, &asked, sizeof asked);
    }
    return KG_OK;
}

/* Overrides that would be ignored are refused. */
static kg_status check_effect(const kg_aggregate_overrides *overrides,
                              const kg_aggregate_options *chosen, const kg_model *model,
                              kg_error *error) {
    unsigned settings = chosen->aggregator->settings;
    const char *ignored = NULL;
    for (size_t i = NUMBER_COUNT; i > 0; i--)
        if (number_at(overrides, numbers[i - 1].override) != 0 &&
            (settings & numbers[i - 1].setting) == 0)
            ignored = numbers[i - 1].key;
    if (overrides->ls_rows != NULL && (settings & KG_BY_LS_ROWS) == 0)
        ignored = "ls_rows";
    if (overrides->aggregate != NULL && model->params.dim == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "`aggregate`: expected a model with embeddings, found one without");
    if (ignored == NULL)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "`%s`: expected an aggregator that it is a setting of, found %s", ignored,
                   chosen->aggregator->name);
}

kg_status kg__aggregate_choose(kg_aggregate_options *out, const kg_aggregate_overrides *overrides,
                               const kg_model *model, kg_error *error) {
    KG_TRY(
        kg__aggregate_override(out, overrides, json_object_get(model->config, "settings"), error));
    const char *trained = choose_name(NULL, json_object_get(model->config, "settings"), "aggregate",
                                      KG_DEFAULT_AGGREGATOR);
    if (out->aggregator->open != NULL && model->params.dim > 0 &&
        (model->params.terms[KG_TERM_EMBEDDING].counted == NULL ||
         strcmp(trained, out->aggregator->name) != 0))
        return kg_fail(error, KG_BAD_INPUT,
                       "`aggregate`: expected a model trained with %s, whose parameters it has, "
                       "found one trained with %s",
                       out->aggregator->name, trained);
    KG_TRY(check_effect(overrides, out, model, error));
    return kg__aggregate_check(out, model->params.scoring, error);
}

json_t *kg__aggregate_json(const kg_aggregate_options *options) {
    unsigned settings = options->aggregator->settings;
    json_t *out = json_pack("{ss}", "aggregate", options->aggregator->name);
    bool good = out != NULL;
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        if ((settings & numbers[i].setting) != 0)
            good =
                good && json_object_set_new(out, numbers[i].key,
                                            json_real(number_at(options, numbers[i].option))) == 0;
    if ((settings & KG_BY_LS_ROWS) != 0)
        good = good && json_object_set_new(out, "ls_rows",
                                           json_string(kg__ls_rows_names[options->ls_rows])) == 0;
    return kg__json_complete(out, good);
}

bool kg__aggregate_is_calibrated(const kg_aggregate_options *options, const kg_model *model) {
    static const kg_aggregate_overrides nothing = {0};
    const json_t *about = json_object_get(model->config, "calibration");
    kg_aggregate_options made;
    kg_error error;
    if (about == NULL)
        about = json_object_get(model->config, "settings");
    if (model->calibration == NULL ||
        kg__aggregate_override(&made, &nothing, about, &error) != KG_OK)
        return false;
    json_t *one = kg__aggregate_json(&made);
    json_t *other = kg__aggregate_json(options);
    bool is_same = json_equal(one, other);
    json_decref(one);
    json_decref(other);
    return is_same;
}
