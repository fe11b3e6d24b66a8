/* Samples of scores with their outcomes, and logistic regressions on them. */
#include "rank/calibrate.h"

#include <math.h>
#include <string.h>

#include "base/file_lock.h"
#include "base/memory.h"
#include "base/random.h"
#include "math/logistic_regression.h"
#include "model/match_ids.h"
#include "model/model_folder.h"
#include "rank/queries.h"
#include "rank/shared_top.h"

#define BEST 10     /* answers to a query that become samples */
#define OTHERS 3    /* further relations that an entity is queried with */
#define AT_ONCE 128 /* queries that are begun together */

/* Number of lists: some seconds of work, but enough for a regression per relation. */
#define MOST_LISTS 20000
#define FEWEST_LISTS 2000
#define SCORES 650000000.0

/* One of the best answers to a query. */
struct sample {
    kg_directed directed;
    kg_outcome outcome;
};

/* The state of a calibration. */
struct calibrator {
    const kg_calibrate_options *options;
    kg_params params; /* on the graph of the queries */
    kg_params moved;  /* the same, if that is a new graph */
    double *gram;     /* of the params, if the aggregator needs it */
    size_t directed_count;
    kg_queries queries;
    size_t left_out; /* unseen entities that the model knows */
    size_t used;     /* number of queries sampled */
    kg_query_embedder embedder;
    kg_row_list rows; /* that queries will read */
    kg_top top;

    /* A tile of lists; list i is about query origins[i]. */
    real *vectors;
    kg_search searches[KG_TILE];
    size_t origins[KG_TILE];
    kg_score_offsets offsets; /* those of list i are starts[i] up to starts[i + 1] */
    size_t starts[KG_TILE + 1];
    size_t count;
    kg_candidate *lists;

    struct sample *samples;
    size_t sample_count;
};

static void close_calibrator(struct calibrator *calibrator) {
    kg__queries_free(&calibrator->queries);
    kg__query_embedder_close(&calibrator->embedder);
    kg__params_close_moved(&calibrator->moved);
    kg__free(calibrator->gram);
    kg__top_close(&calibrator->top);
    kg__row_list_free(&calibrator->rows);
    kg__score_offsets_free(&calibrator->offsets);
    kg__free(calibrator->vectors);
    kg__free(calibrator->lists);
    kg__free(calibrator->samples);
    kg__free(calibrator);
}

static kg_status make_queries(struct calibrator *calibrator, const kg_dataset *dataset,
                              const kg_calibrate_options *options, kg_error *error) {
    kg_queries *queries = &calibrator->queries;
    KG_TRY(kg__queries_make(queries, dataset, kg__dataset_validation(dataset, true), error));
    if (!queries->unseen)
        KG_TRY(kg__queries_give_facts(queries, dataset, error));
    if (options->known != NULL)
        calibrator->left_out = kg__queries_drop_known(queries, dataset, options->known).entities;
    kg__queries_keep_embeddable(queries);
    return KG_OK;
}

static kg_status open_calibrator(struct calibrator *calibrator, const kg_params *params,
                                 const kg_dataset *dataset, const kg_calibrate_options *options,
                                 kg_error *error) {
    const kg_queries *queries = &calibrator->queries;
    kg_embedding embedding = {.aggregate = options->aggregate};
    if (queries->new_graph)
        KG_TRY(kg__params_on_graph(&calibrator->moved, params, &queries->given, error));
    calibrator->params = queries->new_graph ? calibrator->moved : *params;
    calibrator->directed_count = 2 * dataset->in_sample_relations;
    KG_TRY(kg__gram_make(&calibrator->gram, options->aggregate.aggregator, &calibrator->params,
                         queries->candidates, error));
    calibrator->params.gram = calibrator->gram;
    KG_TRY(kg__query_embedder_open(&calibrator->embedder, &calibrator->params, &embedding, error));
    KG_TRY(kg__top_open(&calibrator->top, &calibrator->params, queries->candidates,
                        options->threads, error));
    kg__top_share(&calibrator->top, options->ranks);
    calibrator->vectors =
        kg__resize(NULL, KG_TILE * calibrator->params.dim, sizeof *calibrator->vectors);
    calibrator->lists = kg__resize(NULL, (size_t)KG_TILE * BEST, sizeof *calibrator->lists);
    calibrator->samples = kg__resize(NULL, (size_t)MOST_LISTS * BEST, sizeof *calibrator->samples);
    if (calibrator->vectors == NULL || calibrator->lists == NULL || calibrator->samples == NULL)
        return kg__fail_memory(error);
    return KG_OK;
}

/* ---- Samples ---- */

/* A list with another relation represents all those that were not sampled. */
static double list_weight(const struct calibrator *calibrator, bool is_own) {
    size_t others = calibrator->directed_count - 1;
    return is_own || others <= OTHERS ? 1 : (double)others / OTHERS;
}

static void add_samples(struct calibrator *calibrator, size_t i, size_t found) {
    const kg_query *query = &calibrator->queries.list[calibrator->origins[i]];
    kg_directed directed = calibrator->searches[i].directed;
    bool is_own = directed == query->target.directed;
    for (size_t k = 0; k < found; k++) {
        kg_candidate candidate = calibrator->lists[i * BEST + k];
        if (isinf(candidate.score))
            continue;
        kg_outcome outcome = {.x = (double)candidate.score,
                              .weight = list_weight(calibrator, is_own),
                              .is_true = is_own && candidate.entity == query->target.other};
        calibrator->samples[calibrator->sample_count++] = (struct sample){directed, outcome};
    }
}

static kg_status find_best(struct calibrator *c, size_t *found, kg_error *error) {
    kg_ranks *ranks = c->options->ranks;
    if (kg__ranks_many(ranks))
        return kg__shared_top_find(&c->top, ranks, c->lists, found, c->vectors, c->searches,
                                   c->count, BEST, error);
    return kg__top_find(&c->top, c->lists, found, c->vectors, c->searches, c->count, BEST, error);
}

static kg_status search_tile(struct calibrator *calibrator, kg_error *error) {
    size_t found[KG_TILE];
    for (size_t i = 0; i < calibrator->count; i++) {
        calibrator->searches[i].offsets =
            (kg_offset_run){kg__score_offsets_from(&calibrator->offsets, calibrator->starts[i]),
                            calibrator->starts[i + 1] - calibrator->starts[i]};
    }
    KG_TRY(find_best(calibrator, found, error));
    for (size_t i = 0; i < calibrator->count; i++)
        add_samples(calibrator, i, found[i]);
    calibrator->count = 0;
    calibrator->offsets.count = 0;
    return KG_OK;
}

/* Adds a search to the tile. The queried fact counts as unknown, all others as known. */
static kg_status add_list(struct calibrator *calibrator, size_t position, kg_directed directed,
                          kg_error *error) {
    const kg_queries *queries = &calibrator->queries;
    const kg_query *query = &queries->list[position];
    const kg_link *links = kg__adjacency_links(&queries->adjacency, query->entity);
    size_t link_count = kg__adjacency_degree(&queries->adjacency, query->entity);
    kg_search *search = &calibrator->searches[calibrator->count];
    const real *z = NULL;
    KG_TRY(kg__query_embedder_embed(&calibrator->embedder, &z, queries, query, directed, error));
    kg__query_vector_adjoint(&calibrator->params,
                             calibrator->vectors + calibrator->count * calibrator->params.dim,
                             directed, z);
    *search = (kg_search){
        .directed = directed, .unfiltered = links + query->position, .itself = &query->entity};
    search->left_out = kg__links_run(links, link_count, directed, &search->left_out_count);
    calibrator->starts[calibrator->count] = calibrator->offsets.count;
    KG_TRY(kg__query_embedder_offsets(&calibrator->embedder, &calibrator->offsets, queries, query,
                                      error));
    calibrator->origins[calibrator->count++] = position;
    calibrator->starts[calibrator->count] = calibrator->offsets.count;
    return KG_OK;
}

/* A relation other than the query's own: the k-th of OTHERS, or of all if there are no more. */
static kg_directed draw(const struct calibrator *calibrator, size_t position, kg_directed own,
                        size_t k) {
    size_t others = calibrator->directed_count - 1;
    uint64_t place = others <= OTHERS ? k
                                      : kg__random_below(others, 0, KG_STREAM_CALIBRATE,
                                                         (uint64_t)position * OTHERS + k);
    return (kg_directed)place < own ? (kg_directed)place : (kg_directed)place + 1;
}

static kg_status add_lists(struct calibrator *calibrator, size_t position, kg_error *error) {
    const kg_query *query = &calibrator->queries.list[position];
    size_t others =
        calibrator->directed_count - 1 < OTHERS ? calibrator->directed_count - 1 : OTHERS;
    KG_TRY(add_list(calibrator, position, query->target.directed, error));
    for (size_t k = 0; k < others; k++)
        KG_TRY(add_list(calibrator, position, draw(calibrator, position, query->target.directed, k),
                        error));
    bool is_full =
        calibrator->count + OTHERS + 1 > KG_TILE || calibrator->offsets.count >= KG_ENOUGH_OFFSETS;
    return is_full ? search_tile(calibrator, error) : KG_OK;
}

/* Queries are sampled at equal distances: sample i is about this one. */
static size_t position_of(const struct calibrator *calibrator, size_t i) {
    return i * calibrator->queries.count / calibrator->used;
}

static kg_status list_rows(struct calibrator *calibrator, size_t from, size_t to, kg_error *error) {
    const kg_queries *queries = &calibrator->queries;
    for (size_t i = from; i < to; i++)
        KG_TRY(kg__row_list_add_query(&calibrator->rows, queries,
                                      &queries->list[position_of(calibrator, i)],
                                      &calibrator->params, error));
    return KG_OK;
}

/* Gets ready for samples `from` up to `to`; all ranks read the same rows. */
static kg_status begin_samples(struct calibrator *calibrator, size_t from, size_t to,
                               kg_error *error) {
    const kg_calibrate_options *options = calibrator->options;
    kg_progress_report done = {
        .stage = "calibrating", .unit = "queries", .done = from, .total = calibrator->used};
    kg_status status = kg__progress_tick(options->progress, &done, error);
    if (options->rows == NULL || calibrator->params.dim == 0)
        return kg__ranks_agree(options->ranks, status, error);
    if (status == KG_OK)
        status = list_rows(calibrator, from, to, error);
    return kg__row_list_fetch(&calibrator->rows, options->rows, options->ranks, status, error);
}

static kg_status sample_lists(struct calibrator *calibrator, kg_error *error) {
    double cost = (double)calibrator->top.blocks.candidates + kg__term_cost(&calibrator->params);
    double affordable = SCORES / cost;
    double lists = fmin(fmax(affordable, FEWEST_LISTS), MOST_LISTS);
    size_t wanted = (size_t)lists / (OTHERS + 1);
    size_t all = calibrator->queries.count;
    size_t count = all < wanted ? all : wanted;
    calibrator->used = count;
    for (size_t i = 0; i < count; i++) {
        if (i % AT_ONCE == 0)
            KG_TRY(begin_samples(calibrator, i, count - i < AT_ONCE ? count : i + AT_ONCE, error));
        KG_TRY(add_lists(calibrator, position_of(calibrator, i), error));
    }
    return calibrator->count == 0 ? KG_OK : search_tile(calibrator, error);
}

/* ---- Fitting ---- */

/* The standard deviation of the scores. */
static double deviation(const kg_outcome *outcomes, size_t count) {
    double sum = 0;
    double squares = 0;
    double weight = 0;
    for (size_t i = 0; i < count; i++) {
        weight += outcomes[i].weight;
        sum += outcomes[i].weight * outcomes[i].x;
        squares += outcomes[i].weight * outcomes[i].x * outcomes[i].x;
    }
    double variance = weight > 0 ? squares / weight - sum / weight * (sum / weight) : 0;
    return variance > 0 ? sqrt(variance) : 1;
}

/* Outcomes sorted by relation: those of d are `starts[d]` up to `starts[d + 1]`. */
static void group(kg_outcome *outcomes, size_t *starts, const struct calibrator *calibrator) {
    memset(starts, 0, (calibrator->directed_count + 2) * sizeof *starts);
    for (size_t i = 0; i < calibrator->sample_count; i++)
        starts[calibrator->samples[i].directed + 2]++;
    for (size_t d = 0; d < calibrator->directed_count; d++)
        starts[d + 2] += starts[d + 1];
    for (size_t i = 0; i < calibrator->sample_count; i++)
        outcomes[starts[calibrator->samples[i].directed + 1]++] = calibrator->samples[i].outcome;
}

static void fit(real *out, real all[2], const kg_outcome *outcomes, const size_t *starts,
                size_t directed_count) {
    size_t count = starts[directed_count];
    double unit = 1 / deviation(outcomes, count);
    kg_logistic_prior weak_prior = {
        .mean = {unit, -2}, .deviation = {10 * unit, 10}, .least_slope = unit / 100};
    kg_logistic common = kg__logistic_fit(outcomes, count, &weak_prior);
    kg_logistic_prior prior = {
        .mean = common, .deviation = {common.slope, 2}, .least_slope = common.slope / 20};
    all[0] = (real)common.slope;
    all[1] = (real)common.offset;
    for (size_t d = 0; d < directed_count; d++) {
        kg_logistic line =
            kg__logistic_fit(outcomes + starts[d], starts[d + 1] - starts[d], &prior);
        out[2 * d] = (real)line.slope;
        out[2 * d + 1] = (real)line.offset;
    }
}

static kg_status fit_all(real *out, real all[2], const struct calibrator *calibrator,
                         kg_error *error) {
    kg_outcome *outcomes = kg__resize(NULL, calibrator->sample_count, sizeof *outcomes);
    size_t *starts = kg__resize(NULL, calibrator->directed_count + 2, sizeof *starts);
    kg_status status = KG_OK;
    if (outcomes == NULL || starts == NULL) {
        status = kg__fail_memory(error);
    } else {
        group(outcomes, starts, calibrator);
        fit(out, all, outcomes, starts, calibrator->directed_count);
    }
    kg__free(outcomes);
    kg__free(starts);
    return status;
}

static json_t *describe(const struct calibrator *calibrator, const kg_dataset *dataset,
                        const kg_calibrate_options *options) {
    json_t *out = kg__aggregate_json(&options->aggregate);
    json_t *rest = json_pack(
        "{ss sI sI}", "part", kg__part_name(kg__dataset_validation(dataset, true)), "queries",
        (json_int_t)calibrator->used, "left_out", (json_int_t)calibrator->left_out);
    if (rest == NULL || json_object_update(out, rest) != 0) {
        json_decref(out);
        out = NULL;
    }
    json_decref(rest);
    return out;
}

static kg_status calibrate(kg_calibration *out, struct calibrator *calibrator,
                           const kg_params *params, const kg_dataset *dataset,
                           const kg_calibrate_options *options, kg_error *error) {
    KG_TRY(make_queries(calibrator, dataset, options, error));
    if (calibrator->queries.count == 0)
        return KG_OK;
    KG_TRY(open_calibrator(calibrator, params, dataset, options, error));
    KG_TRY(sample_lists(calibrator, error));
    out->lines = kg__resize(NULL, 2 * calibrator->directed_count, sizeof *out->lines);
    out->about = describe(calibrator, dataset, options);
    out->left_out = calibrator->left_out;
    if (out->lines == NULL || out->about == NULL)
        return kg__fail_memory(error);
    return fit_all(out->lines, out->all, calibrator, error);
}

kg_status kg__calibrate(kg_calibration *out, const kg_params *params, const kg_dataset *dataset,
                        const kg_calibrate_options *options, kg_error *error) {
    *out = (kg_calibration){0};
    struct calibrator *calibrator = kg__alloc(1, sizeof *calibrator);
    if (calibrator == NULL)
        return kg__fail_memory(error);
    calibrator->options = options;
    kg_status status = calibrate(out, calibrator, params, dataset, options, error);
    close_calibrator(calibrator);
    if (status != KG_OK)
        kg__calibration_free(out);
    return status;
}

void kg__calibration_free(kg_calibration *calibration) {
    kg__free(calibration->lines);
    json_decref(calibration->about);
    *calibration = (kg_calibration){0};
}

real *kg__calibration_reorder(const kg_names *relations, size_t count, const kg_calibration *from,
                              const kg_dataset *dataset) {
    real *out = kg__resize(NULL, 4 * count, sizeof *out);
    for (kg_id id = 0; id < count && out != NULL; id++) {
        kg_name name = kg__names_get(relations, id);
        kg_id found = kg__names_find(&dataset->relations, kg__name_of(name.bytes, name.length));
        bool is_there = found < dataset->in_sample_relations;
        for (size_t end = 0; end < 2; end++)
            memcpy(out + 2 * (2 * (size_t)id + end),
                   is_there ? from->lines + 2 * (2 * (size_t)found + end) : from->all,
                   2 * sizeof *out);
    }
    return out;
}

/* ---- Models on disk ---- */

static kg_status write(const char *path, const kg_calibration *calibration, const kg_model *model,
                       const kg_dataset *dataset, kg_error *error) {
    real *ordered =
        kg__calibration_reorder(&model->relations, model->relations.count, calibration, dataset);
    if (ordered == NULL)
        return kg__fail_memory(error);
    kg_status status = kg__model_write_calibration(path, ordered, model->relations.count,
                                                   calibration->about, error);
    kg__free(ordered);
    return status;
}

static kg_status check_made(const kg_calibration *calibration, const kg_dataset *dataset,
                            kg_part part, kg_error *error) {
    if (calibration->lines != NULL)
        return KG_OK;
    if (dataset->parts[part].count == 0)
        return kg_fail(
            error, KG_BAD_INPUT,
            "expected a data set with validation facts (valid.tsv or valid.txt beside the "
            "training facts, unseen-valid.tsv or graph-valid.tsv), found none (kgraft train "
            "calibrates "
            "its models by itself)");
    return kg_fail(error, KG_BAD_INPUT,
                   "expected entities in %s with other facts to be embedded from, found none",
                   kg__part_name(part));
}

kg_status kg__calibrate_model(const char *path, size_t *left_out, const kg_dataset *dataset,
                              const kg_aggregate_overrides *overrides, size_t threads,
                              const kg_progress *progress, kg_error *error) {
    kg_model model = {0};
    kg_aligned aligned = {0};
    kg_calibration calibration = {0};
    kg_part part = kg__dataset_validation(dataset, true);
    kg_calibrate_options options = {
        .known = &model.entities, .threads = threads, .progress = progress};
    int lock = -1;
    kg_status status = KG_OK;
    KG_CHECK(kg__lock(&lock, path, error));
    KG_CHECK(kg__model_open(&model, path, error));
    KG_CHECK(kg__aggregate_choose(&options.aggregate, overrides, &model, error));
    KG_CHECK(kg__model_check_unseen(&model, dataset, part, error));
    KG_CHECK(kg__model_align(&aligned, &model, dataset, part, error));
    KG_CHECK(kg__calibrate(&calibration, &aligned.params, aligned.dataset, &options, error));
    KG_CHECK(check_made(&calibration, dataset, part, error));
    KG_CHECK(write(path, &calibration, &model, aligned.dataset, error));
    *left_out = calibration.left_out;
done:
    kg__calibration_free(&calibration);
    kg__aligned_free(&aligned);
    kg__model_close(&model);
    kg__unlock(lock);
    return status;
}
