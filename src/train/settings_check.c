/* Whether settings are those of a run that can be: ranges from the table, combinations here. */
#include <math.h>
#include <stdio.h>

#include "aggregate/aggregate_options.h"
#include "train/settings.h"

static kg_status refuse(const kg_setting *setting, const kg_train_options *o, const char *expected,
                        const char *origin, kg_error *error) {
    return kg_fail(error, KG_BAD_INPUT, "`%s`: expected %s, found %s%s",
                   kg__setting_key(setting).text, expected, kg__setting_text(setting, o).text,
                   origin == NULL ? "" : origin);
}

/* ---- Each alone ---- */

static bool is_within(const kg_range *range, double x) {
    return x >= range->least && x <= range->most &&
           (!range->is_above || (double)(real)x > range->least) &&
           (!range->is_below || x < range->most) &&
           (range->multiple == 0 || fmod(x, (double)range->multiple) == 0);
}

static kg_setting_text describe_range(const kg_range *range, bool is_count) {
    kg_setting_text out;
    char what[64] = "";
    char most[48] = "that single precision can hold";
    if (range->what != NULL)
        snprintf(what, sizeof what, "%s %s ", range->what, range->is_above ? "above" : "from");
    if (range->multiple > 0)
        snprintf(what, sizeof what, "a multiple of %ju from ", (uintmax_t)range->multiple);
    if (range->most < (double)KG_REAL_MAX)
        snprintf(most, sizeof most, "to %s%.15g", range->is_below ? "below " : "", range->most);
    if (is_count && range->least == 0 && range->multiple == 0)
        snprintf(out.text, sizeof out.text, "at most %.15g", range->most);
    else
        snprintf(out.text, sizeof out.text, "%s%.15g %s", what, range->least, most);
    return out;
}

kg_status kg__setting_check(const kg_setting *setting, const kg_train_options *o, kg_error *error) {
    const void *field = kg__setting_value(setting, o);
    bool is_count = setting->type == KG_TYPE_COUNT;
    if (setting->range == NULL || (is_count && kg__setting_word(setting, o) != NULL))
        return KG_OK;
    double x = is_count ? (double)*(const uint64_t *)field : *(const double *)field;
    if (is_within(setting->range, x))
        return KG_OK;
    return refuse(setting, o, describe_range(setting->range, is_count).text, NULL, error);
}

static kg_status check_dim(const kg_train_options *o, kg_error *error) {
    if (!kg__train_has(o, "embedding") && o->dim == 0)
        return KG_OK;
    if (o->dim > 0 && o->dim % o->scoring->parts == 0 && o->dim <= 1 << 20)
        return KG_OK;
    kg_range range = {.least = (double)o->scoring->parts,
                      .most = 1 << 20,
                      .multiple = o->scoring->parts > 1 ? o->scoring->parts : 0};
    return kg_fail(error, KG_BAD_INPUT, "`dim`: expected %s for model %s, found %ju",
                   describe_range(&range, true).text, o->scoring->name, (uintmax_t)o->dim);
}

/* ---- Together ---- */

/* A combination that cannot be. */
struct conflict {
    bool is_there;
    const char *setting;
    const char *expected; /* of it, and why */
    const char *origin;   /* where its value comes from, for those who chose none; or NULL */
};

static const char losses[] = " (preset graft: softmax, preset paper: softplus)";

static kg_status check_together(const kg_train_options *o, kg_error *error) {
    bool is_encoded = o->scoring->is_encoded;
    bool is_softplus = o->loss == &kg__loss_softplus;
    bool has_echo = kg__train_has(o, "echo");
    bool can_learn = o->aggregate.aggregator->backward != NULL;
    bool is_n3 = o->regularizer == KG_N3;
    /* Terms beside the embedding compare candidates, which softplus does not have. */
    const struct conflict conflicts[] = {
        {is_n3 && o->l2 > 0, "l2", "0 for regularizer n3", NULL},
        {is_n3 && o->loss != &kg__loss_softmax, "loss", "softmax for regularizer n3", NULL},
        {!can_learn && o->psi > 0 && !is_encoded, "psi",
         "0 for aggregate ials, which cannot be learned through", NULL},
        {is_encoded && o->psi != 0, "psi",
         "0 for model rgcn-d, which encodes seen and unseen alike", NULL},
        {is_softplus && has_echo, "loss", "softmax for echo among `terms`", losses},
        {is_softplus && o->negatives > 1000, "negatives", "at most 1000 for loss softplus", NULL},
        {!is_softplus && is_encoded, "loss", "softplus for model rgcn-d", losses},
        {!is_softplus && o->exclude != KG_EXCLUDE_TRIPLE, "exclude", "triple for loss softmax",
         losses},
        {!is_softplus && o->negatives == 0, "negatives", "at least 1 for loss softmax", NULL},
        {o->psi < 1 && kg__train_has(o, "propagation"), "psi",
         "1 for propagation, since rows are asked without", NULL},
        {is_encoded && kg__train_has(o, "propagation"), "terms",
         "none but embedding for model rgcn-d", NULL},
        {!kg__train_has(o, "propagation") && !kg__train_has_joint(o), "terms",
         "at least one, and what it needs", NULL},
        {o->psi == 0 && o->own_relations, "aggregate-relations",
         "shared for psi 0, which learns no others", " (preset graft: own, preset paper: shared)"},
    };
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++)
        if (conflicts[i].is_there)
            return refuse(kg__setting_find(conflicts[i].setting), o, conflicts[i].expected,
                          conflicts[i].origin, error);
    return KG_OK;
}

kg_status kg__train_check(const kg_train_options *o, kg_error *error) {
    KG_TRY(check_dim(o, error));
    for (size_t i = 0; i < kg__setting_count; i++)
        KG_TRY(kg__setting_check(&kg__settings[i], o, error));
    if (o->last_rate > o->rate)
        return kg_fail(error, KG_BAD_INPUT,
                       "`lr_last`: expected at most `lr`, which is %g, found %g", o->rate,
                       o->last_rate);
    KG_TRY(kg__aggregate_check(&o->aggregate, o->scoring, error));
    return check_together(o, error);
}

kg_status kg__settings_check(const kg_settings *settings, kg_error *error) {
    static const char *const of_graft[] = {"graft-power", "graft-weights"};
    kg_train_options o = kg__settings_complete(settings);
    for (size_t i = 0; i < sizeof of_graft / sizeof *of_graft; i++)
        if (kg__settings_has(settings, of_graft[i]) && o.aggregate.aggregator->set_query == NULL)
            return kg_fail(error, KG_BAD_INPUT, "`aggregate`: expected graft for `%s`, found %s",
                           kg__setting_key(kg__setting_find(of_graft[i])).text,
                           o.aggregate.aggregator->name);
    for (const kg_setting *row = kg__settings; row < kg__settings + kg__setting_count; row++)
        if (row->term != NULL && kg__settings_has(settings, row->name) &&
            !kg__train_has(&o, row->term))
            return kg_fail(error, KG_BAD_INPUT, "`terms`: expected %s among them for `%s`",
                           row->term, kg__setting_key(row).text);
    if (kg__settings_has(settings, "n3") && o.regularizer != KG_N3)
        return kg_fail(error, KG_BAD_INPUT, "`regularizer`: expected n3 for `n3`, found l2");
    return KG_OK;
}
