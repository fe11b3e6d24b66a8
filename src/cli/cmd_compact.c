/* kgraft compact: trains the next generation of a store. */
#include <omp.h>

#include "base/thread_count.h"
#include "cli/cli.h"
#include "live/compaction.h"

struct settings {
    cli_common common;
    uint64_t epochs;
    bool from_scratch;
    bool restart;
    uint64_t threads;
};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {.name = "epochs",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = SETTING(epochs),
     .help = "times that it goes through all facts (default: half of those of a training from "
             "scratch)"},
    {.name = "from-scratch",
     .kind = CLI_FLAG,
     .offset = SETTING(from_scratch),
     .help = "start at random, as kgraft train does, in place of the last generation's values"},
    {.name = "restart",
     .kind = CLI_FLAG,
     .offset = SETTING(restart),
     .help = "give up an unfinished compaction, and take the facts that are live now"},
    CLI_THREADS(SETTING(threads)),
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

static json_t *result_json(const kg_compact_result *found) {
    return json_pack(
        "{sI sb sI sI sI sI sI sI sI sI sI}", "generation", (json_int_t)found->generation, "new",
        found->is_new, "added", (json_int_t)found->added, "removed", (json_int_t)found->removed,
        "facts", (json_int_t)found->facts, "entities", (json_int_t)found->entities, "relations",
        (json_int_t)found->relations, "new_entities", (json_int_t)found->new_entities,
        "new_relations", (json_int_t)found->new_relations, "gone_entities",
        (json_int_t)found->gone_entities, "epochs", (json_int_t)found->fit.best.number);
}

static void print_result(const cli_context *context, const kg_compact_result *found) {
    const char *path = context->arguments[0];
    if (!found->is_new) {
        cli_say(context, "%s: nothing has changed since generation %jd was trained", path,
                (intmax_t)found->generation);
        return;
    }
    cli_say(context, "%s: generation %jd, trained on %s of %s", path, (intmax_t)found->generation,
            report_counted(found->facts, "fact", "facts").text,
            report_counted(found->entities, "entity", "entities").text);
    cli_say(context, "%s: %s added, %s removed; %s new, %s gone", path,
            report_counted(found->added, "fact", "facts").text,
            report_counted(found->removed, "fact", "facts").text,
            report_counted(found->new_entities, "entity", "entities").text,
            report_counted(found->gone_entities, "entity", "entities").text);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_train_watcher watcher = {.progress = &context->progress};
    kg_compact_options compact = {.store = context->arguments[0],
                                  .epochs = settings->epochs,
                                  .threads = (uint64_t)kg__threads(settings->threads),
                                  .from_scratch = settings->from_scratch,
                                  .restart = settings->restart,
                                  .watcher = &watcher};
    kg_compact_result found;
    omp_set_num_threads((int)compact.threads);
    kg_status status = kg__compact(&found, &compact, error);
    if (status == KG_CANCELLED)
        cli_say(context, "stopped: the same command goes on");
    KG_TRY(status);
    cli_bar_close(context->bar);
    print_result(context, &found);
    return context->common->json ? cli_print_json(result_json(&found), error) : KG_OK;
}

static const struct settings defaults = {.epochs = 0};

const cli_command cli_compact = {
    .name = "compact",
    .usage = "STORE",
    .summary = "train the next generation of a store on its live facts",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
