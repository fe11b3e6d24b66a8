/* kgraft train: embeddings that also work for unseen entities. */
#include <errno.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread_count.h"
#include "cli/cli.h"
#include "cli/skipped_facts.h"
#include "cli/train_options.h"
#include "graph/dataset_source.h"
#include "train/hold_out.h"

struct settings {
    cli_common common;
    kg_settings train;
    bool no_refit;
    bool resume;
    bool force;
};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {.name = "no-refit",
     .kind = CLI_FLAG,
     .offset = SETTING(no_refit),
     .help = "do not train again on all data after validation: what was held out stays out of "
             "the model"},
    {.name = "resume",
     .kind = CLI_FLAG,
     .offset = SETTING(resume),
     .help = "go on with the run to MODEL, if there is one (it is kept in MODEL.training)"},
    {.name = "force",
     .kind = CLI_FLAG,
     .offset = SETTING(force),
     .help = "replace MODEL if it is a model already, when the new one is complete"},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};
_Static_assert(KG_MOST_SETTINGS + sizeof options / sizeof options[0] <= CLI_MOST_OPTIONS,
               "no room for suggestions");

const kg_settings *cli_train_settings(const void *settings) {
    return &((const struct settings *)settings)->train;
}

kg_status cli_train_options(kg_train_options *out, const kg_settings *settings, kg_error *error) {
    *out = kg__settings_complete(settings);
    if (!kg__settings_has(settings, "threads") || out->threads == 0) /* experiments have 0 */
        out->threads = (uint64_t)kg__threads(0);
    KG_TRY(kg__settings_check(settings, settings->given, error));
    KG_TRY(kg__train_check(out, error));
    out->hold_out = 0; /* nothing is yet: see kg__settings_hold_out */
    return KG_OK;
}

/* Whoever follows the epochs on standard output. */
struct follower {
    bool json;
    const cli_context *context;
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

/* Of small graphs nobody needs to know. */
#define NOTABLE 1e9

static void say_needs(void *payload, const kg_memory_needs *needs) {
    struct follower *follower = payload;
    if (kg__memory_total(needs) < NOTABLE)
        return;
    cli_say(follower->context, "%s: %s %s", follower->context->arguments[1],
            kg__ranks_many(follower->context->ranks) ? "each rank needs" : "needs",
            kg__memory_text(needs).text);
    if (follower->json)
        print_line(follower, json_pack("{so}", "needs", kg__memory_json(needs)));
}

/* The last line, if something was held out. */
static void print_hold_out(struct follower *follower, const kg_training_run_result *trained) {
    if (follower->json && trained->share > 0)
        print_line(follower,
                   json_pack("{so}", "hold_out", kg__training_run_hold_out_json(trained)));
}

static kg_status check_follower(const struct follower *follower, kg_error *error) {
    errno = follower->problem;
    return errno == 0 ? KG_OK : kg__fail_errno(error, "standard output", "write to it");
}

/* Of data without a validation part: what took its place. */
static void say_held_out(const cli_context *context, const kg_training_run_result *trained,
                         double asked) {
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
                asked == 0 ? "nothing was held out"
                : asked == KG_DEFAULT_HOLD_OUT
                    ? "the graph is too small to hold entities out"
                    : "that share leaves too few facts to validate by or to train on");
}

static void say_result(const cli_context *context, const kg_training_run_result *trained,
                       const kg_train_options *chosen) {
    const char *path = context->arguments[1];
    if (trained->best.is_validated)
        cli_say(context, "%s: epoch %ju of %zu is the best: validation MRR %.4f", path,
                (uintmax_t)trained->best.number, trained->epochs, trained->best.valid.mrr);
    else
        cli_say(context, "%s: %s, not validated", path,
                report_counted(trained->epochs, "epoch", "epochs").text);
    if (trained->is_refit && kg__train_has_joint(chosen))
        cli_say(context, "%s: trained on everything for %s", path,
                report_counted(trained->best.number, "epoch", "epochs").text);
    else if (trained->is_refit)
        cli_say(context, "%s: what was held out is in its graph, without more training", path);
}

/* What ranks cost: all of them take part. */
static kg_status say_traffic(const cli_context *context, const kg_training_run_result *trained,
                             kg_error *error) {
    kg_ranks *ranks = context->ranks;
    uint64_t *sent = kg__alloc(ranks->count, sizeof *sent);
    double sum = 0;
    if (sent == NULL)
        return kg__fail_memory(error);
    sent[ranks->number] = ranks->sent;
    kg__ranks_gather(ranks, sent, sizeof *sent);
    for (size_t i = 0; i < ranks->count; i++)
        sum += (double)sent[i];
    kg__free(sent);
    if (ranks->count > 1 && trained->facts > 0)
        cli_say(context, "%s: %zu ranks sent %.1f MB, %.0f bytes for each fact of an epoch",
                context->arguments[1], ranks->count, sum / 1e6, sum / (double)trained->facts);
    return KG_OK;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_reader reader = {.options.folder_first = true, .progress = &context->progress};
    kg_dataset dataset = {0};
    struct follower follower = {.json = context->common->json, .context = context};
    kg_train_watcher watcher = {.progress = &context->progress,
                                .on_start = say_needs,
                                .on_epoch = print_epoch,
                                .payload = &follower};
    kg_train_options chosen;
    kg_training_run_options fit = {.options = &chosen,
                                   .dataset = &dataset,
                                   .path = context->arguments[1],
                                   .hold_out = kg__settings_hold_out(&settings->train),
                                   .refit = !settings->no_refit,
                                   .resume = settings->resume,
                                   .force = settings->force,
                                   .watcher = &watcher};
    kg_settings adapted = settings->train;
    kg_training_run_result trained = {0};
    kg_status status = KG_OK;
    KG_TRY(cli_train_options(&chosen, &settings->train, error));
    omp_set_num_threads((int)chosen.threads);
    KG_CHECK(kg__dataset_open(&dataset, error));
    KG_CHECK(kg__source_read(&dataset, &reader, context->arguments, 1, error));
    KG_CHECK(kg__settings_adapt(&adapted, &dataset, error));
    bool had_echo = kg__train_has(&chosen, "echo");
    KG_CHECK(cli_train_options(&chosen, &adapted, error));
    chosen.ranks = context->ranks;
    if (had_echo && !kg__train_has(&chosen, "echo") && !kg__dataset_has_graph(&dataset))
        cli_say(context, "%s: no validation query is an echo: they are not learned",
                context->arguments[0]);
    cli_say_left_out(context, &dataset, &reader.counts, "kgraft import ");
    status = kg__training_run(&trained, &fit, error);
    if (status == KG_CANCELLED)
        cli_say(context, "stopped: the same command with --resume goes on");
    KG_CHECK(status);
    if (!kg__has_validation(&dataset))
        say_held_out(context, &trained, fit.hold_out);
    say_result(context, &trained, &chosen);
    KG_CHECK(say_traffic(context, &trained, error));
    print_hold_out(&follower, &trained);
    status = check_follower(&follower, error);
done:
    kg__dataset_close(&dataset);
    return status;
}

/* What is longer than others stands in the last column, where there is room for it. */
static void show_cell(FILE *stream, const char *text, bool is_last) {
    fprintf(stream, is_last ? "%s\n" : "%-16s", text);
}

/* What depends on the preset, with a column for each, and for what is special about models with an
 * encoder. */
static void show_presets(FILE *stream) {
    const kg_scoring *encoder = kg__scorings;
    while (!encoder->is_encoded)
        encoder++;
    const struct {
        kg_preset preset;
        const kg_scoring *kind;
    } columns[KG_COLUMN_COUNT] = {[KG_PAPER_COLUMN] = {KG_PAPER, kg__scorings},
                                  [KG_ENCODER_COLUMN] = {KG_PAPER, encoder},
                                  [KG_GRAFT_COLUMN] = {KG_GRAFT, kg__scorings}};
    char title[32];
    snprintf(title, sizeof title, "(%s)", encoder->name);
    fprintf(stream, "presets:%17s%-16s%-16s%s\n", "", kg__preset_names[KG_PAPER], title,
            kg__preset_names[KG_GRAFT]);
    for (size_t row = 0; row < kg__setting_count; row++) {
        const kg_setting *setting = &kg__settings[row];
        if (kg__setting_is_fixed(setting) || setting->offset == offsetof(kg_train_options, preset))
            continue;
        fprintf(stream, "  --%-21s", setting->name);
        for (size_t i = 0; i < KG_COLUMN_COUNT; i++) {
            kg_train_options usual = kg__train_defaults(columns[i].preset, columns[i].kind);
            show_cell(stream, kg__setting_text(setting, &usual).text, i == KG_COLUMN_COUNT - 1);
        }
    }
    fprintf(stream, "\n");
}

static const struct settings defaults = {.common = {.quiet = false}};

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
    .training = CLI_TRAINING,
    .training_at = offsetof(struct settings, train),
    .is_shared = true,
    .show_more = show_presets,
    .run = run,
};
