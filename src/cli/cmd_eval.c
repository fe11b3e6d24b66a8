/* kgraft eval: how well a model predicts links, as the paper measures it. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "cli/eval.h"
#include "cli/overrides.h"
#include "graph/source.h"
#include "math/vector.h"
#include "model/model.h"
#include "rank/baselines.h"
#include "rank/breakdown.h"
#include "rank/rank.h"

struct settings {
    cli_common common;
    const char *split;
    bool in_sample;
    kg_aggregate_overrides wish;
    const char *baseline; /* NULL: the model itself */
    const char *ties;
    uint64_t bins;
    const char *ranks;
    uint64_t threads;
};

/* Those that count facts are in the order of kg_baseline. */
static const char *const baselines[] = {"popularity", "relation-popularity", "echo", "oov", NULL};
static const char *const splits[] = {"test", "valid", NULL};
static const char *const tie_rules[] = {"realistic", "optimistic", "pessimistic", "reference",
                                        NULL};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {"split", "NAME", CLI_CHOICE, SETTING(split), "test or valid (default: test)", splits},
    {"in-sample", NULL, CLI_FLAG, SETTING(in_sample),
     "facts between seen entities, both ends asked for", NULL},
    CLI_OVERRIDESES(SETTING(wish)),
    {"baseline", "NAME", CLI_CHOICE, SETTING(baseline),
     "popularity, relation-popularity or echo, which need no MODEL; oov", baselines},
    {"ties", "RULE", CLI_CHOICE, SETTING(ties),
     "realistic, optimistic, pessimistic or reference rank of ties (default: realistic)",
     tie_rules},
    {"bins", "N", CLI_COUNT, SETTING(bins),
     "groups by the number of facts of an unseen entity (default: 5)", NULL},
    {"ranks", "FILE", CLI_TEXT, SETTING(ranks), "one line a query, to be analysed elsewhere", NULL},
    {"threads", "N", CLI_COUNT, SETTING(threads),
     "default: all processors; no influence on the result", NULL},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

/* All that an evaluation needs and makes. */
struct judge {
    const kg_dataset *dataset; /* borrowed, or with the ids of the model */
    kg_model model;
    kg_aligned aligned;
    kg_queries questions;
    kg_dropped known; /* unseen entities that are left out, since the model knows them */
    real *average;    /* of all in-sample entities */
    double *ranks;
    kg_breakdown report;
};

static void close_judge(struct judge *judge) {
    kg__breakdown_free(&judge->report);
    kg__free(judge->ranks);
    kg__free(judge->average);
    kg__queries_free(&judge->questions);
    kg__aligned_free(&judge->aligned);
    kg__model_close(&judge->model);
}

static kg_status choose_part(kg_part *out, const struct settings *settings, const char *path,
                             const kg_dataset *dataset, kg_error *error) {
    bool test = strcmp(settings->split, "test") == 0;
    *out = settings->in_sample ? (test ? KG_TEST : KG_VALID)
                               : (test ? KG_UNSEEN_TEST : KG_UNSEEN_VALID);
    if (dataset->parts[*out].count > 0)
        return KG_OK;
    kg_part other = settings->in_sample ? (test ? KG_UNSEEN_TEST : KG_UNSEEN_VALID)
                                        : (test ? KG_TEST : KG_VALID);
    const char *hint = " (kgraft split makes a benchmark of a graph, to train on and to ask about)";
    if (dataset->parts[other].count > 0)
        hint = settings->in_sample ? " (try without --in-sample)" : " (try --in-sample)";
    return kg_fail_at(error, path, 0, 0, "expected a data set with facts in %s, found none%s",
                      kg__part_name(*out), hint);
}

/* ---- What comes out ---- */

static kg_status write_rank(kg_output *output, const struct judge *judge, size_t i,
                            kg_error *error) {
    const kg_query *question = &judge->questions.list[i];
    bool head_missing = kg_directed_end(question->asked.directed) == KG_TAIL;
    const kg_name names[] = {
        kg__names_get(&judge->dataset->entities, question->entity),
        kg__names_get(&judge->dataset->relations, question->asked.directed / 2),
        {head_missing ? "head" : "tail", 4, 0},
        kg__names_get(&judge->dataset->entities, question->asked.other),
    };
    for (size_t k = 0; k < 4; k++) {
        KG_TRY(kg__output_write(output, names[k].bytes, names[k].length, error));
        KG_TRY(kg__output_write(output, "\t", 1, error));
    }
    char numbers[64];
    int length = snprintf(numbers, sizeof numbers, "%.15g\t%zu\n", judge->ranks[i],
                          kg__query_facts(&judge->questions, question));
    return kg__output_write(output, numbers, (size_t)length, error);
}

static kg_status write_ranks(const char *path, const struct judge *judge, kg_error *error) {
    kg_output *output = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__output_open(&output, path, path, error));
    for (size_t i = 0; i < judge->questions.count; i++)
        KG_CHECK(write_rank(output, judge, i, error));
    status = kg__output_commit(output, error);
done:
    kg__output_close(output);
    return status;
}

/* The following give NULL if memory is short: half of a result is none. */

static json_t *describe_bin(const kg_bin *bin) {
    json_t *out = kg__metrics_json(&bin->metrics);
    json_t *facts = json_pack("[II]", (json_int_t)bin->fewest, (json_int_t)bin->most);
    if (json_object_set_new(out, "facts", facts) == 0)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *describe_bins(const kg_breakdown *report) {
    json_t *bins = json_array();
    bool good = true;
    for (size_t i = 0; i < report->bin_count && good; i++)
        good = json_array_append_new(bins, describe_bin(&report->bins[i])) == 0;
    if (good)
        return bins;
    json_decref(bins);
    return NULL;
}

static json_t *describe_relations(const struct judge *judge) {
    json_t *out = json_object();
    bool good = true;
    for (size_t i = 0; i < judge->report.relation_count && good; i++) {
        if (judge->report.by_relation[i].queries == 0)
            continue;
        kg_name name = kg__names_get(&judge->dataset->relations, (kg_id)i);
        json_t *text = kg__json_text(name.bytes, name.length);
        good = text != NULL &&
               json_object_set_new(out, json_string_value(text),
                                   kg__metrics_json(&judge->report.by_relation[i])) == 0;
        json_decref(text);
    }
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

/* How in-sample entities were asked for; all zeroes for others, and for baselines that count. */
struct ways {
    size_t facts;
    size_t rows;
};

static struct ways count_ways(const struct judge *judge) {
    const kg_queries *questions = &judge->questions;
    struct ways out = {0};
    bool is_asked = !questions->unseen && judge->model.config != NULL;
    for (size_t i = 0; i < questions->count && is_asked; i++)
        if (kg__query_is_embedded(questions, &questions->list[i]))
            out.facts++;
        else
            out.rows++;
    return out;
}

static json_t *describe(const struct judge *judge) {
    struct ways ways = count_ways(judge);
    const kg_breakdown *report = &judge->report;
    json_t *out = kg__metrics_json(&report->all);
    json_t *sides = json_pack("{so so}", "head", kg__metrics_json(&report->by_side[KG_HEAD]),
                              "tail", kg__metrics_json(&report->by_side[KG_TAIL]));
    bool good = json_object_set_new(out, "by_side", sides) == 0 &&
                json_object_set_new(out, "by_relation", describe_relations(judge)) == 0;
    if (report->unseen)
        good = good && json_object_set_new(out, "bins", describe_bins(report)) == 0 &&
               json_object_set_new(out, "echo", kg__metrics_json(&report->echo)) == 0 &&
               json_object_set_new(out, "fresh", kg__metrics_json(&report->fresh)) == 0;
    if (report->unseen && judge->model.config != NULL)
        good = good && json_object_set_new(out, "left_out",
                                           json_pack("{sI sI}", "entities",
                                                     (json_int_t)judge->known.entities, "queries",
                                                     (json_int_t)judge->known.queries)) == 0;
    if (ways.facts + ways.rows > 0)
        good = good && json_object_set_new(out, "asked_by",
                                           json_pack("{sI sI}", "facts", (json_int_t)ways.facts,
                                                     "rows", (json_int_t)ways.rows)) == 0;
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

/* A group without queries has no mean. */
static void print_row(const char *label, const kg_metrics *m) {
    if (m->queries > 0)
        printf("%-24s %10s %8.4f %8.4f %8.4f %8.4f %10.1f\n", label,
               report_grouped(m->queries).text, m->mrr, m->hits[0], m->hits[1], m->hits[2], m->mr);
}

static void print_report(const struct judge *judge) {
    struct ways ways = count_ways(judge);
    const kg_breakdown *report = &judge->report;
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
    if (ways.facts > 0)
        printf("%s of %s asked by the entity's training facts, others by its row\n",
               report_grouped(ways.facts).text,
               report_counted(report->all.queries, "query", "queries").text);
    if (report->unseen)
        printf("echoes: another fact links the entity to the right answer; fresh: none does\n");
    if (judge->known.entities > 0)
        printf("left out: %s that the model knows, with %s\n",
               report_counted(judge->known.entities, "unseen entity", "unseen entities").text,
               report_counted(judge->known.queries, "query", "queries").text);
}

/* ---- The work ---- */

static bool is_counted(const struct settings *settings) {
    return settings->baseline != NULL && strcmp(settings->baseline, "oov") != 0;
}

bool cli_eval_needs_model(const void *settings) {
    return !is_counted(settings);
}

/* Options that would be ignored are a misunderstanding. */
static kg_status check_aggregate(const struct settings *settings, kg_error *error) {
    const char *given = cli_overrides_given(&settings->wish);
    if (settings->in_sample && settings->baseline != NULL && !is_counted(settings))
        return kg_fail(
            error, KG_BAD_INPUT,
            "--baseline oov: expected questions about unseen entities, found --in-sample");
    if (given != NULL && (settings->in_sample || settings->baseline != NULL))
        return kg_fail(error, KG_BAD_INPUT,
                       "%s: expected unseen entities that are embedded from their facts, found %s",
                       given, settings->in_sample ? "--in-sample" : "--baseline");
    return KG_OK;
}

static kg_status check(const struct settings *settings, kg_error *error) {
    KG_TRY(check_aggregate(settings, error));
    if (settings->bins == 0 || settings->bins > 1000)
        return kg_fail(error, KG_BAD_INPUT, "bins: expected 1 to 1000, found %ju",
                       (uintmax_t)settings->bins);
    if (settings->threads > 1024)
        return kg_fail(error, KG_BAD_INPUT, "threads: expected 1 to 1024, found %ju",
                       (uintmax_t)settings->threads);
    return KG_OK;
}

static double or_usual(double given, double usual) {
    return isnan(given) ? usual : given;
}

kg_status cli_eval_check(const void *payload, const kg_scoring *kind, const char *source,
                         const kg_dataset *dataset, kg_error *error) {
    const struct settings *settings = payload;
    kg_part part = KG_TRAIN;
    KG_TRY(check(settings, error));
    KG_TRY(choose_part(&part, settings, source, dataset, error));
    if (settings->wish.aggregate == NULL)
        return KG_OK;
    kg_aggregate_options aggregate =
        kg__aggregate_usual(kg__aggregator_find(settings->wish.aggregate));
    aggregate.ls_lambda = or_usual(settings->wish.ls_lambda, aggregate.ls_lambda);
    aggregate.ials_alpha = or_usual(settings->wish.ials_alpha, aggregate.ials_alpha);
    aggregate.ials_lambda = or_usual(settings->wish.ials_lambda, aggregate.ials_lambda);
    return kg__aggregate_check(&aggregate, kind, error);
}

static kg_status make_average(struct judge *judge, kg_error *error) {
    const kg_params *tables = &judge->aligned.params;
    size_t count = kg__dataset_in_sample(judge->dataset);
    judge->average = kg__alloc(tables->dim, sizeof *judge->average);
    if (judge->average == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        kg__add_scaled(judge->average, 1 / (real)count, kg__entity_row(tables, (kg_id)i),
                       tables->dim);
    return KG_OK;
}

static kg_status rank_by_model(struct judge *judge, const struct settings *settings,
                               const kg_progress *progress, kg_error *error) {
    kg_rank_options ranking = {
        .ties = (kg_ties)cli_choice(tie_rules, settings->ties),
        .threads = settings->threads == 0 ? kg__threads(0) : (int)settings->threads,
        .progress = progress,
    };
    KG_TRY(
        kg__aggregate_choose(&ranking.embedding.aggregate, &settings->wish, &judge->model, error));
    if (settings->baseline != NULL)
        KG_TRY(make_average(judge, error));
    ranking.embedding.average = judge->average;
    return kg__rank(judge->ranks, &judge->questions, &judge->aligned.params,
                    kg__dataset_in_sample(judge->dataset), &ranking, error);
}

/* What can be found wrong without the data set, which may take long to read. */
static kg_status open_judge(struct judge *judge, const cli_evaluation *evaluation,
                            kg_error *error) {
    KG_TRY(check(evaluation->settings, error));
    if (is_counted(evaluation->settings))
        return KG_OK;
    return kg__model_open(&judge->model, evaluation->model, error);
}

static kg_status rank(struct judge *judge, const cli_evaluation *evaluation, kg_error *error) {
    const struct settings *settings = evaluation->settings;
    kg_part part = KG_TRAIN;
    judge->dataset = evaluation->dataset;
    KG_TRY(choose_part(&part, settings, evaluation->source, judge->dataset, error));
    if (!is_counted(settings)) {
        KG_TRY(kg__model_check_unseen(&judge->model, evaluation->dataset, part, error));
        KG_TRY(kg__model_align(&judge->aligned, &judge->model, evaluation->dataset, error));
        judge->dataset = judge->aligned.dataset;
    }
    KG_TRY(kg__queries_make(&judge->questions, judge->dataset, part, error));
    if (!is_counted(settings))
        judge->known =
            kg__queries_drop_known(&judge->questions, judge->dataset, &judge->model.entities);
    if (settings->in_sample && !is_counted(settings) && kg__queries_by_facts(&judge->model))
        KG_TRY(kg__queries_give_facts(&judge->questions, judge->dataset, error));
    judge->ranks = kg__alloc(judge->questions.count, sizeof *judge->ranks);
    if (judge->ranks == NULL)
        return kg__fail_memory(error);
    if (is_counted(settings))
        KG_TRY(kg__baseline_rank(
            judge->ranks, (kg_baseline)cli_choice(baselines, settings->baseline), &judge->questions,
            judge->dataset, (kg_ties)cli_choice(tie_rules, settings->ties), error));
    else
        KG_TRY(rank_by_model(judge, settings, evaluation->progress, error));
    return kg__breakdown_make(&judge->report, &judge->questions, judge->ranks,
                              judge->dataset->in_sample_relations, settings->bins, error);
}

kg_status cli_eval_json(json_t **out, const cli_evaluation *evaluation, kg_error *error) {
    struct judge judge = {0};
    kg_status status = KG_OK;
    KG_CHECK(open_judge(&judge, evaluation, error));
    KG_CHECK(rank(&judge, evaluation, error));
    *out = describe(&judge);
    if (*out == NULL)
        status = kg__fail_memory(error);
done:
    close_judge(&judge);
    return status;
}

static kg_status show(const struct judge *judge, const struct settings *settings, kg_error *error) {
    if (settings->ranks != NULL)
        KG_TRY(write_ranks(settings->ranks, judge, error));
    if (settings->common.json)
        return cli_print_json(describe(judge), error);
    print_report(judge);
    return cli_flush(error);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_reader reader = {.options.folder_first = true, .progress = &context->progress};
    size_t wanted = is_counted(settings) ? 1 : 2;
    if (context->argument_count != wanted)
        return kg_fail(error, KG_BAD_INPUT, "expected %s, found %s",
                       wanted == 1 ? "DATASET alone for a baseline that counts facts"
                                   : "MODEL and DATASET",
                       report_counted(context->argument_count, "argument", "arguments").text);
    const char *const *source = context->arguments + wanted - 1;
    for (size_t i = 0; i < wanted; i++)
        KG_TRY(cli_check_apart("ranks", settings->ranks, context->arguments[i], error));
    kg_dataset dataset = {0};
    struct judge judge = {0};
    cli_evaluation evaluation = {settings, &dataset, *source, context->arguments[0],
                                 &context->progress};
    kg_status status = KG_OK;
    KG_CHECK(open_judge(&judge, &evaluation, error));
    if (settings->threads > 0)
        omp_set_num_threads((int)settings->threads);
    KG_CHECK(kg__dataset_open(&dataset, error));
    KG_CHECK(kg__source_read(&dataset, &reader, source, 1, error));
    KG_CHECK(rank(&judge, &evaluation, error));
    status = show(&judge, settings, error);
done:
    close_judge(&judge);
    kg__dataset_close(&dataset);
    return status;
}

static const struct settings defaults = {
    .split = "test", .wish = KG_NO_OVERRIDES, .ties = "realistic", .bins = 5};

const cli_command cli_eval = {
    .name = "eval",
    .usage = "[MODEL] DATASET",
    .summary = "rank the right answers to a data set's questions",
    .details = "Each fact of an unseen entity is asked for, the entity being embedded from its\n"
               "other facts; the answer is ranked among all seen entities but other known answers.",
    .min_arguments = 1,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
