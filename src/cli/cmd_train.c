/* kgraft train: embeddings that also work for unseen entities. */
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/threads.h"
#include "cli/cli.h"
#include "cli/left_out.h"
#include "cli/option_string.h"
#include "cli/train.h"
#include "graph/source.h"
#include "train/hold_out.h"

/* What is not given depends on the preset and the model: NULL, NAN or this. */
#define NOT_GIVEN UINT64_MAX
#define NO_SET (1U << 31)

struct settings {
    cli_common common;
    kg_train_options train;
    const char *preset;
    const char *model;
    const char *aggregate;
    const char *ls_rows;
    const char *exclude;
    const char *self_loops;
    const char *loss;
    const char *relations;
    const char *aggregate_relations;
    const char *graft_weights;
    const char *graft_echo;
    const char *optimizer;
    const char *regularizer;
    const char *init;
    const char *shuffle;
    double hold_out;
    bool no_refit;
    bool resume;
    bool force;
};

static const char *const exclusions[] = {"triple", "pair", NULL};
static const char *const relation_kinds[] = {"shared", "directed", NULL};
static const char *const own_kinds[] = {"shared", "own", NULL};
static const char *const all[] = {"all", NULL};
static const char *const inits[] = {"xavier", NULL};
static const char *const yes_or_no[] = {"yes", "no", NULL};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {"preset", "NAME", CLI_CHOICE, SETTING(preset),
     "paper: as Albooyeh et al. (2020); graft: the recipe that came out best (default: graft)",
     kg__preset_names},
    {"model", "NAME", CLI_CHOICE, SETTING(model),
     "distmult, simple, complex, quate or rgcn-d (default: distmult)", kg__scoring_names},
    {"dim", "N", CLI_COUNT, SETTING(train.dim), "numbers in an entity's row (default: 200)", NULL},
    {"aggregate", "NAME", CLI_CHOICE, SETTING(aggregate),
     "eavg, eravg, ls, ls-u, graft, or ials with psi 0 (rgcn-d: its own)", kg__aggregator_names},
    {"relations", "KIND", CLI_CHOICE, SETTING(relations),
     "shared: a vector for both directions; directed: one for each", relation_kinds},
    {"aggregate-relations", "KIND", CLI_CHOICE, SETTING(aggregate_relations),
     "shared: the same vectors for facts and for questions; own: others", own_kinds},
    {"graft-power", "P", CLI_NUMBER, SETTING(train.graft_power),
     "graft: the sum over N facts is divided by N^P (default: 0.5)", NULL},
    {"graft-weights", "yes|no", CLI_CHOICE, SETTING(graft_weights),
     "graft: learns which facts matter for which question (default: yes)", yes_or_no},
    {"graft-echo", "yes|no", CLI_CHOICE, SETTING(graft_echo),
     "graft: learns which facts are echoed by which answers (default: yes)", yes_or_no},
    {"evidence", "SET", CLI_SET, SETTING(train.evidence),
     "softmax: what else speaks for answers, joined by +: echo, two, three, four, company, votes, "
     "vacancy; or all, or none",
     kg__feature_names},
    {"ls-lambda", "X", CLI_NUMBER, SETTING(train.aggregate.ls_lambda),
     "the ridge of ls (default: 0.1)", NULL},
    {"ls-rows", "KIND", CLI_CHOICE, SETTING(ls_rows),
     "normalized or weighted equations of ls (default: normalized)", kg__ls_rows_names},
    {"ials-alpha", "X", CLI_NUMBER, SETTING(train.aggregate.ials_alpha),
     "the weight of ials' implicit negatives (default: 0.001)", NULL},
    {"ials-lambda", "X", CLI_NUMBER, SETTING(train.aggregate.ials_lambda),
     "the ridge of ials (default: 0.1)", NULL},
    {"exclude", "WHAT", CLI_CHOICE, SETTING(exclude),
     "an aggregate leaves out the triple, or the pair's facts (default: triple)", exclusions},
    {"psi", "P", CLI_NUMBER, SETTING(train.psi), "how often one end is treated as unseen", NULL},
    {"self-loops", "yes|no", CLI_CHOICE, SETTING(self_loops),
     "rgcn-d: layers also see the entity itself (default: yes)", yes_or_no},
    {"bases", "N", CLI_COUNT, SETTING(train.bases),
     "rgcn-d: matrices that the relations of a layer share (default: 4)", NULL},
    {"negatives", "N", CLI_COUNT, SETTING(train.negatives),
     "softplus: corrupted twins of each fact; softmax: others among a batch's candidates, or all",
     all},
    {"batch", "N", CLI_COUNT, SETTING(train.batch), "facts or, for softmax, questions in a batch",
     NULL},
    {"epochs", "N", CLI_COUNT, SETTING(train.epochs), "times that it goes through all facts", NULL},
    {"loss", "NAME", CLI_CHOICE, SETTING(loss), "softplus: is it true? softmax: which one is it?",
     kg__loss_names},
    {"optimizer", "NAME", CLI_CHOICE, SETTING(optimizer), "adagrad or adam", kg__method_names},
    {"lr", "X", CLI_NUMBER, SETTING(train.rate), "learning rate", NULL},
    {"lr-last", "X", CLI_NUMBER, SETTING(train.last_rate), "what it falls to in the end", NULL},
    {"regularizer", "NAME", CLI_CHOICE, SETTING(regularizer),
     "l2: of all parameters; n3: of those that a question is about (default: l2)",
     kg__regularizer_names},
    {"l2", "X", CLI_NUMBER, SETTING(train.l2), "weight of L2, shared by the batches of an epoch",
     NULL},
    {"n3", "X", CLI_NUMBER, SETTING(train.n3), "weight of N3, for each question (default: 0.05)",
     NULL},
    {"dropout", "P", CLI_NUMBER, SETTING(train.dropout),
     "share of products that a score leaves out", NULL},
    {"init", "NAME", CLI_CHOICE, SETTING(init), "xavier", inits},
    {"shuffle", "yes|no", CLI_CHOICE, SETTING(shuffle), "facts in random order (default: yes)",
     yes_or_no},
    {"seed", "N", CLI_COUNT, SETTING(train.seed), "same seed, same bytes (default: 0)", NULL},
    {"threads", "N", CLI_COUNT, SETTING(train.threads),
     "default: all processors; no influence on the result", NULL},
    {"validate-every", "N", CLI_COUNT, SETTING(train.validate_every),
     "epochs between validations, 0 for none", NULL},
    {"patience", "N", CLI_COUNT, SETTING(train.patience),
     "validations without a better one before it stops, 0 for no end (default: 0)", NULL},
    {"hold-out", "SHARE", CLI_NUMBER, SETTING(hold_out),
     "of entities, to validate and calibrate by where the data have no part for it, 0 for none "
     "(default: 0.05, or more of a small graph)",
     NULL},
    {"no-refit", NULL, CLI_FLAG, SETTING(no_refit),
     "leave what was held out out of the model, too; without this, it is trained on everything",
     NULL},
    {"resume", NULL, CLI_FLAG, SETTING(resume),
     "go on with the run to MODEL, if there is one (it is kept in MODEL.training)", NULL},
    {"force", NULL, CLI_FLAG, SETTING(force),
     "replace MODEL if it is a model already, when the new one is complete", NULL},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};
_Static_assert(sizeof options / sizeof options[0] <= CLI_MOST_OPTIONS, "kgraft tune has no room");

static const char *or_usual(const char *given, const char *usual) {
    return given == NULL ? usual : given;
}

static double or_usual_number(double given, double usual) {
    return isnan(given) ? usual : given;
}

static uint64_t or_usual_count(uint64_t given, uint64_t usual) {
    return given == NOT_GIVEN ? usual : given;
}

static void fill_in(struct settings *s) {
    const kg_scoring *kind = kg__scoring_find(s->model);
    s->preset = or_usual(s->preset, kg__preset_names[kg__preset_usual(kind)]);
    kg_train_options usual =
        kg__train_usual((kg_preset)cli_choice(kg__preset_names, s->preset), kind);
    double fall = usual.last_rate / usual.rate;
    double usual_l2 = strcmp(s->regularizer, "l2") == 0 ? usual.l2 : 0;
    s->loss = or_usual(s->loss, kg__loss_names[usual.loss]);
    s->relations = or_usual(s->relations, relation_kinds[usual.directed]);
    s->aggregate_relations = or_usual(s->aggregate_relations, own_kinds[usual.own_relations]);
    s->aggregate = or_usual(s->aggregate, usual.aggregate.aggregator->name);
    s->train.graft_power = or_usual_number(s->train.graft_power, usual.graft_power);
    s->graft_weights = or_usual(s->graft_weights, yes_or_no[!usual.graft_weights]);
    s->graft_echo = or_usual(s->graft_echo, yes_or_no[!usual.graft_echo]);
    s->optimizer = or_usual(s->optimizer, kg__method_names[usual.method]);
    s->train.psi = or_usual_number(s->train.psi, usual.psi);
    s->train.negatives = or_usual_count(s->train.negatives, usual.negatives);
    s->train.dropout = or_usual_number(s->train.dropout, usual.dropout);
    s->train.rate = or_usual_number(s->train.rate, usual.rate);
    s->train.last_rate = or_usual_number(s->train.last_rate, fall * s->train.rate);
    s->train.l2 = or_usual_number(s->train.l2, usual_l2);
    s->train.n3 = or_usual_number(s->train.n3, usual.n3);
    s->train.batch = or_usual_count(s->train.batch, usual.batch);
    s->train.epochs = or_usual_count(s->train.epochs, usual.epochs);
    s->train.validate_every = or_usual_count(s->train.validate_every, usual.validate_every);
    if (s->train.evidence == NO_SET)
        s->train.evidence = s->train.psi < 1 ? 0 : usual.evidence;
}

kg_status cli_train_check(const void *settings, kg_error *error) {
    const struct settings *given = settings;
    struct settings whole = *given;
    const char *of_graft = !isnan(given->train.graft_power) ? "graft-power"
                           : given->graft_weights != NULL   ? "graft-weights"
                           : given->graft_echo != NULL      ? "graft-echo"
                                                            : NULL;
    fill_in(&whole);
    if (!isnan(given->hold_out))
        KG_TRY(kg__hold_out_check(given->hold_out, error));
    if (of_graft != NULL && strcmp(whole.aggregate, "graft") != 0)
        return kg_fail(error, KG_BAD_INPUT, "aggregate: expected graft for --%s, found %s",
                       of_graft, whole.aggregate);
    if (!isnan(given->train.n3) && strcmp(whole.regularizer, "n3") != 0)
        return kg_fail(error, KG_BAD_INPUT, "regularizer: expected n3 for --n3, found %s",
                       whole.regularizer);
    return KG_OK;
}

void cli_train_fill_in(void *settings) {
    fill_in(settings);
}

static kg_train_options make_options(const struct settings *given) {
    struct settings settings = *given;
    fill_in(&settings);
    kg_train_options out = settings.train;
    out.scoring = kg__scoring_find(settings.model);
    out.aggregate.aggregator = kg__aggregator_find(settings.aggregate);
    out.aggregate.ls_rows = (kg_ls_rows)cli_choice(kg__ls_rows_names, settings.ls_rows);
    out.exclude = (kg_exclude)cli_choice(exclusions, settings.exclude);
    out.method = (kg_method)cli_choice(kg__method_names, settings.optimizer);
    out.regularizer = (kg_regularizer)cli_choice(kg__regularizer_names, settings.regularizer);
    out.self_loops = strcmp(settings.self_loops, "yes") == 0;
    out.shuffle = strcmp(settings.shuffle, "yes") == 0;
    out.loss = (kg_loss)cli_choice(kg__loss_names, settings.loss);
    out.directed = strcmp(settings.relations, "directed") == 0;
    out.own_relations = strcmp(settings.aggregate_relations, "own") == 0;
    out.graft_weights = strcmp(settings.graft_weights, "yes") == 0;
    out.graft_echo = strcmp(settings.graft_echo, "yes") == 0;
    if (out.threads == 0)
        out.threads = (uint64_t)kg__threads(0);
    return out;
}

kg_train_options cli_train_options(const void *settings) {
    return make_options(settings);
}

kg_status cli_train_name(cli_run_name *out, const void *settings, kg_error *error) {
    const struct settings *given = settings;
    struct settings plain = *(const struct settings *)cli_train.defaults;
    plain.preset = given->preset;
    fill_in(&plain);
    plain.preset = kg__preset_names[KG_PAPER];
    return cli_settings_name(out, &cli_train, given, &plain, error);
}

/* Whoever follows the epochs on standard output. */
struct follower {
    bool json;
    int problem; /* errno of the first line that did not get out */
};

/* A line of JSON, at once. Training goes on if it cannot be written. */
static void print_line(struct follower *follower, json_t *line) {
    char *text = line == NULL ? NULL : json_dumps(line, JSON_COMPACT);
    if (text != NULL && (puts(text) == EOF || fflush(stdout) != 0) && follower->problem == 0)
        follower->problem = errno;
    kg__json_free_text(text);
    json_decref(line);
}

static void print_epoch(void *payload, const char *phase, const kg_epoch *epoch) {
    struct follower *follower = payload;
    if (!follower->json)
        return;
    json_t *line = kg__epoch_json(epoch);
    if (phase != NULL)
        json_object_set_new(line, "phase", json_string(phase));
    print_line(follower, line);
}

/* The last line, if something was held out. */
static void print_hold_out(struct follower *follower, const kg_fit_result *trained) {
    if (follower->json && trained->share > 0)
        print_line(follower, json_pack("{so}", "hold_out", kg__fit_hold_out_json(trained)));
}

static kg_status check_follower(const struct follower *follower, kg_error *error) {
    errno = follower->problem;
    return errno == 0 ? KG_OK : kg__fail_errno(error, "standard output", "write to it");
}

kg_status cli_train_model(kg_fit_result *out, const cli_training *training, kg_error *error) {
    struct settings settings = *(const struct settings *)training->settings;
    fill_in(&settings);
    kg_train_options chosen = make_options(&settings);
    kg_fit_options run = {.options = &chosen,
                          .preset = settings.preset,
                          .dataset = training->dataset,
                          .path = training->path,
                          .hold_out = training->hold_out,
                          .refit = training->refit,
                          .resume = training->resume,
                          .force = training->force,
                          .watcher = training->watcher};
    return kg__fit(out, &run, error);
}

double cli_train_hold_out(const void *settings) {
    double given = ((const struct settings *)settings)->hold_out;
    return isnan(given) ? KG_USUAL_HOLD_OUT : given;
}

/* Of data without a validation part: what took its place. */
static void say_held_out(const cli_context *context, const kg_fit_result *trained,
                         const struct settings *settings) {
    const char *path = context->arguments[1];
    if (trained->share > 0)
        cli_say(context, "%s: held out %s with %s to validate and calibrate by%s", path,
                report_counted(trained->held_entities, "entity", "entities").text,
                report_counted(trained->held_facts, "fact", "facts").text,
                trained->held_facts < KG_FEW_HELD_OUT ? ": so few that probabilities are rough"
                                                      : "");
    else
        cli_say(context,
                "%s: not calibrated, since %s: kgraft predict needs --relation to answer by scores",
                path,
                settings->hold_out == 0 ? "nothing was held out"
                : isnan(settings->hold_out)
                    ? "the graph is too small to hold entities out"
                    : "that share leaves too few facts to validate by or to train on");
}

static void say_result(const cli_context *context, const kg_fit_result *trained) {
    const char *path = context->arguments[1];
    if (trained->best.is_validated)
        cli_say(context, "%s: epoch %ju of %zu is the best: validation MRR %.4f", path,
                (uintmax_t)trained->best.number, trained->epochs, trained->best.valid.mrr);
    else
        cli_say(context, "%s: %s, not validated", path,
                report_counted(trained->epochs, "epoch", "epochs").text);
    if (trained->is_refit)
        cli_say(context, "%s: trained on everything for %s", path,
                report_counted(trained->best.number, "epoch", "epochs").text);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_reader reader = {.options.folder_first = true, .progress = &context->progress};
    kg_dataset dataset = {0};
    struct follower follower = {.json = context->common->json};
    kg_train_watcher watcher = {
        .progress = &context->progress, .on_epoch = print_epoch, .payload = &follower};
    cli_training training = {.settings = settings,
                             .dataset = &dataset,
                             .path = context->arguments[1],
                             .hold_out = cli_train_hold_out(settings),
                             .refit = !settings->no_refit,
                             .resume = settings->resume,
                             .force = settings->force,
                             .watcher = &watcher};
    kg_fit_result trained = {0};
    kg_status status = KG_OK;
    KG_TRY(cli_train_check(settings, error));
    kg_train_options chosen = make_options(settings);
    KG_TRY(kg__train_check(&chosen, error));
    omp_set_num_threads((int)chosen.threads);
    KG_CHECK(kg__dataset_open(&dataset, error));
    KG_CHECK(kg__source_read(&dataset, &reader, context->arguments, 1, error));
    cli_say_left_out(context, &dataset, &reader.counts, "kgraft import ");
    status = cli_train_model(&trained, &training, error);
    if (status == KG_CANCELLED)
        cli_say(context, "stopped: the same command with --resume goes on");
    KG_CHECK(status);
    if (!kg__has_validation(&dataset))
        say_held_out(context, &trained, settings);
    say_result(context, &trained);
    print_hold_out(&follower, &trained);
    status = check_follower(&follower, error);
done:
    kg__dataset_close(&dataset);
    return status;
}

/* What is longer than others stands in the last column, where there is room for it. */
static void show_cell(FILE *stream, const char *text, bool is_last) {
    fprintf(stream, is_last ? "%s\n" : "%-10s", text);
}

/* A column of --help for each preset, and for what is special about models with an encoder. */
static void show_presets(FILE *stream) {
    const struct {
        const char *title;
        kg_preset preset;
        const char *model;
    } columns[] = {{"paper", KG_PAPER, "distmult"},
                   {"(rgcn-d)", KG_PAPER, "rgcn-d"},
                   {"graft", KG_GRAFT, "distmult"}};
    static const char *const shown[] = {
        "aggregate", "loss",  "relations", "aggregate-relations", "psi",
        "negatives", "batch", "epochs",    "optimizer",           "lr",
        "lr-last",   "l2",    "dropout",   "validate-every",      "evidence"};
    fprintf(stream, "presets:%17s", "");
    for (size_t i = 0; i < 3; i++)
        show_cell(stream, columns[i].title, i == 2);
    for (size_t row = 0; row < sizeof shown / sizeof shown[0]; row++) {
        const cli_option *option = options;
        while (strcmp(option->name, shown[row]) != 0)
            option++;
        fprintf(stream, "  --%-21s", option->name);
        for (size_t i = 0; i < 3; i++) {
            struct settings settings = *(const struct settings *)cli_train.defaults;
            settings.preset = kg__preset_names[columns[i].preset];
            settings.model = columns[i].model;
            fill_in(&settings);
            show_cell(stream, cli_option_text(option, &settings).text, i == 2);
        }
    }
    fprintf(stream, "\n");
}

static const struct settings defaults = {
    .train = {.dim = 200,
              .aggregate = {.ls_lambda = KG_LS_LAMBDA,
                            .ials_alpha = KG_IALS_ALPHA,
                            .ials_lambda = KG_IALS_LAMBDA},
              .psi = NAN,
              .bases = 4,
              .negatives = NOT_GIVEN,
              .batch = NOT_GIVEN,
              .epochs = NOT_GIVEN,
              .rate = NAN,
              .last_rate = NAN,
              .graft_power = NAN,
              .evidence = NO_SET,
              .l2 = NAN,
              .n3 = NAN,
              .dropout = NAN,
              .validate_every = NOT_GIVEN},
    .hold_out = NAN,
    .model = "distmult",
    .ls_rows = "normalized",
    .exclude = "triple",
    .self_loops = "yes",
    .regularizer = "l2",
    .init = "xavier",
    .shuffle = "yes",
};

const cli_command cli_train = {
    .name = "train",
    .usage = "DATASET MODEL",
    .summary = "learn embeddings that also work for unseen entities",
    .details =
        "DATASET is anything that import takes; MODEL becomes a model directory. If there is no\n"
        "validation part, some entities are held out to choose the epoch and to calibrate by;\n"
        "then the model is trained on everything.",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .show_more = show_presets,
    .run = run,
};
