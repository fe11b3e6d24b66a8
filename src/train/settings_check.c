/* Whether settings are those of a run that can be: ranges from the table, combinations here. */
#include <math.h>
#include <stdio.h>

#include "aggregate/aggregate_options.h"
#include "base/text.h"
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

/* What a setting is by preset, for those who chose none. */
static kg_setting_text by_preset(const char *name) {
    const kg_setting *setting = kg__setting_find(name);
    kg_setting_text out;
    snprintf(out.text, sizeof out.text, " (preset %s: %s, preset %s: %s)",
             kg__preset_names[KG_GRAFT], setting->values[KG_GRAFT_COLUMN],
             kg__preset_names[KG_PAPER], setting->values[KG_PAPER_COLUMN]);
    return out;
}

/* A combination that cannot be: "`setting`: expected ... for what name, reason". */
struct conflict {
    bool is_there;
    const char *setting;
    const char *expected; /* of it, */
    const char *what;     /* for this one, */
    const char *name;     /* which is that, */
    const char *reason;   /* or NULL */
    const char *origin;   /* a setting whose value may be the preset's; or NULL */
};

static kg_status check_conflicts(const kg_train_options *o, kg_error *error) {
    bool is_encoded = o->scoring->is_encoded;
    bool is_single = o->loss->block != NULL; /* of single candidates */
    bool can_learn = o->aggregate.aggregator->backward != NULL;
    bool is_n3 = o->regularizer == KG_N3;
    const char *aggregate = o->aggregate.aggregator->name;
    const char *model = o->scoring->name;
    const char *loss = o->loss->name;
    const struct conflict conflicts[] = {
        {is_n3 && o->l2 > 0, "l2", "0", "regularizer", "n3", NULL, NULL},
        {is_n3 && o->loss != &kg__loss_softmax, "loss", "softmax", "regularizer", "n3", NULL, NULL},
        {!can_learn && o->psi > 0 && !is_encoded, "psi", "0", "aggregate", aggregate,
         ", which cannot be learned through", NULL},
        {is_encoded && o->psi != 0, "psi", "0", "model", model,
         ", which encodes seen and unseen alike", NULL},
        {is_single && o->negatives > 1000, "negatives", "at most 1000", "loss", loss, NULL, NULL},
        {!is_single && is_encoded, "loss", "softplus", "model", model, NULL, "loss"},
        {!is_single && o->exclude != KG_EXCLUDE_TRIPLE, "exclude", "triple", "loss", loss, NULL,
         "loss"},
        {!is_single && o->negatives == 0, "negatives", "at least 1", "loss", loss, NULL, NULL},
        {o->psi < 1 && kg__train_has_apart(o), "psi", "1", "propagation", "among `terms`",
         ", which answers by facts alone", "psi"},
        {is_encoded && kg__train_has_apart(o), "terms", "none but embedding", "model", model, NULL,
         NULL},
        {o->psi == 0 && o->own_relations, "aggregate-relations", "shared", "psi", "0",
         ", which learns no others", "aggregate-relations"},
    };
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++) {
        const struct conflict *c = &conflicts[i];
        char expected[256];
        if (!c->is_there)
            continue;
        snprintf(expected, sizeof expected, "%s for %s %s%s", c->expected, c->what, c->name,
                 c->reason == NULL ? "" : c->reason);
        return refuse(kg__setting_find(c->setting), o, expected,
                      c->origin == NULL ? NULL : by_preset(c->origin).text, error);
    }
    return KG_OK;
}

/* The first row that can train with a term, by name; and the first loss that trains more than one.
 */
static const char *aggregator_for(const kg_term *term) {
    size_t i = 0;
    while (kg__aggregators[i + 1] != NULL && !term->goes_with(kg__aggregators[i]))
        i++;
    return kg__aggregators[i]->name;
}

static const char *loss_of_terms(void) {
    size_t i = 0;
    while (kg__losses[i + 1] != NULL && !kg__losses[i]->takes_terms)
        i++;
    return kg__losses[i]->name;
}

static kg_status refuse_for(const char *setting, const kg_train_options *o, const char *wanted,
                            const kg_term *term, kg_error *error) {
    char expected[256];
    snprintf(expected, sizeof expected, "%s for %s among `terms`", wanted, term->name);
    return refuse(kg__setting_find(setting), o, expected, by_preset(setting).text, error);
}

/* That there are any, and that aggregator and loss can train them. */
static kg_status check_terms(const kg_train_options *o, kg_error *error) {
    unsigned alone = kg__term_bit("embedding") | kg__terms_apart();
    unsigned trained = kg__train_terms(o);
    if (o->terms == 0)
        return refuse(kg__setting_find("terms"), o, "at least one", NULL, error);
    for (size_t i = 0; kg__terms[i] != NULL; i++) {
        if (trained == 0 && (o->terms >> i & 1) != 0)
            return refuse_for("aggregate", o, aggregator_for(kg__terms[i]), kg__terms[i], error);
        if (((trained & ~alone) >> i & 1) != 0 && !o->loss->takes_terms)
            return refuse_for("loss", o, loss_of_terms(), kg__terms[i], error);
    }
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
    if (kg__train_is_apart(o)) /* made of settings that were checked, with a loss of its own */
        return KG_OK;
    KG_TRY(check_terms(o, error));
    return check_conflicts(o, error);
}

/* Choices of the condition's setting with which it holds, as in "ls or ls-u". */
static kg_setting_text list_holding(const kg_condition *condition, const kg_train_options *o) {
    const kg_setting *setting = kg__setting_find(condition->setting);
    const char *names[KG_MOST_CHOICES + 1] = {NULL};
    kg_setting_text out = {""};
    size_t count = 0;
    for (size_t i = 0; i < KG_MOST_CHOICES && kg__setting_choice(setting, i) != NULL; i++) {
        kg_train_options with = *o;
        if (kg__setting_parse(setting, &with, kg__setting_choice(setting, i), NULL) == KG_OK &&
            condition->holds(&with))
            names[count++] = kg__setting_choice(setting, i);
    }
    kg__join_names(out.text, sizeof out.text, names, sizeof *names);
    return out;
}

static kg_status check_effect(const kg_setting *row, const kg_train_options *o, kg_error *error) {
    const kg_condition *condition = row->condition;
    if (row->term != NULL && !kg__train_has(o, row->term))
        return kg_fail(error, KG_BAD_INPUT, "`terms`: expected %s among them for `%s`", row->term,
                       kg__setting_key(row).text);
    if (condition == NULL || condition->holds(o))
        return KG_OK;
    const kg_setting *other = kg__setting_find(condition->setting);
    return kg_fail(error, KG_BAD_INPUT, "`%s`: expected %s for `%s`, found %s",
                   kg__setting_key(other).text, list_holding(condition, o).text,
                   kg__setting_key(row).text, kg__setting_text(other, o).text);
}

kg_status kg__settings_check(const kg_settings *settings, kg_error *error) {
    kg_train_options o = kg__settings_complete(settings);
    for (const kg_setting *row = kg__settings; row < kg__settings + kg__setting_count; row++)
        if (kg__settings_has(settings, row->name))
            KG_TRY(check_effect(row, &o, error));
    return KG_OK;
}
