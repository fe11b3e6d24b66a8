/* Whether settings are those of a run that can be: ranges from the table, combinations here. */
#include "aggregate/aggregate_options.h"
#include "train/settings.h"

static kg_status refuse(kg_error *error, const char *setting, const char *expected, double found) {
    return kg_fail(error, KG_BAD_INPUT, "`%s`: expected %s, found %g", setting, expected, found);
}

/* ---- Each alone ---- */

static bool is_within(const kg_range *range, double x) {
    return x >= range->least && x <= range->most &&
           (!range->is_above || (double)(real)x > range->least) &&
           (!range->is_below || x < range->most);
}

static kg_status check_range(const kg_setting *setting, const kg_train_options *o,
                             kg_error *error) {
    const void *field = kg__setting_value(setting, o);
    bool is_count = setting->type == KG_TYPE_COUNT;
    if (setting->range == NULL ||
        is_within(setting->range,
                  is_count ? (double)*(const uint64_t *)field : *(const double *)field))
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "`%s`: expected %s, found %s",
                   kg__setting_key(setting).text, setting->range->expected,
                   kg__setting_text(setting, o).text);
}

static kg_status check_dim(const kg_train_options *o, kg_error *error) {
    if (o->dim > 0 && o->dim % o->scoring->parts == 0 && o->dim <= 1 << 20)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "`dim`: expected a multiple of %zu from %zu to %d for model %s, found %ju",
                   o->scoring->parts, o->scoring->parts, 1 << 20, o->scoring->name,
                   (uintmax_t)o->dim);
}

/* ---- Together ---- */

/* Those who chose no loss want to know where it comes from. */
#define LOSSES " (preset graft: softmax, preset paper: softplus)"

/* Terms beside the embedding compare candidates, which softplus does not have. */
static kg_status check_softplus(const kg_train_options *o, kg_error *error) {
    bool has_echo = o->aggregate.aggregator->ask != NULL && o->graft_echo;
    const char *only = o->evidence != 0 ? "`evidence`" : has_echo ? "`graft_echo` yes" : NULL;
    if (only != NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "`loss`: expected softmax for %s, found softplus" LOSSES, only);
    if (o->negatives > 1000)
        return refuse(error, "negatives", "at most 1000 for loss softplus", (double)o->negatives);
    return KG_OK;
}

static kg_status check_softmax(const kg_train_options *o, kg_error *error) {
    if (o->scoring->is_encoded)
        return kg_fail(error, KG_BAD_INPUT,
                       "`loss`: expected softplus for model %s, found softmax" LOSSES,
                       o->scoring->name);
    if (o->psi < 1 && o->evidence != 0)
        return refuse(error, "psi", "1 for evidence, since rows are asked without", o->psi);
    if (o->exclude != KG_EXCLUDE_TRIPLE)
        return kg_fail(error, KG_BAD_INPUT,
                       "`exclude`: expected triple for loss softmax, found pair" LOSSES);
    if (o->negatives == 0)
        return refuse(error, "negatives", "at least 1 for loss softmax", 0);
    return KG_OK;
}

static kg_status check_regularizer(const kg_train_options *o, kg_error *error) {
    if (o->regularizer == KG_L2)
        return KG_OK;
    if (o->l2 > 0)
        return refuse(error, "l2", "0 for regularizer n3", o->l2);
    if (o->loss != &kg__loss_softmax)
        return kg_fail(error, KG_BAD_INPUT, "`loss`: expected softmax for regularizer n3, found %s",
                       kg__setting_text(kg__setting_find("loss"), o).text);
    return KG_OK;
}

kg_status kg__train_check(const kg_train_options *o, kg_error *error) {
    KG_TRY(check_dim(o, error));
    for (size_t i = 0; i < kg__setting_count; i++)
        KG_TRY(check_range(&kg__settings[i], o, error));
    if (o->last_rate > o->rate)
        return kg_fail(error, KG_BAD_INPUT,
                       "`lr_last`: expected at most `lr`, which is %g, found %g", o->rate,
                       o->last_rate);
    KG_TRY(check_regularizer(o, error));
    KG_TRY(kg__aggregate_check(&o->aggregate, o->scoring, error));
    if (o->aggregate.aggregator->backward == NULL && o->psi > 0 && !o->scoring->is_encoded)
        return refuse(error, "psi", "0 for aggregate ials, which cannot be learned through",
                      o->psi);
    if (o->scoring->is_encoded && o->psi != 0)
        return refuse(error, "psi", "0 for model rgcn-d, which encodes seen and unseen alike",
                      o->psi);
    KG_TRY(o->loss == &kg__loss_softplus ? check_softplus(o, error) : check_softmax(o, error));
    if (o->psi == 0 && o->own_relations)
        return kg_fail(error, KG_BAD_INPUT,
                       "`aggregate_relations`: expected shared for psi 0, which learns no others, "
                       "found own (preset graft: own, preset paper: shared)");
    return KG_OK;
}

kg_status kg__settings_check(const kg_settings *settings, kg_error *error) {
    static const char *const of_graft[] = {"graft-power", "graft-weights", "graft-echo"};
    kg_train_options o = kg__settings_complete(settings);
    for (size_t i = 0; i < sizeof of_graft / sizeof *of_graft; i++)
        if (kg__settings_has(settings, of_graft[i]) && o.aggregate.aggregator->ask == NULL)
            return kg_fail(error, KG_BAD_INPUT, "`aggregate`: expected graft for `%s`, found %s",
                           kg__setting_key(kg__setting_find(of_graft[i])).text,
                           o.aggregate.aggregator->name);
    if (kg__settings_has(settings, "n3") && o.regularizer != KG_N3)
        return kg_fail(error, KG_BAD_INPUT, "`regularizer`: expected n3 for `n3`, found l2");
    return KG_OK;
}
