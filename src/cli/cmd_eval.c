/* kgraft eval: the accuracy of a model or a baseline, by the metrics of the paper. */
#include <omp.h>
#include <string.h>

#include "cli/aggregate_overrides.h"
#include "cli/eval_options.h"
#include "graph/dataset_source.h"

struct settings {
    cli_common common;
    const char *split;
    bool in_sample;
    bool live;
    kg_aggregate_overrides overrides;
    const char *baseline; /* NULL: the model itself */
    const char *ties;
    uint64_t bins;
    const char *ranks;
    uint64_t threads;
};

static const char *const splits[] = {"test", "valid", NULL};
static const char *const tie_rules[] = {"realistic", "optimistic", "pessimistic", "reference",
                                        NULL};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {.name = "split",
     .argument = "NAME",
     .kind = CLI_CHOICE,
     .offset = SETTING(split),
     .help = "test or valid (default: test)",
     .choices = splits},
    {.name = "in-sample",
     .kind = CLI_FLAG,
     .offset = SETTING(in_sample),
     .help = "facts between seen entities, each end predicted"},
    {.name = "live",
     .kind = CLI_FLAG,
     .offset = SETTING(live),
     .help = "also with all unseen entities in the graph at once"},
    CLI_OVERRIDE_OPTIONS(SETTING(overrides)),
    {.name = "baseline",
     .argument = "NAME",
     .kind = CLI_CHOICE,
     .offset = SETTING(baseline),
     .help = "%s; all but oov need no MODEL",
     .choices = experiment_baseline_names},
    {.name = "ties",
     .argument = "RULE",
     .kind = CLI_CHOICE,
     .offset = SETTING(ties),
     .help = "realistic, optimistic, pessimistic or reference rank of ties (default: realistic)",
     .choices = tie_rules},
    {.name = "bins",
     .argument = "N",
     .kind = CLI_COUNT,
     .offset = SETTING(bins),
     .help = "groups by the number of facts of an unseen entity (default: 5)"},
    {.name = "ranks",
     .argument = "FILE",
     .kind = CLI_TEXT,
     .offset = SETTING(ranks),
     .help = "write the rank of each query, one per line"},
    CLI_THREADS(SETTING(threads)),
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

/* ---- Options ---- */

kg_status cli_eval_options(experiment_eval_options *out, const void *payload, kg_error *error) {
    const struct settings *settings = payload;
    const char *given = cli_overrides_given(&settings->overrides);
    *out = (experiment_eval_options){.valid = strcmp(settings->split, "valid") == 0,
                                     .in_sample = settings->in_sample,
                                     .live = settings->live,
                                     .overrides = settings->overrides,
                                     .baseline = settings->baseline,
                                     .ties = (kg_ties)cli_choice(tie_rules, settings->ties),
                                     .bins = settings->bins,
                                     .threads = settings->threads};
    if (settings->in_sample && settings->baseline != NULL && experiment_eval_needs_model(out))
        return kg_fail(error, KG_BAD_INPUT,
                       "--baseline oov: expected queries about unseen entities, found --in-sample");
    if (given != NULL && (settings->in_sample || settings->baseline != NULL))
        return kg_fail(error, KG_BAD_INPUT,
                       "%s: expected unseen entities that are embedded from their facts, found %s",
                       given, settings->in_sample ? "--in-sample" : "--baseline");
    return KG_OK;
}

/* ---- Output ---- */

/* Queries with ranks, and the names of what they are about. */
struct ranked {
    const kg_queries *queries;
    const double *ranks;
    const kg_names *entities;
    const kg_names *relations;
};

static struct ranked ranked_of(const experiment_evaluation *e) {
    const kg_dataset *dataset = e->dataset;
    if (e->options.live)
        return (struct ranked){&e->live.queries, e->live.ranks, &e->live.snapshot->entities,
                               &e->live.snapshot->relations};
    return (struct ranked){&e->queries, e->ranks, kg__dataset_names(dataset, e->part),
                           &dataset->relations};
}

static kg_status write_rank(kg_output *output, const struct ranked *ranked, size_t i,
                            kg_error *error) {
    const kg_query *query = &ranked->queries->list[i];
    bool head_missing = kg_directed_end(query->target.directed) == KG_TAIL;
    const kg_name names[] = {
        kg__names_get(ranked->entities, query->entity),
        kg__names_get(ranked->relations, query->target.directed / 2),
        {head_missing ? "head" : "tail", 4, 0},
        kg__names_get(ranked->entities, query->target.other),
    };
    for (size_t k = 0; k < 4; k++) {
        KG_TRY(kg__output_write(output, names[k].bytes, names[k].length, error));
        KG_TRY(kg__output_write(output, "\t", 1, error));
    }
    char numbers[64];
    int length = snprintf(numbers, sizeof numbers, "%.15g\t%zu\n", ranked->ranks[i],
                          kg__query_facts(ranked->queries, query));
    return kg__output_write(output, numbers, (size_t)length, error);
}

static kg_status write_ranks(const char *path, const experiment_evaluation *e, kg_error *error) {
    struct ranked ranked = ranked_of(e);
    kg_output *output = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__output_open(&output, path, path, error));
    for (size_t i = 0; i < ranked.queries->count; i++)
        KG_CHECK(write_rank(output, &ranked, i, error));
    status = kg__output_commit(output, error);
done:
    kg__output_close(output);
    return status;
}

/* A group without queries has no mean. */
static void print_row(const char *label, const kg_metrics *m) {
    if (m->queries > 0)
        printf("%-24s %10s %8.4f %8.4f %8.4f %8.4f %10.1f\n", label,
               report_grouped(m->queries).text, m->mrr, m->hits[0], m->hits[1], m->hits[2], m->mr);
}

static void print_report(const experiment_evaluation *e) {
    experiment_embedded_by by = experiment_evaluation_embedded_by(e);
    const kg_breakdown *report = &e->breakdown;
    printf("%-24s %10s %8s %8s %8s %8s %10s\n", "", "queries", "MRR", "Hit@1", "Hit@3", "Hit@10",
           "MR");
    print_row("all", &report->all);
    if (report->unseen) {
        print_row("echoes", &report->echo);
        print_row("fresh", &report->fresh);
    }
    print_row("head missing", &report->by_side[KG_HEAD]);
    print_row("tail missing", &report->by_side[KG_TAIL]);
    for (size_t i = 0; i < report->bin_count; i++) {
        const kg_bin *bin = &report->bins[i];
        char label[64];
        if (bin->fewest == bin->most)
            snprintf(label, sizeof label, "%zu fact%s", bin->most, bin->most == 1 ? "" : "s");
        else
            snprintf(label, sizeof label, "%zu to %zu facts", bin->fewest, bin->most);
        print_row(label, &bin->metrics);
    }
    for (size_t i = 0; i < e->groups.count; i++) {
        const kg_metrics_group *group = &e->groups.list[i];
        print_row(group->name, &group->all);
        print_row("  head missing", &group->by_side[KG_HEAD]);
        print_row("  tail missing", &group->by_side[KG_TAIL]);
    }
    print_row("all added: known answers", &e->live.known);
    print_row("  among known entities", &e->live.among_known);
    print_row("all added: later answers", &e->live.later);
    if (by.facts > 0)
        printf("%s of %s answered by the entity's training facts, others by its row\n",
               report_grouped(by.facts).text,
               report_counted(report->all.queries, "query", "queries").text);
    if (report->unseen)
        printf("echoes: another fact links the entity to the right answer; fresh: none does\n");
    if (e->options.live)
        printf(
            "all added: %s in the graph at once, with %s; above: each alone\n"
            "later answers: a model that never gives one has an MRR of 0 there; one that was "
            "trained on all of these facts shows what can be reached\n",
            report_counted(e->live.added.entities_added, "unseen entity", "unseen entities").text,
            report_counted(e->live.added.added, "fact", "facts").text);
    if (e->known.entities > 0)
        printf("left out: %s that the model knows, with %s\n",
               report_counted(e->known.entities, "unseen entity", "unseen entities").text,
               report_counted(e->known.queries, "query", "queries").text);
}

/* ---- The command ---- */

static kg_status show(const experiment_evaluation *e, const struct settings *settings,
                      kg_error *error) {
    if (settings->ranks != NULL)
        KG_TRY(write_ranks(settings->ranks, e, error));
    if (settings->common.json)
        return cli_print_json(experiment_evaluation_json(e), error);
    print_report(e);
    return cli_flush(error);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_reader reader = {.options.folder_first = true, .progress = &context->progress};
    experiment_eval_options eval;
    experiment_evaluation evaluation = {0};
    kg_dataset dataset = {0};
    kg_status status = KG_OK;
    KG_TRY(cli_eval_options(&eval, settings, error));
    eval.ranks = context->ranks;
    size_t wanted = experiment_eval_needs_model(&eval) ? 2 : 1;
    if (context->argument_count != wanted)
        return kg_fail(error, KG_BAD_INPUT, "expected %s, found %s",
                       wanted == 1 ? "DATASET alone for a baseline that counts facts"
                                   : "MODEL and DATASET",
                       report_counted(context->argument_count, "argument", "arguments").text);
    const char *const *source = context->arguments + wanted - 1;
    for (size_t i = 0; i < wanted; i++)
        KG_TRY(cli_check_apart("ranks", settings->ranks, context->arguments[i], error));
    KG_CHECK(experiment_evaluation_open(&evaluation, &eval, context->arguments[0], error));
    if (settings->threads > 0)
        omp_set_num_threads((int)settings->threads);
    KG_CHECK(kg__dataset_open(&dataset, error));
    KG_CHECK(kg__source_read(&dataset, &reader, source, 1, error));
    KG_CHECK(experiment_evaluation_run(&evaluation, &dataset, *source, &context->progress, error));
    if (kg__ranks_first(context->ranks))
        status = show(&evaluation, settings, error);
done:
    experiment_evaluation_close(&evaluation);
    kg__dataset_close(&dataset);
    return status;
}

static const struct settings defaults = {.split = "test", .ties = "realistic", .bins = 5};

const cli_command cli_eval = {
    .name = "eval",
    .usage = "[MODEL] DATASET",
    .summary = "rank the right answers to a data set's queries",
    .details =
        "Each fact of an unseen entity is a query, with the entity embedded from its other facts;\n"
        "the answer is ranked among all seen entities except other known answers.",
    .min_arguments = 1,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .is_shared = true,
    .run = run,
};
