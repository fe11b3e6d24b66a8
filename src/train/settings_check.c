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
    if (is_count && kg__setting_word(setting, o) != NULL)
        return KG_OK;
    if (is_count && *(const uint64_t *)field > INT64_MAX) /* numbers of JSON end there */
        return refuse(setting, o, "at most 9223372036854775807", NULL, error);
    if (setting->range == NULL)
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

/* The first loss that trains a term, by name. */
static const char *loss_for(const kg_term *term) {
    size_t i = 0;
    while (kg__losses[i + 1] != NULL && !kg__loss_trains(kg__losses[i], term))
        i++;
    return kg__losses[i]->name;
}

/* What a setting is by preset, for those who chose none. */
static kg_setting_text by_preset(const char *name) {
    const kg_setting *setting = kg__setting_find(name);
    kg_setting_text out;
    snprintf(out.text, sizeof out.text, " (preset %s: %s, preset %s: %s)",
             kg__preset_names[KG_GRAFT], setting->values[KG_GRAFT_COLUMN],
             kg__preset_names[KG_PAPER], setting->values[KG_PAPER_COLUMN]);
    return out;
}

/* A combination that cannot be: "`setting`: expected ... for another setting's value, reason". */
struct conflict {
    bool (*is_there)(const kg_train_options *o);
    const char *setting;
    const char *expected; /* of it, */
    const char *other;    /* for this setting's value */
    const char *reason;
    const char *origin; /* a setting whose value may be the preset's; or NULL */
};

static bool compares(const kg_train_options *o) {
    return kg__loss_compares(o->loss);
}

static bool has_two_regularizers(const kg_train_options *o) {
    return o->regularizer == KG_N3 && o->l2 > 0;
}

static bool has_no_gradient(const kg_train_options *o) {
    return o->aggregate.aggregator->backward == NULL && o->psi > 0 && !o->scoring->is_encoded;
}

static bool encodes_unseen(const kg_train_options *o) {
    return o->scoring->is_encoded && o->psi != 0;
}

static bool draws_too_many(const kg_train_options *o) {
    return !compares(o) && o->negatives > 1000;
}

static bool encodes_without_triples(const kg_train_options *o) {
    return o->scoring->is_encoded && compares(o);
}

static bool excludes_answers(const kg_train_options *o) {
    return compares(o) && o->exclude != KG_EXCLUDE_TRIPLE;
}

static bool has_no_negatives(const kg_train_options *o) {
    return compares(o) && o->negatives == 0;
}

static bool lacks_validation(const kg_train_options *o) {
    return o->patience > 0 && o->validate_every == 0;
}

static bool has_untrained_relations(const kg_train_options *o) {
    return o->psi == 0 && o->own_relations;
}

/* clang-format off */
static const struct conflict conflicts[] = {
    {.is_there = has_two_regularizers, .setting = "l2", .expected = "0", .other = "regularizer",
     .reason = "since there is one regularizer"},
    {.is_there = has_no_gradient, .setting = "psi", .expected = "0", .other = "aggregate",
     .reason = "which has no gradient"},
    {.is_there = encodes_unseen, .setting = "psi", .expected = "0", .other = "model",
     .reason = "which encodes seen and unseen entities alike"},
    {.is_there = draws_too_many, .setting = "negatives", .expected = "at most 1000",
     .other = "loss", .reason = "which draws them anew for each fact"},
    {.is_there = encodes_without_triples, .setting = "loss", .expected = "softplus",
     .other = "model", .origin = "loss",
     .reason = "which leaves the facts of a batch out of its graph: only batches of triples list "
               "them"},
    {.is_there = excludes_answers, .setting = "exclude", .expected = "triple", .other = "loss",
     .origin = "loss",
     .reason = "which compares the answer with other ends of the entity's facts, whose links it "
               "keeps"},
    {.is_there = has_no_negatives, .setting = "negatives", .expected = "at least 1",
     .other = "loss", .reason = "which compares the answer with others"},
    {.is_there = lacks_validation, .setting = "patience", .expected = "0", .other = "validate-every",
     .reason = "since it counts validations"},
    {.is_there = has_untrained_relations, .setting = "aggregate-relations", .expected = "shared",
     .other = "psi", .origin = "aggregate-relations",
     .reason = "since they are trained only where psi is above 0"},
};
/* clang-format on */

static kg_status check_conflicts(const kg_train_options *o, kg_error *error) {
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++) {
        const struct conflict *c = &conflicts[i];
        char expected[256];
        if (!c->is_there(o))
            continue;
        snprintf(expected, sizeof expected, "%s for %s %s, %s", c->expected, c->other,
                 kg__setting_text(kg__setting_find(c->other), o).text, c->reason);
        return refuse(kg__setting_find(c->setting), o, expected,
                      c->origin == NULL ? NULL : by_preset(c->origin).text, error);
    }
    return KG_OK;
}

/* A term that is trained apart answers by facts alone. */
static kg_status check_apart(const kg_term *term, const kg_train_options *o, kg_error *error) {
    char expected[256];
    if (o->scoring->is_encoded) {
        snprintf(expected, sizeof expected,
                 "no %s for model %s, which asks about entities of training by their rows",
                 term->name, o->scoring->name);
        return refuse(kg__setting_find("terms"), o, expected, NULL, error);
    }
    snprintf(
        expected, sizeof expected,
        "1 for %s among `terms`, which answers by facts: below 1, rows of entities answer, too",
        term->name);
    return o->psi < 1 ? refuse(kg__setting_find("psi"), o, expected, by_preset("psi").text, error)
                      : KG_OK;
}

/* That there are any, and that they can be trained. */
static kg_status check_terms(const kg_train_options *o, kg_error *error) {
    char expected[256];
    if (o->terms == 0)
        return refuse(kg__setting_find("terms"), o, "at least one", NULL, error);
    for (size_t i = 0; kg__terms[i] != NULL; i++) {
        if ((o->terms >> i & 1) == 0)
            continue;
        if (kg__terms[i]->is_trained_apart)
            KG_TRY(check_apart(kg__terms[i], o, error));
        if (kg__loss_trains(o->loss, kg__terms[i]))
            continue;
        snprintf(expected, sizeof expected, "%s for %s among `terms`, which cannot %s",
                 loss_for(kg__terms[i]), kg__terms[i]->name,
                 compares(o) ? "compare candidates" : "score single candidates");
        return refuse(kg__setting_find("loss"), o, expected, by_preset("loss").text, error);
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
        return kg_fail(error, KG_BAD_INPUT, "`terms`: expected %s among them for `%s`, found %s",
                       row->term, kg__setting_key(row).text,
                       kg__setting_text(kg__setting_find("terms"), o).text);
    if (condition == NULL || condition->holds(o))
        return KG_OK;
    const kg_setting *other = kg__setting_find(condition->setting);
    return kg_fail(
        error, KG_BAD_INPUT, "`%s`: expected %s for `%s`, found %s", kg__setting_key(other).text,
        condition->expected != NULL ? condition->expected : list_holding(condition, o).text,
        kg__setting_key(row).text, kg__setting_text(other, o).text);
}

kg_status kg__settings_check(const kg_settings *settings, uint64_t rows, kg_error *error) {
    kg_train_options o = kg__settings_complete(settings);
    if (kg__settings_has(settings, "preset") && o.preset == KG_GRAFT && o.scoring->is_encoded)
        return kg_fail(error, KG_BAD_INPUT,
                       "`preset`: expected %s for model %s, which cannot have the loss and the "
                       "`psi` of %s, found %s",
                       kg__preset_names[KG_PAPER], o.scoring->name, kg__preset_names[KG_GRAFT],
                       kg__preset_names[KG_GRAFT]);
    for (size_t i = 0; i < kg__setting_count; i++)
        if ((rows >> i & 1) != 0)
            KG_TRY(check_effect(&kg__settings[i], &o, error));
    return KG_OK;
}
