/* The settings of a run: as JSON, and whether they can be. */
#include <math.h>

#include "train/train.h"

const char *const kg__loss_names[] = {"softplus", "softmax", NULL};
const char *const kg__regularizer_names[] = {"l2", "n3", NULL};
const char *const kg__preset_names[] = {"paper", "graft", NULL};

/* What presets have in common. */
static const kg_train_options common = {
    .dim = 200,
    .aggregate = {.ls_lambda = KG_LS_LAMBDA,
                  .ls_rows = KG_LS_NORMALIZED,
                  .ials_alpha = KG_IALS_ALPHA,
                  .ials_lambda = KG_IALS_LAMBDA},
    .exclude = KG_EXCLUDE_TRIPLE,
    .graft_power = 0.5,
    .graft_weights = true,
    .graft_echo = true,
    .bases = 4,
    .self_loops = true,
    .regularizer = KG_L2,
    .n3 = KG_N3_WEIGHT,
    .shuffle = true,
    .threads = 1,
};

/* What they differ in. */
struct preset {
    const char *aggregate;
    kg_loss loss;
    bool directed;
    bool own_relations;
    double psi;
    uint64_t negatives;
    uint64_t batch;
    uint64_t epochs;
    kg_method method;
    double rate;
    double last_rate;
    double l2;
    double dropout;
    uint64_t validate_every;
    kg_feature_set evidence;
};

static const struct preset paper = {
    .aggregate = "eravg",
    .loss = KG_SOFTPLUS,
    .psi = 0.5,
    .negatives = 1,
    .batch = 1000,
    .epochs = 200,
    .method = KG_ADAGRAD,
    .rate = 0.1,
    .last_rate = 0.1,
    .l2 = 0.01,
    .validate_every = 20,
};

static const struct preset paper_encoded = {
    .aggregate = "rgcn-d",
    .loss = KG_SOFTPLUS,
    .negatives = 1,
    .batch = 10000,
    .epochs = 30,
    .method = KG_ADAM,
    .rate = 0.01,
    .last_rate = 0.01,
    .validate_every = 3,
};

static const struct preset graft = {
    .aggregate = "graft",
    .loss = KG_SOFTMAX,
    .directed = true,
    .own_relations = true,
    .psi = 1,
    .negatives = 1024,
    .batch = 1000,
    .epochs = 8,
    .method = KG_ADAGRAD,
    .rate = 0.1,
    .last_rate = 0.005,
    .dropout = 0.8,
    .validate_every = 4,
    .evidence = KG_ALL_FEATURES,
};

kg_preset kg__preset_usual(const kg_scoring *kind) {
    return kind->is_encoded ? KG_PAPER : KG_GRAFT;
}

kg_train_options kg__train_usual(kg_preset preset, const kg_scoring *kind) {
    const struct preset *p = preset == KG_GRAFT ? &graft
                             : kind->is_encoded ? &paper_encoded
                                                : &paper;
    kg_train_options out = common;
    out.scoring = kind;
    out.aggregate.aggregator = kg__aggregator_find(p->aggregate);
    out.loss = p->loss;
    out.directed = p->directed;
    out.own_relations = p->own_relations;
    out.psi = p->psi;
    out.negatives = p->negatives;
    out.batch = p->batch;
    out.epochs = p->epochs;
    out.method = p->method;
    out.rate = p->rate;
    out.last_rate = p->last_rate;
    out.l2 = p->l2;
    out.dropout = p->dropout;
    out.validate_every = p->validate_every;
    out.evidence = p->evidence;
    return out;
}

/* How entities come to their rows, seen and unseen. */
static json_t *describe_embedding(const kg_train_options *o) {
    if (o->scoring->is_encoded)
        return json_pack("{ss sI ss sI sb}", "model", o->scoring->name, "dim", (json_int_t)o->dim,
                         "aggregate", o->aggregate.aggregator->name, "bases", (json_int_t)o->bases,
                         "self_loops", o->self_loops);
    return json_pack("{ss sI ss sf ss ss sf}", "model", o->scoring->name, "dim", (json_int_t)o->dim,
                     "aggregate", o->aggregate.aggregator->name, "ls_lambda",
                     o->aggregate.ls_lambda, "ls_rows", kg__ls_rows_names[o->aggregate.ls_rows],
                     "exclude", o->exclude == KG_EXCLUDE_PAIR ? "pair" : "triple", "psi", o->psi);
}

static json_t *describe_negatives(const kg_train_options *o) {
    return o->negatives == KG_ALL_ENTITIES ? json_string("all")
                                           : json_integer((json_int_t)o->negatives);
}

static json_t *describe_learning(const kg_train_options *o) {
    return json_pack("{so sI ss ss sf sf sf ss sb sI sI sI}", "negatives", describe_negatives(o),
                     "batch", (json_int_t)o->batch, "loss", kg__loss_names[o->loss], "optimizer",
                     kg__method_names[o->method], "lr", o->rate, "l2", o->l2, "dropout", o->dropout,
                     "init", "xavier", "shuffle", o->shuffle, "seed", (json_int_t)o->seed,
                     "validate_every", (json_int_t)o->validate_every, "patience",
                     (json_int_t)o->patience);
}

/* A rate that falls depends on where it ends. */
static json_t *describe_decay(const kg_train_options *o) {
    if (o->last_rate == o->rate)
        return json_object();
    return json_pack("{sf sI}", "lr_last", o->last_rate, "epochs",
                     (json_int_t)kg__train_rate_epochs(o));
}

static json_t *describe_regularizer(const kg_train_options *o) {
    if (o->regularizer == KG_L2)
        return json_object();
    return json_pack("{ss sf}", "regularizer", kg__regularizer_names[o->regularizer], "n3", o->n3);
}

/* What only the softmax loss has a choice of. */
static json_t *describe_questions(const kg_train_options *o) {
    if (o->loss != KG_SOFTMAX)
        return json_object();
    return json_pack("{ss ss}", "relations", o->directed ? "directed" : "shared",
                     "aggregate_relations", o->own_relations ? "own" : "shared");
}

static json_t *describe_graft(const kg_train_options *o) {
    if (!o->aggregate.aggregator->is_asked)
        return json_object();
    return json_pack("{sf sb sb}", "graft_power", o->graft_power, "graft_weights", o->graft_weights,
                     "graft_echo", o->graft_echo);
}

/* Features by their names, in order. */
static json_t *describe_evidence(const kg_train_options *o) {
    if (o->evidence == 0)
        return json_object();
    json_t *names = json_array();
    bool good = true;
    for (kg_feature k = 0; k < KG_FEATURE_COUNT; k++)
        if (kg__feature_set_has(o->evidence, k))
            good = json_array_append_new(names, json_string(kg__feature_names[k])) == 0 && good;
    if (good)
        return json_pack("{so}", "evidence", names);
    json_decref(names);
    return NULL;
}

static json_t *describe_ials(const kg_train_options *o) {
    if (!o->aggregate.aggregator->is_implicit)
        return json_object();
    return json_pack("{sf sf}", "ials_alpha", o->aggregate.ials_alpha, "ials_lambda",
                     o->aggregate.ials_lambda);
}

static json_t *describe_hold_out(const kg_train_options *o) {
    return o->hold_out == 0 ? json_object() : json_pack("{sf}", "hold_out", o->hold_out);
}

json_t *kg__train_settings(const kg_train_options *o) {
    json_t *out = describe_embedding(o);
    json_t *const more[] = {describe_learning(o),  describe_decay(o),   describe_regularizer(o),
                            describe_questions(o), describe_graft(o),   describe_evidence(o),
                            describe_ials(o),      describe_hold_out(o)};
    bool good = true;
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        good = json_object_update(out, more[i]) == 0 && good;
        json_decref(more[i]);
    }
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

json_t *kg__epoch_json(const kg_epoch *epoch) {
    json_t *out = json_pack("{sI sf sf}", "epoch", (json_int_t)epoch->number, "loss", epoch->loss,
                            "seconds", epoch->seconds);
    if (!epoch->is_validated)
        return out;
    if (json_object_set_new(out, "valid", kg__metrics_json(&epoch->valid)) == 0)
        return out;
    json_decref(out);
    return NULL;
}

static kg_status refuse(kg_error *error, const char *setting, const char *expected, double found) {
    return kg_fail(error, KG_BAD_INPUT, "%s: expected %s, found %g", setting, expected, found);
}

static kg_status check_encoder(const kg_train_options *o, kg_error *error) {
    if (o->psi != 0)
        return refuse(error, "psi", "0 for model rgcn-d, which encodes seen and unseen alike",
                      o->psi);
    if (o->bases == 0 || o->bases > KG_MOST_BASES)
        return refuse(error, "bases", "1 to 1000", (double)o->bases);
    return KG_OK;
}

/* Those who chose no loss want to know where it comes from. */
#define LOSSES " (preset graft: softmax, preset paper: softplus)"

/* What asks for answers among many is learned by the softmax loss, and that can learn to aggregate
 * only by sums. */
static kg_status check_loss(const kg_train_options *o, kg_error *error) {
    const kg_aggregator *aggregator = o->aggregate.aggregator;
    bool is_sum = aggregator->is_asked || (aggregator->is_shared && aggregator->uses_queries);
    const char *only = o->directed            ? "relations directed"
                       : o->own_relations     ? "aggregate-relations own"
                       : aggregator->is_asked ? "aggregate graft"
                       : o->evidence != 0     ? "evidence"
                                              : NULL;
    if (o->loss == KG_SOFTPLUS && only != NULL)
        return kg_fail(error, KG_BAD_INPUT, "loss: expected softmax for %s, found softplus" LOSSES,
                       only);
    if (o->loss == KG_SOFTPLUS)
        return o->negatives <= 1000 ? KG_OK
                                    : refuse(error, "negatives", "at most 1000 for loss softplus",
                                             (double)o->negatives);
    if (o->scoring->is_encoded)
        return kg_fail(error, KG_BAD_INPUT,
                       "loss: expected softplus for model %s, found softmax" LOSSES,
                       o->scoring->name);
    if (o->psi > 0 && !is_sum)
        return kg_fail(error, KG_BAD_INPUT,
                       "aggregate: expected graft or eravg for loss softmax with psi above 0, "
                       "found %s" LOSSES,
                       aggregator->name);
    if (o->psi == 0 && o->own_relations)
        return kg_fail(error, KG_BAD_INPUT,
                       "aggregate-relations: expected shared for psi 0, which learns no others, "
                       "found own (preset graft: own, preset paper: shared)");
    if (o->psi < 1 && o->evidence != 0)
        return refuse(error, "psi", "1 for evidence, since rows are asked without", o->psi);
    if (o->exclude != KG_EXCLUDE_TRIPLE)
        return kg_fail(error, KG_BAD_INPUT,
                       "exclude: expected triple for loss softmax, found pair" LOSSES);
    if (o->negatives == 0)
        return refuse(error, "negatives", "at least 1 for loss softmax", 0);
    if (!(o->graft_power >= 0 && o->graft_power <= 1))
        return refuse(error, "graft-power", "0 to 1", o->graft_power);
    return KG_OK;
}

static bool is_amount(double x) {
    return x >= 0 && x <= (double)KG_REAL_MAX;
}

static kg_status check_regularizer(const kg_train_options *o, kg_error *error) {
    if (!is_amount(o->l2))
        return refuse(error, "l2", "a weight from 0 that single precision can hold", o->l2);
    if (o->regularizer == KG_L2)
        return KG_OK;
    if (!is_amount(o->n3))
        return refuse(error, "n3", "a weight from 0 that single precision can hold", o->n3);
    if (o->l2 > 0)
        return refuse(error, "l2", "0 for regularizer n3", o->l2);
    if (o->loss != KG_SOFTMAX)
        return kg_fail(error, KG_BAD_INPUT, "loss: expected softmax for regularizer n3, found %s",
                       kg__loss_names[o->loss]);
    return KG_OK;
}

kg_status kg__train_check(const kg_train_options *o, kg_error *error) {
    if (o->dim == 0 || o->dim % o->scoring->parts != 0 || o->dim > 1 << 20)
        return kg_fail(error, KG_BAD_INPUT,
                       "dim: expected a multiple of %zu from %zu to %d for model %s, found %ju",
                       o->scoring->parts, o->scoring->parts, 1 << 20, o->scoring->name,
                       (uintmax_t)o->dim);
    if (!(o->psi >= 0 && o->psi <= 1))
        return refuse(error, "psi", "a probability from 0 to 1", o->psi);
    if (!(o->dropout >= 0 && o->dropout < 1))
        return refuse(error, "dropout", "a probability from 0 to below 1", o->dropout);
    if (!kg__is_positive(o->rate))
        return refuse(error, "lr", "a rate above 0 that single precision can hold", o->rate);
    if (!is_amount(o->last_rate))
        return refuse(error, "lr-last", "a rate from 0 that single precision can hold",
                      o->last_rate);
    if (o->last_rate > o->rate)
        return kg_fail(error, KG_BAD_INPUT, "lr-last: expected at most lr, which is %g, found %g",
                       o->rate, o->last_rate);
    KG_TRY(check_regularizer(o, error));
    KG_TRY(kg__aggregate_check(&o->aggregate, o->scoring, error));
    if (o->aggregate.aggregator->is_implicit && o->psi > 0)
        return refuse(error, "psi", "0 for aggregate ials, which cannot be learned through",
                      o->psi);
    if (o->scoring->is_encoded)
        KG_TRY(check_encoder(o, error));
    if (o->batch == 0 || o->batch > 1 << 24)
        return refuse(error, "batch", "1 to 16777216 facts", (double)o->batch);
    KG_TRY(check_loss(o, error));
    if (o->epochs > KG_MOST_EPOCHS)
        return kg_fail(error, KG_BAD_INPUT, "epochs: expected at most %d, found %ju",
                       KG_MOST_EPOCHS, (uintmax_t)o->epochs);
    if (o->threads == 0 || o->threads > 1024)
        return refuse(error, "threads", "1 to 1024", (double)o->threads);
    return KG_OK;
}
