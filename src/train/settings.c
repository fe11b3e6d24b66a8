/* The table of settings, and what is made of it: defaults, and the settings of a run in JSON. */
#include "train/settings.h"
#include "aggregate/aggregate_options.h"

#include <string.h>

/* ---- What is written of them ---- */

static bool is_always(const kg_train_options *o) {
    (void)o;
    return true;
}

static bool is_encoded(const kg_train_options *o) {
    return o->scoring->is_encoded;
}

static bool has_rows(const kg_train_options *o) {
    return !o->scoring->is_encoded;
}

/* A rate that falls depends on where it ends. */
static bool falls(const kg_train_options *o) {
    return o->last_rate != o->rate;
}

static bool is_n3(const kg_train_options *o) {
    return o->regularizer != KG_L2;
}

/* Directed or own relations were once the softmax loss's alone. */
static bool has_relations(const kg_train_options *o) {
    return o->loss == &kg__loss_softmax || o->directed || o->own_relations;
}

static bool is_graft(const kg_train_options *o) {
    return o->aggregate.aggregator->ask != NULL;
}

static bool has_evidence(const kg_train_options *o) {
    return o->evidence != 0;
}

static bool is_ials(const kg_train_options *o) {
    return o->aggregate.aggregator->needs_gram;
}

static bool is_held_out(const kg_train_options *o) {
    return o->hold_out != 0;
}

/* The parts of the settings in JSON, in their order: each is written only where it matters, so that
 * other runs have the same settings as before it was there. New parts go to the end. */
enum part {
    NOT_WRITTEN,
    IDENTITY,
    AGGREGATION,
    BASES,
    SELF_LOOPS,
    LEARNING,
    LAST_RATE,
    EPOCHS,
    REGULARIZER,
    RELATIONS,
    GRAFT,
    EVIDENCE,
    IALS,
    HOLD_OUT,
    PART_COUNT
};

static bool (*const is_written[PART_COUNT])(const kg_train_options *) = {
    [IDENTITY] = is_always,    [AGGREGATION] = has_rows,  [BASES] = is_encoded,
    [SELF_LOOPS] = is_encoded, [LEARNING] = is_always,    [LAST_RATE] = falls,
    [EPOCHS] = falls,          [REGULARIZER] = is_n3,     [RELATIONS] = has_relations,
    [GRAFT] = is_graft,        [EVIDENCE] = has_evidence, [IALS] = is_ials,
    [HOLD_OUT] = is_held_out,
};

/* ---- Choices ---- */

const char *const kg__preset_names[] = {"paper", "graft", NULL};
static const char *const relations[] = {"shared", "directed", NULL};
static const char *const own_relations[] = {"shared", "own", NULL};
static const char *const exclusions[] = {"triple", "pair", NULL};
static const char *const regularizers[] = {"l2", "n3", NULL};
static const char *const inits[] = {"xavier", NULL};
static const char *const all[] = {"all", NULL};
static const char *const yes_or_no[] = {"yes", "no", NULL};

/* ---- Ranges ---- */

#define SINGLE (double)KG_REAL_MAX
#define THAT_FITS " that single precision can hold"

static const kg_range probability = {0, 1, .expected = "a probability from 0 to 1"};
static const kg_range dropped = {0, 1, .is_below = true,
                                 .expected = "a probability from 0 to below 1"};
static const kg_range share = {0, 1, .is_below = true, .expected = "a share from 0 to below 1"};
static const kg_range power = {0, 1, .expected = "0 to 1"};
static const kg_range ridge = {0, SINGLE, .is_above = true,
                               .expected = "a ridge above 0" THAT_FITS};
static const kg_range negative_weight = {0, SINGLE, .is_above = true,
                                         .expected = "a weight above 0" THAT_FITS};
static const kg_range weight = {0, SINGLE, .expected = "a weight from 0" THAT_FITS};
static const kg_range rate = {0, SINGLE, .is_above = true, .expected = "a rate above 0" THAT_FITS};
static const kg_range last_rate = {0, SINGLE, .expected = "a rate from 0" THAT_FITS};
static const kg_range bases = {1, KG_MOST_BASES, .expected = "1 to 1000"};
static const kg_range batch = {1, 1 << 24, .expected = "1 to 16777216 facts"};
static const kg_range epochs = {0, KG_MOST_EPOCHS, .expected = "at most 30000"};
static const kg_range threads = {1, 1024, .expected = "1 to 1024"};

/* ---- The table ---- */

#define FIELD(field) offsetof(kg_train_options, field)
#define CHOICES(rows) .choices = (rows), .choice_size = sizeof *(rows)
#define LISTED(pointers) .choices = (pointers), .choice_size = sizeof(void *)
#define SAME(value) \
    { value, value, value }

/* clang-format off */
const kg_setting kg__settings[] = {
    {.name = "preset", .type = KG_TYPE_CHOICE, .offset = FIELD(preset), CHOICES(kg__preset_names),
     .words = {"paper", "paper", "graft"}, .argument = "NAME",
     .help = "paper: as Albooyeh et al. (2020); graft: the recipe that came out best (default: "
             "graft)"},
    {.name = "model", .type = KG_TYPE_ROW, .offset = FIELD(scoring), CHOICES(kg__scorings),
     .words = SAME("distmult"), .part = IDENTITY, .argument = "NAME",
     .help = "%s"},
    {.name = "dim", .type = KG_TYPE_COUNT, .offset = FIELD(dim), .numbers = SAME(200),
     .part = IDENTITY, .argument = "N",
     .help = "numbers in an entity's row"},
    {.name = "aggregate", .type = KG_TYPE_LISTED, .offset = FIELD(aggregate.aggregator),
     LISTED(kg__aggregators), .words = {"eravg", "rgcn-d", "graft"}, .part = IDENTITY,
     .argument = "NAME",
     .help = "%s (ials only with psi 0; rgcn-d has its own)"},
    {.name = "relations", .type = KG_TYPE_EITHER, .offset = FIELD(directed), CHOICES(relations),
     .words = {"shared", "shared", "directed"}, .part = RELATIONS, .argument = "KIND",
     .help = "shared: a vector for both directions; directed: one for each"},
    {.name = "aggregate-relations", .type = KG_TYPE_EITHER, .offset = FIELD(own_relations),
     CHOICES(own_relations), .words = {"shared", "shared", "own"}, .part = RELATIONS,
     .argument = "KIND",
     .help = "shared: the same vectors for facts and for questions; own: others"},
    {.name = "graft-power", .type = KG_TYPE_NUMBER, .offset = FIELD(graft_power),
     .numbers = SAME(0.5), .range = &power, .part = GRAFT, .argument = "P",
     .help = "graft: the sum over N facts is divided by N^P"},
    {.name = "graft-weights", .type = KG_TYPE_FLAG, .offset = FIELD(graft_weights),
     CHOICES(yes_or_no), .words = SAME("yes"), .part = GRAFT, .argument = "yes|no",
     .help = "graft: learns which facts matter for which question"},
    {.name = "graft-echo", .type = KG_TYPE_FLAG, .offset = FIELD(graft_echo), CHOICES(yes_or_no),
     .words = SAME("yes"), .part = GRAFT, .argument = "yes|no",
     .help = "graft: learns which facts are echoed by which answers"},
    {.name = "evidence", .type = KG_TYPE_SET, .offset = FIELD(evidence), CHOICES(kg__feature_names),
     .words = {"none", "none", "all"}, .part = EVIDENCE, .argument = "SET",
     .help = "softmax: counted features of candidates: none, all, or some joined by + of %s"},
    {.name = "ls-lambda", .type = KG_TYPE_NUMBER, .offset = FIELD(aggregate.ls_lambda),
     .numbers = SAME(KG_LS_LAMBDA), .range = &ridge, .part = AGGREGATION, .argument = "X",
     .help = "the ridge of ls"},
    {.name = "ls-rows", .type = KG_TYPE_CHOICE, .offset = FIELD(aggregate.ls_rows),
     CHOICES(kg__ls_rows_names), .words = SAME("normalized"), .part = AGGREGATION,
     .argument = "KIND",
     .help = "equations of ls: %s"},
    {.name = "ials-alpha", .type = KG_TYPE_NUMBER, .offset = FIELD(aggregate.ials_alpha),
     .numbers = SAME(KG_IALS_ALPHA), .range = &negative_weight, .part = IALS, .argument = "X",
     .help = "the weight of ials' implicit negatives"},
    {.name = "ials-lambda", .type = KG_TYPE_NUMBER, .offset = FIELD(aggregate.ials_lambda),
     .numbers = SAME(KG_IALS_LAMBDA), .range = &ridge, .part = IALS, .argument = "X",
     .help = "the ridge of ials"},
    {.name = "exclude", .type = KG_TYPE_CHOICE, .offset = FIELD(exclude), CHOICES(exclusions),
     .words = SAME("triple"), .part = AGGREGATION, .argument = "WHAT",
     .help = "an aggregate leaves out the triple, or the pair's facts"},
    {.name = "psi", .type = KG_TYPE_NUMBER, .offset = FIELD(psi), .numbers = {0.5, 0, 1},
     .range = &probability, .part = AGGREGATION, .argument = "P",
     .help = "how often one end is treated as unseen"},
    {.name = "self-loops", .type = KG_TYPE_FLAG, .offset = FIELD(self_loops), CHOICES(yes_or_no),
     .words = SAME("yes"), .part = SELF_LOOPS, .argument = "yes|no",
     .help = "rgcn-d: layers also see the entity itself"},
    {.name = "bases", .type = KG_TYPE_COUNT, .offset = FIELD(bases), .numbers = SAME(4),
     .range = &bases, .part = BASES, .argument = "N",
     .help = "rgcn-d: matrices that the relations of a layer share"},
    {.name = "negatives", .type = KG_TYPE_COUNT, .offset = FIELD(negatives), CHOICES(all),
     .numbers = {1, 1, 1024}, .part = LEARNING, .argument = "N",
     .help = "softplus: corrupted twins of each fact; softmax: others among a batch's candidates, "
             "or all"},
    {.name = "batch", .type = KG_TYPE_COUNT, .offset = FIELD(batch), .numbers = {1000, 10000, 1000},
     .range = &batch, .part = LEARNING, .argument = "N",
     .help = "facts or, for softmax, questions in a batch"},
    {.name = "epochs", .type = KG_TYPE_COUNT, .offset = FIELD(epochs), .numbers = {200, 30, 8},
     .range = &epochs, .part = EPOCHS, .argument = "N",
     .help = "times that it goes through all facts"},
    {.name = "loss", .type = KG_TYPE_LISTED, .offset = FIELD(loss), LISTED(kg__losses),
     .words = {"softplus", "softplus", "softmax"}, .part = LEARNING, .argument = "NAME",
     .help = "softplus: is it true? softmax: which one is it?"},
    {.name = "optimizer", .type = KG_TYPE_CHOICE, .offset = FIELD(method),
     CHOICES(kg__method_names), .words = {"adagrad", "adam", "adagrad"}, .part = LEARNING,
     .argument = "NAME",
     .help = "%s"},
    {.name = "lr", .type = KG_TYPE_NUMBER, .offset = FIELD(rate), .numbers = {0.1, 0.01, 0.1},
     .range = &rate, .part = LEARNING, .argument = "X",
     .help = "learning rate"},
    {.name = "lr-last", .type = KG_TYPE_NUMBER, .offset = FIELD(last_rate),
     .numbers = {0.1, 0.01, 0.005}, .range = &last_rate, .part = LAST_RATE, .argument = "X",
     .help = "what it falls to in the end"},
    {.name = "regularizer", .type = KG_TYPE_CHOICE, .offset = FIELD(regularizer),
     CHOICES(regularizers), .words = SAME("l2"), .part = REGULARIZER, .argument = "NAME",
     .help = "l2: of all parameters; n3: of those that a question is about"},
    {.name = "l2", .type = KG_TYPE_NUMBER, .offset = FIELD(l2), .numbers = {0.01, 0, 0},
     .range = &weight, .part = LEARNING, .argument = "X",
     .help = "weight of L2, shared by the batches of an epoch"},
    {.name = "n3", .type = KG_TYPE_NUMBER, .offset = FIELD(n3), .numbers = SAME(0.05),
     .range = &weight, .part = REGULARIZER, .argument = "X",
     .help = "weight of N3, for each question"},
    {.name = "dropout", .type = KG_TYPE_NUMBER, .offset = FIELD(dropout), .numbers = {0, 0, 0.8},
     .range = &dropped, .part = LEARNING, .argument = "P",
     .help = "share of products that a score leaves out"},
    {.name = "init", .type = KG_TYPE_CHOICE, .offset = FIELD(init), CHOICES(inits),
     .words = SAME("xavier"), .part = LEARNING, .argument = "NAME",
     .help = "how parameters start"},
    {.name = "shuffle", .type = KG_TYPE_FLAG, .offset = FIELD(shuffle), CHOICES(yes_or_no),
     .words = SAME("yes"), .part = LEARNING, .argument = "yes|no",
     .help = "facts in random order"},
    {.name = "seed", .type = KG_TYPE_COUNT, .offset = FIELD(seed), .numbers = SAME(0),
     .part = LEARNING, .argument = "N",
     .help = "same seed, same bytes"},
    {.name = "threads", .type = KG_TYPE_COUNT, .offset = FIELD(threads), .numbers = SAME(1),
     .range = &threads, .argument = "N",
     .help = "default: all processors; no influence on the result"},
    {.name = "validate-every", .type = KG_TYPE_COUNT, .offset = FIELD(validate_every),
     .numbers = {20, 3, 4}, .part = LEARNING, .argument = "N",
     .help = "epochs between validations, 0 for none"},
    {.name = "patience", .type = KG_TYPE_COUNT, .offset = FIELD(patience), .numbers = SAME(0),
     .part = LEARNING, .argument = "N",
     .help = "validations without a better one before it stops, 0 for no end"},
    {.name = "hold-out", .type = KG_TYPE_NUMBER, .offset = FIELD(hold_out), .numbers = SAME(0),
     .range = &share, .part = HOLD_OUT, .argument = "SHARE",
     .help = "of entities, to validate and calibrate by where the data have no part for it, 0 for "
             "none (default: 0.05, or more of a small graph)"},
};
/* clang-format on */
const size_t kg__setting_count = sizeof kg__settings / sizeof *kg__settings;
_Static_assert(sizeof kg__settings / sizeof *kg__settings <= KG_MOST_SETTINGS,
               "a bit for each setting");
_Static_assert(sizeof(kg_exclude) == sizeof(unsigned), "enums are written as unsigned");

const kg_setting *kg__setting_find(const char *name) {
    for (size_t i = 0; i < kg__setting_count; i++)
        if (strcmp(kg__settings[i].name, name) == 0)
            return &kg__settings[i];
    return NULL;
}

bool kg__setting_is_fixed(const kg_setting *setting) {
    bool has_words = setting->type != KG_TYPE_COUNT && setting->type != KG_TYPE_NUMBER;
    bool is_fixed = true;
    for (size_t i = 1; i < KG_COLUMN_COUNT && is_fixed; i++)
        is_fixed = has_words ? strcmp(setting->words[i], setting->words[0]) == 0
                             : setting->numbers[i] == setting->numbers[0];
    return is_fixed;
}

/* ---- All of them in JSON ---- */

json_t *kg__train_settings(const kg_train_options *options) {
    kg_train_options o = *options;
    json_t *out = json_object();
    bool good = true;
    o.epochs = kg__train_rate_epochs(options); /* written where the rate falls with them */
    for (unsigned part = NOT_WRITTEN + 1; part < PART_COUNT; part++)
        for (size_t i = 0; i < kg__setting_count; i++)
            if (kg__settings[i].part == part && is_written[part](&o))
                good = json_object_set_new(out, kg__setting_key(&kg__settings[i]).text,
                                           kg__setting_json(&kg__settings[i], &o)) == 0 &&
                       good;
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

kg_status kg__train_settings_read(kg_train_options *options, const json_t *settings,
                                  kg_error *error) {
    for (size_t i = 0; i < kg__setting_count; i++) {
        const kg_setting *setting = &kg__settings[i];
        const json_t *value = json_object_get(settings, kg__setting_key(setting).text);
        if (value != NULL)
            KG_TRY(kg__setting_read(setting, options, value, error));
    }
    return KG_OK;
}

/* ---- Defaults ---- */

kg_preset kg__preset_usual(const kg_scoring *kind) {
    return kind->is_encoded ? KG_PAPER : KG_GRAFT;
}

kg_train_options kg__train_usual(kg_preset preset, const kg_scoring *kind) {
    kg_preset_column column = preset == KG_GRAFT ? KG_GRAFT_COLUMN
                              : kind->is_encoded ? KG_ENCODER_COLUMN
                                                 : KG_PAPER_COLUMN;
    kg_train_options out = {0};
    for (size_t i = 0; i < kg__setting_count; i++)
        kg__setting_reset(&kg__settings[i], &out, column);
    out.scoring = kind;
    return out;
}

/* ---- As they are given ---- */

static bool is_given(const kg_settings *settings, const kg_setting *setting) {
    return (settings->given >> (setting - kg__settings) & 1) != 0;
}

bool kg__settings_has(const kg_settings *settings, const char *name) {
    return is_given(settings, kg__setting_find(name));
}

kg_status kg__settings_set(kg_settings *settings, const kg_setting *setting, const char *text,
                           kg_error *error) {
    KG_TRY(kg__setting_parse(setting, &settings->options, text, error));
    settings->given |= UINT64_C(1) << (setting - kg__settings);
    return KG_OK;
}

void kg__settings_store(kg_settings *settings, const kg_setting *setting, const void *value) {
    kg__setting_store(setting, &settings->options, value);
    settings->given |= UINT64_C(1) << (setting - kg__settings);
}

kg_train_options kg__settings_complete(const kg_settings *settings) {
    const kg_train_options *given = &settings->options;
    const kg_scoring *kind =
        kg__settings_has(settings, "model") ? given->scoring : &kg__scorings[0];
    kg_train_options out = kg__train_usual(
        kg__settings_has(settings, "preset") ? given->preset : kg__preset_usual(kind), kind);
    double fall = out.last_rate / out.rate;
    for (size_t i = 0; i < kg__setting_count; i++)
        if (is_given(settings, &kg__settings[i]))
            kg__setting_store(&kg__settings[i], &out, (const char *)given + kg__settings[i].offset);
    if (!kg__settings_has(settings, "lr-last"))
        out.last_rate = fall * out.rate;
    if (!kg__settings_has(settings, "l2") && out.regularizer != KG_L2)
        out.l2 = 0;
    if (!kg__settings_has(settings, "evidence") && out.psi < 1) /* rows are asked without */
        out.evidence = 0;
    return out;
}
