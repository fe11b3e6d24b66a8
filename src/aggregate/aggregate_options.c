/* The settings of aggregators: usual ones, those of a model, and what a user wants instead. */
#include "aggregate/aggregate_options.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

kg_aggregate_options kg__aggregate_usual(const kg_aggregator *aggregator) {
    return (kg_aggregate_options){aggregator,    KG_LS_LAMBDA,   KG_LS_NORMALIZED,
                                  KG_IALS_ALPHA, KG_IALS_LAMBDA, false};
}

static kg_status check_positive(const char *option, const char *what, double found,
                                kg_error *error) {
    if (kg__is_positive(found))
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "`%s`: expected a %s above 0 that single precision can hold, found %g", option,
                   what, found);
}

kg_status kg__aggregate_check(const kg_aggregate_options *options, const kg_scoring *scoring,
                              kg_error *error) {
    if (options->aggregator->is_encoder != scoring->is_encoded)
        return kg_fail(error, KG_BAD_INPUT, "`aggregate`: expected %s for model %s, found %s",
                       scoring->is_encoded ? "rgcn-d" : "eavg, eravg, ls, ls-u, ials or graft",
                       scoring->name, options->aggregator->name);
    KG_TRY(check_positive("ls_lambda", "ridge", options->ls_lambda, error));
    KG_TRY(check_positive("ials_alpha", "weight", options->ials_alpha, error));
    return check_positive("ials_lambda", "ridge", options->ials_lambda, error);
}

static kg_status find_rows(kg_ls_rows *out, const char *name, kg_error *error) {
    *out = KG_LS_NORMALIZED;
    for (size_t i = 0; name != NULL; i++) {
        if (kg__ls_rows_names[i] == NULL)
            return kg_fail(error, KG_BAD_INPUT,
                           "`ls_rows`: expected normalized or weighted, found %s",
                           kg__quote(name, strlen(name)).text);
        if (strcmp(kg__ls_rows_names[i], name) != 0)
            continue;
        *out = (kg_ls_rows)i;
        break;
    }
    return KG_OK;
}

static kg_status take_number(double *number, const char *setting, kg_error *error) {
    if (isnan(*number))
        return kg_fail(error, KG_BAD_INPUT, "`%s`: expected a number, or 0 for none, found nan",
                       setting);
    if (*number == 0)
        *number = (double)NAN;
    return KG_OK;
}

kg_status kg__overrides_take(kg_aggregate_overrides *wish, kg_error *error) {
    KG_TRY(take_number(&wish->ls_lambda, "ls_lambda", error));
    KG_TRY(take_number(&wish->ials_alpha, "ials_alpha", error));
    return take_number(&wish->ials_lambda, "ials_lambda", error);
}

static double wished(double wish, const json_t *trained, const char *key, double usual) {
    const json_t *value = json_object_get(trained, key);
    return !isnan(wish) ? wish : json_is_number(value) ? json_number_value(value) : usual;
}

/* What was wished for, or else what the settings of a model have. */
static kg_status choose(kg_aggregate_options *out, const kg_aggregate_overrides *wish,
                        const json_t *trained, kg_error *error) {
    const char *name = wish->aggregate;
    const char *rows = wish->ls_rows;
    if (name == NULL)
        name = json_string_value(json_object_get(trained, "aggregate"));
    if (name == NULL)
        name = "eravg";
    if (rows == NULL)
        rows = json_string_value(json_object_get(trained, "ls_rows"));
    *out = (kg_aggregate_options){
        .aggregator = kg__aggregator_find(name),
        .ls_lambda = wished(wish->ls_lambda, trained, "ls_lambda", KG_LS_LAMBDA),
        .ials_alpha = wished(wish->ials_alpha, trained, "ials_alpha", KG_IALS_ALPHA),
        .ials_lambda = wished(wish->ials_lambda, trained, "ials_lambda", KG_IALS_LAMBDA)};
    if (out->aggregator == NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "`aggregate`: expected eavg, eravg, ls, ls-u, ials or graft, found %s",
                       kg__quote(name, strlen(name)).text);
    return find_rows(&out->ls_rows, rows, error);
}

kg_status kg__aggregate_choose(kg_aggregate_options *out, const kg_aggregate_overrides *wish,
                               const kg_model *model, kg_error *error) {
    KG_TRY(choose(out, wish, json_object_get(model->config, "settings"), error));
    if (out->aggregator->ask != NULL && model->params.graft == NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "`aggregate`: expected a model that was trained with it for graft, found "
                       "another");
    return kg__aggregate_check(out, model->params.scoring, error);
}

static bool goes_by(const kg_aggregator *aggregator, kg_aggregate_setting setting) {
    return (aggregator->settings & setting) != 0;
}

json_t *kg__aggregate_json(const kg_aggregate_options *options) {
    const kg_aggregator *aggregator = options->aggregator;
    json_t *out = json_pack("{ss}", "aggregate", aggregator->name);
    bool good = out != NULL;
    if (goes_by(aggregator, KG_BY_LS_LAMBDA))
        good = good && json_object_set_new(out, "ls_lambda", json_real(options->ls_lambda)) == 0;
    if (goes_by(aggregator, KG_BY_LS_ROWS))
        good = good && json_object_set_new(out, "ls_rows",
                                           json_string(kg__ls_rows_names[options->ls_rows])) == 0;
    if (goes_by(aggregator, KG_BY_IALS))
        good = good &&
               json_object_set_new(out, "ials_alpha", json_real(options->ials_alpha)) == 0 &&
               json_object_set_new(out, "ials_lambda", json_real(options->ials_lambda)) == 0;
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

/* What they do not go by may differ. */
static bool is_same(const kg_aggregate_options *one, const kg_aggregate_options *other) {
    const kg_aggregator *aggregator = one->aggregator;
    if (aggregator != other->aggregator)
        return false;
    if (goes_by(aggregator, KG_BY_LS_LAMBDA) && one->ls_lambda != other->ls_lambda)
        return false;
    if (goes_by(aggregator, KG_BY_LS_ROWS) && one->ls_rows != other->ls_rows)
        return false;
    return !goes_by(aggregator, KG_BY_IALS) ||
           (one->ials_alpha == other->ials_alpha && one->ials_lambda == other->ials_lambda);
}

bool kg__aggregate_is_calibrated(const kg_aggregate_options *options, const kg_model *model) {
    static const kg_aggregate_overrides nothing = KG_NO_OVERRIDES;
    const json_t *about = json_object_get(model->config, "calibration");
    kg_aggregate_options made;
    kg_error error;
    if (about == NULL)
        about = json_object_get(model->config, "settings");
    return model->calibration != NULL && choose(&made, &nothing, about, &error) == KG_OK &&
           is_same(&made, options);
}
