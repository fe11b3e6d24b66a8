/* Evaluation: ranks of all answers, their metrics, and these as JSON. */
#include "experiment/evaluation.h"

#include <string.h>

#include "base/memory.h"
#include "base/thread_count.h"
#include "math/vector.h"
#include "rank/baselines.h"
#include "rank/rank.h"

const char *const experiment_baseline_names[] = {
    [KG_POPULARITY] = "popularity",
    [KG_RELATION_POPULARITY] = "relation-popularity",
    [KG_ECHO] = "echo",
    "oov",
    NULL,
};

bool experiment_eval_needs_model(const experiment_eval_options *options) {
    return options->baseline == NULL || strcmp(options->baseline, "oov") == 0;
}

/* ---- Checks ---- */

/* Entities of a new graph have no vectors. */
static kg_status check_new_graph(const experiment_eval_options *options, kg_error *error) {
    bool is_oov = options->baseline != NULL && experiment_eval_needs_model(options);
    if (options->live)
        return kg_fail(error, KG_BAD_INPUT,
                       "`live`: expected queries about unseen entities, found a new graph");
    if (!is_oov && options->overrides.aggregate == NULL)
        return KG_OK;
    return kg_fail(
        error, KG_BAD_INPUT,
        "`%s`: expected queries about unseen entities, found a new graph, whose entities "
        "have no embeddings",
        is_oov ? "baseline" : "aggregate");
}

static kg_status choose_part(kg_part *out, const experiment_eval_options *options,
                             const char *source, const kg_dataset *dataset, kg_error *error) {
    *out = kg__dataset_evaluated(dataset, options->in_sample, options->valid);
    if (dataset->parts[*out].count > 0)
        return *out < KG_GRAPH ? KG_OK : check_new_graph(options, error);
    kg_part other = kg__dataset_evaluated(dataset, !options->in_sample, options->valid);
    const char *hint = " (kgraft split makes a benchmark of a graph, with parts to train on and to "
                       "evaluate on)";
    if (dataset->parts[other].count > 0)
        hint = options->in_sample ? " (try without --in-sample)" : " (try --in-sample)";
    return kg_fail_at(error, source, 0, 0, "expected a data set with facts in %s, found none%s",
                      kg__part_name(*out), hint);
}

static kg_status check(const experiment_eval_options *options, kg_error *error) {
    if (options->live && (options->in_sample || options->baseline != NULL))
        return kg_fail(error, KG_BAD_INPUT,
                       "`live`: expected a model and queries about unseen entities, found `%s`",
                       options->in_sample ? "in_sample" : "baseline");
    if (options->bins == 0 || options->bins > 1000)
        return kg_fail(error, KG_BAD_INPUT, "`bins`: expected 1 to 1000, found %ju",
                       (uintmax_t)options->bins);
    if (options->threads > 1024)
        return kg_fail(error, KG_BAD_INPUT, "`threads`: expected 1 to 1024, found %ju",
                       (uintmax_t)options->threads);
    return KG_OK;
}

kg_status experiment_eval_check(const experiment_eval_options *options, const kg_scoring *scoring,
                                const char *source, const kg_dataset *dataset, kg_error *error) {
    const kg_aggregate_overrides *given = &options->overrides;
    kg_part part = KG_TRAIN;
    KG_TRY(check(options, error));
    KG_TRY(choose_part(&part, options, source, dataset, error));
    if (given->aggregate == NULL)
        return KG_OK;
    kg_aggregate_options aggregate;
    KG_TRY(kg__aggregate_override(&aggregate, given, NULL, error));
    return kg__aggregate_check(&aggregate, scoring, error);
}

/* ---- Ranks ---- */

kg_status experiment_evaluation_open(experiment_evaluation *out,
                                     const experiment_eval_options *options, const char *model,
                                     kg_error *error) {
    *out = (experiment_evaluation){.options = *options};
    KG_TRY(check(options, error));
    return experiment_eval_needs_model(options) ? kg__model_open(&out->model, model, error) : KG_OK;
}

void experiment_evaluation_close(experiment_evaluation *e) {
    experiment_live_close(&e->live);
    kg__breakdown_free(&e->breakdown);
    kg__group_metrics_free(&e->groups);
    kg__free(e->ranks);
    kg__free(e->mean);
    kg__queries_free(&e->queries);
    kg__aligned_free(&e->aligned);
    kg__model_close(&e->model);
}

static kg_status make_mean(experiment_evaluation *e, kg_error *error) {
    const kg_params *params = &e->aligned.params;
    size_t count = kg__dataset_in_sample(e->dataset);
    e->mean = kg__alloc(params->dim, sizeof *e->mean);
    if (e->mean == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        kg__add_scaled(e->mean, 1 / (real)count, kg__entity_row(params, (kg_id)i), params->dim);
    return KG_OK;
}

static kg_status rank_by_model(experiment_evaluation *e, const kg_progress *progress,
                               kg_error *error) {
    kg_rank_options ranking = {
        .ties = e->options.ties,
        .threads = e->options.threads == 0 ? kg__threads(0) : (int)e->options.threads,
        .ranks = e->options.ranks,
        .progress = progress,
    };
    KG_TRY(kg__aggregate_choose(&ranking.embedding.aggregate, &e->options.overrides, &e->model,
                                error));
    if (e->options.baseline != NULL)
        KG_TRY(make_mean(e, error));
    ranking.embedding.average = e->mean;
    KG_TRY(kg__rank(e->ranks, &e->queries, &e->aligned.params, &ranking, error));
    if (!e->options.live)
        return KG_OK;
    ranking.stage = "ranking, all added";
    return experiment_live_run(&e->live, &e->model, e->dataset, e->part, &ranking, error);
}

static kg_status rank_by_counts(experiment_evaluation *e, kg_error *error) {
    kg_baseline baseline = KG_POPULARITY;
    while (strcmp(e->options.baseline, experiment_baseline_names[baseline]) != 0)
        baseline++;
    return kg__baseline_rank(e->ranks, baseline, &e->queries, e->dataset, e->options.ties, error);
}

/* The queries of the part, in ids of the model. */
static kg_status make_queries(experiment_evaluation *e, bool needs_model, kg_error *error) {
    KG_TRY(choose_part(&e->part, &e->options, e->source, e->dataset, error));
    if (needs_model) {
        KG_TRY(kg__model_check_unseen(&e->model, e->dataset, e->part, error));
        KG_TRY(kg__model_align(&e->aligned, &e->model, e->dataset, e->part, error));
        e->dataset = e->aligned.dataset;
    }
    KG_TRY(kg__queries_make(&e->queries, e->dataset, e->part, error));
    if (needs_model)
        e->known = kg__queries_drop_known(&e->queries, e->dataset, &e->model.entities);
    if (needs_model && e->options.in_sample && kg__queries_by_facts(&e->model))
        KG_TRY(kg__queries_give_facts(&e->queries, e->dataset, error));
    return KG_OK;
}

kg_status experiment_evaluation_run(experiment_evaluation *e, const kg_dataset *dataset,
                                    const char *source, const kg_progress *progress,
                                    kg_error *error) {
    bool needs_model = experiment_eval_needs_model(&e->options);
    e->dataset = dataset;
    e->source = source;
    KG_TRY(make_queries(e, needs_model, error));
    e->ranks = kg__alloc(e->queries.count, sizeof *e->ranks);
    if (e->ranks == NULL)
        return kg__fail_memory(error);
    KG_TRY(needs_model ? rank_by_model(e, progress, error) : rank_by_counts(e, error));
    KG_TRY(kg__group_metrics_make(&e->groups, &e->queries, e->ranks, e->dataset, e->part, error));
    return kg__breakdown_make(&e->breakdown, &e->queries, e->ranks, e->dataset->in_sample_relations,
                              e->options.bins, error);
}

/* ---- JSON; NULL if memory is short, never an incomplete result ---- */

experiment_embedded_by experiment_evaluation_embedded_by(const experiment_evaluation *e) {
    experiment_embedded_by out = {0};
    bool counts = !e->queries.unseen && experiment_eval_needs_model(&e->options);
    for (size_t i = 0; i < e->queries.count && counts; i++)
        if (kg__query_is_embedded(&e->queries, &e->queries.list[i], &e->aligned.params))
            out.facts++;
        else
            out.rows++;
    return out;
}

static json_t *describe_bin(const kg_bin *bin) {
    json_t *out = kg__metrics_json(&bin->metrics);
    json_t *facts = json_pack("[II]", (json_int_t)bin->fewest, (json_int_t)bin->most);
    if (json_object_set_new(out, "facts", facts) == 0)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *describe_bins(const kg_breakdown *breakdown) {
    json_t *bins = json_array();
    bool good = true;
    for (size_t i = 0; i < breakdown->bin_count && good; i++)
        good = json_array_append_new(bins, describe_bin(&breakdown->bins[i])) == 0;
    if (good)
        return bins;
    json_decref(bins);
    return NULL;
}

static json_t *describe_relations(const experiment_evaluation *e) {
    json_t *out = json_object();
    bool good = true;
    for (size_t i = 0; i < e->breakdown.relation_count && good; i++) {
        if (e->breakdown.by_relation[i].queries == 0)
            continue;
        kg_name name = kg__names_get(&e->dataset->relations, (kg_id)i);
        json_t *text = kg__json_text(name.bytes, name.length);
        good = text != NULL &&
               json_object_set_new(out, json_string_value(text),
                                   kg__metrics_json(&e->breakdown.by_relation[i])) == 0;
        json_decref(text);
    }
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

/* A pair of counts. */
static json_t *pack_counts(const char *first, uint64_t a, const char *second, uint64_t b) {
    return json_pack("{sI sI}", first, (json_int_t)a, second, (json_int_t)b);
}

json_t *experiment_evaluation_json(const experiment_evaluation *e) {
    experiment_embedded_by by = experiment_evaluation_embedded_by(e);
    const kg_breakdown *breakdown = &e->breakdown;
    json_t *out = kg__metrics_json(&breakdown->all);
    json_t *sides = json_pack("{so so}", "head", kg__metrics_json(&breakdown->by_side[KG_HEAD]),
                              "tail", kg__metrics_json(&breakdown->by_side[KG_TAIL]));
    bool good = json_object_set_new(out, "by_side", sides) == 0 &&
                json_object_set_new(out, "by_relation", describe_relations(e)) == 0;
    if (breakdown->unseen)
        good = good && json_object_set_new(out, "bins", describe_bins(breakdown)) == 0 &&
               json_object_set_new(out, "echo", kg__metrics_json(&breakdown->echo)) == 0 &&
               json_object_set_new(out, "fresh", kg__metrics_json(&breakdown->fresh)) == 0;
    if (breakdown->unseen && experiment_eval_needs_model(&e->options))
        good = good && json_object_set_new(out, "left_out",
                                           pack_counts("entities", e->known.entities, "queries",
                                                       e->known.queries)) == 0;
    if (e->groups.count > 0)
        good = good && json_object_set_new(out, "groups", kg__group_metrics_json(&e->groups)) == 0;
    if (e->options.live)
        good = good && json_object_set_new(out, "live", experiment_live_json(&e->live)) == 0;
    if (by.facts + by.rows > 0)
        good = good && json_object_set_new(out, "asked_by",
                                           pack_counts("facts", by.facts, "rows", by.rows)) == 0;
    if (good)
        return out;
    json_decref(out);
    return NULL;
}
