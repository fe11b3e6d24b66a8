/* The table of settings, and what is made of it: defaults, and the settings of a run in JSON. */
#include "train/settings.h"
#include "aggregate/aggregate_options.h"
#include "math/lanes.h"
#include "train/hold_out.h"

#include <math.h>
#include <string.h>

/* ---- Parts ---- */

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
    IALS,
    HOLD_OUT,
    TERMS,
    PROPAGATION,
    STORED,
    PART_COUNT
};

/* ---- Choices ---- */

const char *const kg__preset_names[] = {"paper", "graft", NULL};
static const char *const relations[] = {"shared", "directed", NULL};
static const char *const own_relations[] = {"shared", "own", NULL};
static const char *const exclusions[] = {"triple", "pair", NULL};
static const char *const regularizers[] = {"l2", "n3", NULL};
static const char *const inits[] = {"xavier", NULL};
static const char *const all[] = {"all", NULL};
static const char *const pairs[] = {"pairs", NULL};
static const char *const stored_types[] = {"f32", "f16", NULL};
static const char *const yes_or_no[] = {"yes", "no", NULL};

/* ---- Ranges ---- */

#define SINGLE (double)KG_REAL_MAX

static const kg_range probability = {.least = 0, .most = 1, .what = "a probability"};
static const kg_range dropped = {.least = 0, .most = 1, .what = "a probability", .is_below = true};
static const kg_range share = {.least = 0, .most = 1, .what = "a share", .is_below = true};
static const kg_range power = {.least = 0, .most = 1};
static const kg_range ridge = {.least = 0, .most = SINGLE, .what = "a ridge", .is_above = true};
static const kg_range negative_weight = {
    .least = 0, .most = SINGLE, .what = "a weight", .is_above = true};
static const kg_range weight = {.least = 0, .most = SINGLE, .what = "a weight"};
static const kg_range rate = {.least = 0, .most = SINGLE, .what = "a rate", .is_above = true};
static const kg_range last_rate = {.least = 0, .most = SINGLE, .what = "a rate"};
static const kg_range bases = {.least = 1, .most = KG_MOST_BASES};
static const kg_range batch = {.least = 1, .most = 1 << 24};
static const kg_range epochs = {.least = 0, .most = KG_MOST_EPOCHS};
static const kg_range layers = {.least = 0, .most = KG_PROPAGATION_MOST_LAYERS};
static const kg_range width = {.least = 0, .most = KG_PROPAGATION_MOST_WIDTH, .multiple = KG_LANES};
static const kg_range sources = {.least = 0, .most = KG_PROPAGATION_MOST_NODES};
static const kg_range rank = {.least = 0, .most = KG_PROPAGATION_MOST_RANK};
static const kg_range threads = {.least = 1, .most = 1024};

/* ---- Conditions ---- */

static bool has_graft(const kg_train_options *o) {
    return (o->aggregate.aggregator->settings & KG_BY_GRAFT) != 0;
}

static bool has_ials(const kg_train_options *o) {
    return (o->aggregate.aggregator->settings & KG_BY_IALS) != 0;
}

static bool has_encoder(const kg_train_options *o) {
    return o->scoring->is_encoded;
}

static bool has_n3(const kg_train_options *o) {
    return o->regularizer == KG_N3;
}

static bool has_unseen(const kg_train_options *o) {
    return o->psi > 0;
}

/* Those of ls have an effect with any aggregator: commands that embed by ls later have them from
 * the model. */
static const kg_condition of_graft = {.setting = "aggregate", .holds = has_graft};
static const kg_condition of_ials = {.setting = "aggregate", .holds = has_ials};
static const kg_condition of_encoder = {.setting = "model", .holds = has_encoder};
static const kg_condition of_joint = {.setting = "terms", .holds = kg__train_has_joint};
static const kg_condition of_unseen = {
    .setting = "psi", .expected = "above 0", .holds = has_unseen};
static const kg_condition of_n3 = {.setting = "regularizer", .holds = has_n3};

/* ---- The table ---- */

#define FIELD(kind, field, placeholder) \
    .type = KG_TYPE_##kind, .offset = offsetof(kg_train_options, field), .argument = (placeholder)
#define COUNT(field) FIELD(COUNT, field, "N")
#define FLAG(field) FIELD(FLAG, field, "yes|no"), CHOICES(yes_or_no)
#define CHOICES(rows) .choices = (rows), .choice_size = sizeof *(rows)
#define LISTED(pointers) .choices = (pointers), .choice_size = sizeof(void *)
#define SAME(value) \
    { value, value, value }
#define TEXT_OF(number) #number
#define SAME_NUMBER(number) SAME(TEXT_OF(number))

/* clang-format off */
const kg_setting kg__settings[] = {
    {.name = "preset", FIELD(CHOICE, preset, "NAME"), CHOICES(kg__preset_names),
     .values = {"paper", "paper", "graft"},
     .help = "paper: as Albooyeh et al. (2020); graft: the recipe that came out best "
             "(default: graft)"},
    {.name = "terms", FIELD(SET, terms, "SET"), CHOICES(kg__term_names),
     .values = {"embedding", "embedding", "all"}, .part = TERMS,
     .help = "what a score is the sum of: all, or some joined by + of %s"},
    {.name = "model", FIELD(ROW, scoring, "NAME"), CHOICES(kg__scorings),
     .values = SAME("distmult"), .part = IDENTITY, .term = "embedding",
     .heading = "embedding",
     .help = "scoring function: %s"},
    {.name = "dim", COUNT(dim), .values = SAME("200"), .part = IDENTITY, .term = "embedding",
     .help = "embedding dimension"},
    {.name = "aggregate", FIELD(LISTED, aggregate.aggregator, "NAME"), LISTED(kg__aggregators),
     .values = {"eravg", "rgcn-d", "graft"}, .part = IDENTITY,
     .term = "embedding",
     .help = "how an entity is embedded from its facts: %s (ials only with psi 0; rgcn-d has "
             "its own)"},
    {.name = "relations", FIELD(EITHER, directed, "KIND"), CHOICES(relations),
     .values = {"shared", "shared", "directed"}, .part = RELATIONS,
     .term = "embedding",
     .help = "shared: a relation has one vector for both directions; directed: one for each"},
    {.name = "aggregate-relations", FIELD(EITHER, own_relations, "KIND"), CHOICES(own_relations),
     .values = {"shared", "shared", "own"}, .part = RELATIONS,
     .term = "embedding",
     .help = "vectors of relations in aggregation: shared with queries, or their own"},
    {.name = "graft-power", FIELD(NUMBER, aggregate.graft_power, "P"), .values = SAME("0.5"), .range = &power,
     .part = GRAFT,
     .term = "embedding", .condition = &of_graft,
     .help = "graft: the sum over N facts is divided by N^P"},
    {.name = "graft-weights", FLAG(aggregate.graft_weights), .values = SAME("yes"), .part = GRAFT,
     .term = "embedding", .condition = &of_graft,
     .help = "graft: learn a weight for each pair of query and fact relation"},
    {.name = "ls-lambda", FIELD(NUMBER, aggregate.ls_lambda, "X"),
     .values = SAME_NUMBER(KG_LS_LAMBDA), .range = &ridge, .part = AGGREGATION,
     .term = "embedding",
     .help = "ridge (L2 regularisation) of ls"},
    {.name = "ls-rows", FIELD(CHOICE, aggregate.ls_rows, "KIND"), CHOICES(kg__ls_rows_names),
     .values = SAME("normalized"), .part = AGGREGATION,
     .term = "embedding",
     .help = "ls: %s equations"},
    {.name = "ials-alpha", FIELD(NUMBER, aggregate.ials_alpha, "X"),
     .values = SAME_NUMBER(KG_IALS_ALPHA), .range = &negative_weight, .part = IALS,
     .term = "embedding", .condition = &of_ials,
     .help = "ials: weight of implicit negatives"},
    {.name = "ials-lambda", FIELD(NUMBER, aggregate.ials_lambda, "X"),
     .values = SAME_NUMBER(KG_IALS_LAMBDA), .range = &ridge, .part = IALS,
     .term = "embedding", .condition = &of_ials,
     .help = "ridge (L2 regularisation) of ials"},
    {.name = "exclude", FIELD(CHOICE, exclude, "WHAT"), CHOICES(exclusions),
     .values = SAME("triple"), .part = AGGREGATION,
     .term = "embedding", .condition = &of_unseen,
     .help = "what the aggregate leaves out: the queried triple, or all facts of the pair of "
             "entities"},
    {.name = "psi", FIELD(NUMBER, psi, "P"), .values = {"0.5", "0", "1"}, .range = &probability,
     .part = AGGREGATION,
     .help = "probability that an end is embedded from its facts, as if unseen"},
    {.name = "self-loops", FLAG(self_loops), .values = SAME("yes"), .part = SELF_LOOPS,
     .condition = &of_encoder,
     .help = "rgcn-d: layers have self-loops"},
    {.name = "bases", COUNT(bases), .values = SAME("4"), .range = &bases, .part = BASES,
     .condition = &of_encoder,
     .help = "rgcn-d: basis matrices that the relations of a layer share"},
    {.name = "negatives", COUNT(negatives), CHOICES(all), .values = {"1", "1", "1024"},
     .part = LEARNING,
     .heading = "optimisation",
     .condition = &of_joint,
     .help = "softplus: negatives of each fact; softmax: shared negatives of a batch, or all"},
    {.name = "batch", COUNT(batch), .values = {"1000", "10000", "1000"}, .range = &batch,
     .part = LEARNING,
     .condition = &of_joint,
     .help = "facts or, for softmax, queries in a batch"},
    {.name = "epochs", COUNT(epochs), .values = {"200", "30", "8"}, .range = &epochs,
     .part = EPOCHS,
     .condition = &of_joint,
     .help = "number of epochs"},
    {.name = "loss", FIELD(LISTED, loss, "NAME"), LISTED(kg__losses),
     .values = {"softplus", "softplus", "softmax"}, .part = LEARNING,
     .condition = &of_joint,
     .help = "softplus: binary, of each fact and its negatives; softmax: cross-entropy over "
             "candidates"},
    {.name = "optimizer", FIELD(CHOICE, method, "NAME"), CHOICES(kg__method_names),
     .values = {"adagrad", "adam", "adagrad"}, .part = LEARNING,
     .condition = &of_joint,
     .help = "%s"},
    {.name = "lr", FIELD(NUMBER, rate, "X"), .values = {"0.1", "0.01", "0.1"}, .range = &rate,
     .part = LEARNING,
     .condition = &of_joint,
     .help = "learning rate"},
    {.name = "lr-last", FIELD(NUMBER, last_rate, "X"), .values = {"0.1", "0.01", "0.005"},
     .range = &last_rate, .part = LAST_RATE,
     .condition = &of_joint,
     .help = "learning rate at the end, to which it falls linearly"},
    {.name = "regularizer", FIELD(CHOICE, regularizer, "NAME"), CHOICES(regularizers),
     .values = SAME("l2"), .part = REGULARIZER,
     .term = "embedding",
     .help = "l2: of rows of entities and relations; n3: of those of a query"},
    {.name = "l2", FIELD(NUMBER, l2, "X"), .values = {"0.01", "0", "0"}, .range = &weight,
     .part = LEARNING,
     .term = "embedding",
     .help = "weight of L2 in an epoch, of rows of entities and relations"},
    {.name = "n3", FIELD(NUMBER, n3, "X"), .values = SAME("0.05"), .range = &weight,
     .part = REGULARIZER,
     .term = "embedding", .condition = &of_n3,
     .help = "weight of N3, for each query"},
    {.name = "dropout", FIELD(NUMBER, dropout, "P"), .values = {"0", "0", "0.8"}, .range = &dropped,
     .part = LEARNING,
     .term = "embedding",
     .help = "dropout on query vectors"},
    {.name = "init", FIELD(CHOICE, init, "NAME"), CHOICES(inits), .values = SAME("xavier"),
     .part = LEARNING,
     .help = "initialisation: %s"},
    {.name = "shuffle", FLAG(shuffle), .values = SAME("yes"), .part = LEARNING,
     .help = "facts in random order"},
    {.name = "propagation-layers", COUNT(propagation.layers), .values = SAME("0"),
     .range = &layers, .part = PROPAGATION, .term = "propagation",
     .heading = "propagation",
     .help = "number of layers, at most 8; 0: chosen from the graph"},
    {.name = "propagation-width", COUNT(propagation.width), .values = SAME("0"), .range = &width,
     .part = PROPAGATION, .term = "propagation",
     .help = "dimension of node vectors, a multiple of 16; 0: chosen from the graph"},
    {.name = "propagation-sources", COUNT(propagation.sources), .values = SAME("0"),
     .range = &sources, .part = PROPAGATION, .term = "propagation",
     .help = "nodes that a layer expands at most; 0: chosen from the graph"},
    {.name = "propagation-pooling", FIELD(SET, propagation.pooling, "SET"),
     CHOICES(kg__pooling_names), .values = SAME("none"), .part = PROPAGATION, .term = "propagation",
     .help = "how messages are pooled: some joined by + of %s; none: chosen from the graph"},
    {.name = "propagation-relations", COUNT(propagation.rank), CHOICES(pairs),
     .values = SAME("0"), .range = &rank, .part = PROPAGATION, .term = "propagation",
     .help = "how relation weights depend on the query: pairs (a weight for each pair of "
             "relations), or N factors; 0: chosen from the graph"},
    {.name = "propagation-sampled", COUNT(propagation.sampled), .values = SAME("0"),
     .range = &sources, .part = PROPAGATION, .term = "propagation",
     .help = "nodes of the last layer that a training query scores, about; 0: chosen from "
             "the graph"},
    {.name = "propagation-weight", FIELD(NUMBER, propagation.weight, "X"), .values = SAME("4"),
     .range = &negative_weight, .part = PROPAGATION, .term = "propagation",
     .help = "factor of its scores in the sum of terms"},
    {.name = "propagation-dropout", FIELD(NUMBER, propagation.dropped, "P"), .values = SAME("0"),
     .range = &dropped, .part = PROPAGATION, .term = "propagation",
     .help = "edge dropout: the largest share of facts that a training query goes without; "
             "0: chosen from the graph"},
    {.name = "propagation-echoes", FIELD(NUMBER, propagation.echoes, "P"), .values = SAME("0.25"),
     .range = &probability, .part = PROPAGATION, .term = "propagation",
     .help = "share of echo queries that are sampled in training (scores are corrected for it); 0: "
             "none are; all where there are more than 32 relations"},
    {.name = "propagation-epochs", COUNT(propagation_epochs), .values = SAME("0"),
     .range = &epochs, .part = PROPAGATION, .term = "propagation",
     .help = "number of epochs; 0: chosen from the number of facts"},
    {.name = "propagation-batch", COUNT(propagation_batch), .values = SAME("32"), .range = &batch,
     .part = PROPAGATION, .term = "propagation",
     .help = "queries in a batch"},
    {.name = "propagation-lr", FIELD(NUMBER, propagation_rate, "X"), .values = SAME("0.01"),
     .range = &rate, .part = PROPAGATION, .term = "propagation",
     .help = "learning rate of Adam, which falls to 3 % of it"},
    {.name = "seed", COUNT(seed), .values = SAME("0"), .part = LEARNING,
     .heading = "run",
     .help = "random seed: same seed, same bytes"},
    {.name = "threads", COUNT(threads), .values = SAME("1"), .range = &threads,
     .help = "default: all processors; no influence on the result"},
    {.name = "validate-every", COUNT(validate_every), .values = {"20", "3", "4"}, .part = LEARNING,
     .help = "epochs between validations, 0 for none"},
    {.name = "patience", COUNT(patience), .values = SAME("0"), .part = LEARNING,
     .condition = &of_joint,
     .help = "early stopping: validations without a better one before it stops; 0: never"},
    {.name = "store-dim-type", FIELD(EITHER, stores_half, "TYPE"), CHOICES(stored_types),
     .values = SAME("f32"), .part = STORED, .term = "embedding",
     .help = "rows of entities in the model's file: f32, or f16, half as large"},
    {.name = "hold-out", FIELD(NUMBER, hold_out, "SHARE"), .values = SAME("0"), .range = &share,
     .part = HOLD_OUT,
     .help = "share of entities to validate and calibrate by where the data have no part for "
             "it, 0 for none (default: 0.05, or more of a small graph)"},
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
    bool is_fixed = true;
    for (size_t i = 1; i < KG_COLUMN_COUNT; i++)
        is_fixed = is_fixed && strcmp(setting->values[i], setting->values[0]) == 0;
    return is_fixed;
}

/* ---- Terms ---- */

unsigned kg__term_bit(const char *name) {
    unsigned i = 0;
    while (strcmp(kg__term_names[i], name) != 0)
        i++;
    return 1U << i;
}

unsigned kg__terms_apart(void) {
    unsigned out = 0;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        out |= kg__terms[i]->is_trained_apart ? 1U << i : 0;
    return out;
}

unsigned kg__terms_moving(void) {
    unsigned out = 0;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        out |= kg__terms[i]->move != NULL ? 1U << i : 0;
    return out;
}

bool kg__train_has(const kg_train_options *o, const char *term) {
    return (o->terms & kg__term_bit(term)) != 0;
}

bool kg__train_has_joint(const kg_train_options *o) {
    return (o->terms & ~kg__terms_apart()) != 0;
}

bool kg__train_has_apart(const kg_train_options *o) {
    return (o->terms & kg__terms_apart()) != 0;
}

bool kg__train_trains(const kg_train_options *o, size_t number) {
    return (o->terms >> number & 1) != 0 &&
           kg__terms[number]->is_trained_apart == kg__train_is_apart(o);
}

kg_status kg__train_check_moving(const kg_train_options *o, kg_error *error) {
    const kg_setting *setting = kg__setting_find("terms");
    kg_train_options moving = {.terms = kg__terms_moving()};
    if ((o->terms & moving.terms) != 0)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "`terms`: expected %s among them, since the data set has a new graph, whose "
                   "entities the others do not know",
                   kg__setting_text(setting, &moving).text);
}

unsigned kg__train_unnamed_terms(const kg_train_options *o) {
    return kg__term_bit("embedding") | (has_graft(o) ? kg__term_bit("echo") : 0);
}

/* Propagation learns little from more queries. Validation MRR: oFB15k-237 .5067 after 387,000,
 * .5060 after twice as many; oWN18RR .6045 after some 210,000, .6070 after twice as many. */
#define ENOUGH_QUERIES 360000
#define MOST_EPOCHS 5

void kg__train_choose_epochs(kg_train_options *o, size_t facts) {
    double wanted = round(ENOUGH_QUERIES / (2.0 * (double)facts));
    if (o->propagation_epochs == 0)
        o->propagation_epochs = (uint64_t)fmin(fmax(wanted, 1), MOST_EPOCHS);
}

#define LAST_SHARE 0.03 /* of the rate: what it falls to */

/* Queries of an epoch of propagation at most: more would take long, and bring little. */
#define EPOCH_QUERIES 400000

/* Its batches are small, so squares of gradients change fast. With 0.999, oWN18RR has .579 in place
 * of .594 after an epoch. */
#define BETA2 0.99

kg_train_options kg__train_apart(const kg_train_options *options) {
    kg_train_options out = *options;
    out.terms &= kg__terms_apart();
    out.dim = 0;
    out.loss = &kg__loss_propagation;
    out.batch = options->propagation_batch;
    out.epochs = options->propagation_epochs;
    out.rate_epochs = 0;
    out.rate = options->propagation_rate;
    out.last_rate = LAST_SHARE * options->propagation_rate;
    out.method = KG_ADAM;
    out.beta2 = BETA2;
    out.block_queries = 1;
    out.epoch_queries = EPOCH_QUERIES;
    out.regularizer = KG_L2;
    out.l2 = 0;
    out.dropout = 0;
    out.validate_every = options->validate_every > 0 ? options->propagation_epochs : 0;
    out.patience = 0;
    return out;
}

/* ---- All of them in JSON ---- */

json_t *kg__train_settings(const kg_train_options *options) {
    const kg_train_options *o = options;
    bool falls = o->last_rate != o->rate; /* a rate that falls depends on where it ends, and when */
    const bool is_written[PART_COUNT] = {
        [IDENTITY] = true,
        [AGGREGATION] = !o->scoring->is_encoded,
        [BASES] = has_encoder(o),
        [SELF_LOOPS] = has_encoder(o),
        [LEARNING] = true,
        [LAST_RATE] = falls,
        [EPOCHS] = falls,
        [REGULARIZER] = o->regularizer != KG_L2,
        /* Directed or own relations were once those of a loss of whole batches alone. */
        [RELATIONS] = kg__loss_compares(o->loss) || o->directed || o->own_relations,
        [GRAFT] = has_graft(o),
        [IALS] = has_ials(o),
        [HOLD_OUT] = o->hold_out != 0,
        [TERMS] = o->terms != kg__train_unnamed_terms(o),
        [PROPAGATION] = kg__train_has_apart(o),
        [STORED] = o->stores_half,
    };
    kg_train_options written = *o;
    json_t *out = json_object();
    bool good = true;
    written.epochs = kg__train_rate_epochs(o);
    if (kg__train_is_apart(o)) /* whose loss is no choice, but a softmax, too */
        kg__setting_reset(kg__setting_find("loss"), &written, KG_GRAFT_COLUMN);
    for (unsigned part = NOT_WRITTEN + 1; part < PART_COUNT; part++)
        for (size_t i = 0; i < kg__setting_count; i++)
            if (kg__settings[i].part == part && is_written[part])
                good = json_object_set_new(out, kg__setting_key(&kg__settings[i]).text,
                                           kg__setting_json(&kg__settings[i], &written)) == 0 &&
                       good;
    return kg__json_complete(out, good);
}

/* ---- Defaults ---- */

/* The preset of those who choose none: graft, unless it cannot train the model. */
static kg_preset choose_preset(const kg_scoring *kind) {
    return kind->is_encoded ? KG_PAPER : KG_GRAFT;
}

kg_train_options kg__train_defaults(kg_preset preset, const kg_scoring *kind) {
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

double kg__settings_hold_out(const kg_settings *settings) {
    return kg__settings_has(settings, "hold-out") ? settings->options.hold_out
                                                  : KG_DEFAULT_HOLD_OUT;
}

/* Terms that are not given are those that go with the other settings: the loss, and psi, since
 * terms that are trained apart answer by facts, not by rows. Without the embedding there are no
 * rows at all. */
static void complete_terms(const kg_settings *settings, kg_train_options *out) {
    if (!kg__settings_has(settings, "terms")) {
        for (size_t i = 0; kg__terms[i] != NULL; i++)
            if (!kg__loss_trains(out->loss, kg__terms[i]))
                out->terms &= ~(1U << i);
        if (out->psi < 1)
            out->terms &= ~kg__terms_apart();
    }
    if (kg__train_has(out, "embedding"))
        return;
    out->dim = 0;
    if (!kg__train_has_joint(out) && kg__train_has_apart(out))
        out->aggregate.aggregator = kg__aggregators[0];
}

kg_train_options kg__settings_complete(const kg_settings *settings) {
    const kg_train_options *given = &settings->options;
    const kg_scoring *kind =
        kg__settings_has(settings, "model") ? given->scoring : &kg__scorings[0];
    kg_train_options out = kg__train_defaults(
        kg__settings_has(settings, "preset") ? given->preset : choose_preset(kind), kind);
    double fall = out.last_rate / out.rate;
    for (size_t i = 0; i < kg__setting_count; i++)
        if (is_given(settings, &kg__settings[i]))
            kg__setting_store(&kg__settings[i], &out, kg__setting_value(&kg__settings[i], given));
    if (!kg__settings_has(settings, "lr-last"))
        out.last_rate = fall * out.rate;
    if (!kg__settings_has(settings, "l2") && out.regularizer != KG_L2)
        out.l2 = 0;
    if (!kg__settings_has(settings, "negatives") && kg__settings_has(settings, "loss"))
        kg__setting_reset(kg__setting_find("negatives"), &out,
                          kg__loss_compares(out.loss) ? KG_GRAFT_COLUMN : KG_PAPER_COLUMN);
    if (!kg__settings_has(settings, "aggregate-relations") && out.psi == 0)
        out.own_relations = false; /* nothing would train them */
    complete_terms(settings, &out);
    return out;
}
