/* Gathering outcomes, and fitting lines to them. */
#include "rank/calibrate.h"

#include <math.h>
#include <string.h>

#include "base/lock.h"
#include "base/memory.h"
#include "base/random.h"
#include "math/logistic.h"
#include "model/model_folder.h"
#include "rank/queries.h"
#include "rank/top.h"

#define BEST 10  /* answers to a question that are looked at */
#define OTHERS 3 /* relations that an entity is asked about beside that of the fact */

/* Lists that are made: some seconds of work, but enough for a line for each relation. */
#define MOST_LISTS 20000
#define FEWEST_LISTS 2000
#define SCORES 650000000.0

/* One of the best answers to a question. */
struct sample {
    kg_directed directed;
    kg_outcome outcome;
};

/* All that a calibration works with. */
struct bench {
    kg_params params;
    double *gram; /* what they borrow, if the aggregator wants it */
    size_t directed_count;
    kg_queries questions;
    size_t left_out; /* unseen entities that are known */
    size_t asked;    /* of the questions */
    kg_query_embedder asker;
    kg_top top;

    /* A tile of lists; list i is about question origins[i]. */
    real *vectors;
    kg_search searches[KG_TILE];
    size_t origins[KG_TILE];
    kg_score_offsets bonuses; /* those of list i are starts[i] up to starts[i + 1] */
    size_t starts[KG_TILE + 1];
    size_t count;
    kg_candidate *lists;

    struct sample *samples;
    size_t sample_count;
};

static void close_bench(struct bench *bench) {
    kg__queries_free(&bench->questions);
    kg__query_embedder_close(&bench->asker);
    kg__free(bench->gram);
    kg__top_close(&bench->top);
    kg__score_offsets_free(&bench->bonuses);
    kg__free(bench->vectors);
    kg__free(bench->lists);
    kg__free(bench->samples);
    kg__free(bench);
}

static kg_part part_of(const kg_dataset *dataset) {
    return dataset->parts[KG_UNSEEN_VALID].count > 0 ? KG_UNSEEN_VALID : KG_VALID;
}

bool kg__can_calibrate(const kg_dataset *dataset) {
    return dataset->parts[part_of(dataset)].count > 0;
}

static kg_status make_questions(struct bench *bench, const kg_dataset *dataset,
                                const kg_calibrate_options *options, kg_error *error) {
    kg_queries *questions = &bench->questions;
    KG_TRY(kg__queries_make(questions, dataset, part_of(dataset), error));
    if (!questions->unseen)
        KG_TRY(kg__queries_give_facts(questions, dataset, error));
    if (options->known != NULL)
        bench->left_out = kg__queries_drop_known(questions, dataset, options->known).entities;
    kg__queries_like_new(questions);
    return KG_OK;
}

static kg_status open_bench(struct bench *bench, const kg_params *params, const kg_dataset *dataset,
                            const kg_calibrate_options *options, kg_error *error) {
    size_t candidates = kg__dataset_in_sample(dataset);
    kg_embedding embedding = {.aggregate = options->aggregate};
    bench->params = *params;
    bench->directed_count = 2 * dataset->in_sample_relations;
    KG_TRY(kg__gram_make(&bench->gram, options->aggregate.aggregator, params, candidates, error));
    bench->params.gram = bench->gram;
    KG_TRY(kg__query_embedder_open(&bench->asker, &bench->params, &embedding, error));
    KG_TRY(kg__top_open(&bench->top, params, candidates, options->threads, error));
    bench->vectors = kg__resize(NULL, KG_TILE * params->dim, sizeof *bench->vectors);
    bench->lists = kg__resize(NULL, (size_t)KG_TILE * BEST, sizeof *bench->lists);
    bench->samples = kg__resize(NULL, (size_t)MOST_LISTS * BEST, sizeof *bench->samples);
    if (bench->vectors == NULL || bench->lists == NULL || bench->samples == NULL)
        return kg__fail_memory(error);
    return KG_OK;
}

/* ---- Gathering ---- */

/* A list about another relation stands for all those that were not asked about. */
static double weigh(const struct bench *bench, bool is_asked) {
    size_t others = bench->directed_count - 1;
    return is_asked || others <= OTHERS ? 1 : (double)others / OTHERS;
}

static void take_list(struct bench *bench, size_t i, size_t found) {
    const kg_query *question = &bench->questions.list[bench->origins[i]];
    kg_directed directed = bench->searches[i].directed;
    bool is_asked = directed == question->asked.directed;
    for (size_t k = 0; k < found; k++) {
        kg_candidate candidate = bench->lists[i * BEST + k];
        if (isinf(candidate.score))
            continue;
        kg_outcome outcome = {.x = (double)candidate.score,
                              .weight = weigh(bench, is_asked),
                              .is_true = is_asked && candidate.entity == question->asked.other};
        bench->samples[bench->sample_count++] = (struct sample){directed, outcome};
    }
}

static kg_status answer_tile(struct bench *bench, kg_error *error) {
    size_t found[KG_TILE];
    for (size_t i = 0; i < bench->count; i++) {
        bench->searches[i].bonuses = kg__score_offsets_from(&bench->bonuses, bench->starts[i]);
        bench->searches[i].bonus_count = bench->starts[i + 1] - bench->starts[i];
    }
    KG_TRY(kg__top_find(&bench->top, bench->lists, found, bench->vectors, bench->searches,
                        bench->count, BEST, error));
    for (size_t i = 0; i < bench->count; i++)
        take_list(bench, i, found[i]);
    bench->count = 0;
    bench->bonuses.count = 0;
    return KG_OK;
}

/* The fact that is asked for is not known, all others are. */
static kg_status ask(struct bench *bench, size_t position, kg_directed directed, kg_error *error) {
    const kg_queries *questions = &bench->questions;
    const kg_query *question = &questions->list[position];
    const kg_link *links = kg__adjacency_links(&questions->adjacency, question->entity);
    size_t link_count = kg__adjacency_degree(&questions->adjacency, question->entity);
    kg_search *search = &bench->searches[bench->count];
    const real *z = NULL;
    KG_TRY(kg__query_embedder_embed(&bench->asker, &z, questions, question, directed, error));
    kg__query_vector_adjoint(&bench->params, bench->vectors + bench->count * bench->params.dim,
                             directed, z);
    *search = (kg_search){
        .directed = directed, .forgotten = links + question->position, .itself = &question->entity};
    search->left_out = kg__links_run(links, link_count, directed, &search->left_out_count);
    bench->starts[bench->count] = bench->bonuses.count;
    KG_TRY(kg__query_embedder_bonuses(&bench->asker, &bench->bonuses, questions, question, error));
    bench->origins[bench->count++] = position;
    bench->starts[bench->count] = bench->bonuses.count;
    return KG_OK;
}

/* Another relation than the asked one: the k-th of OTHERS, or of all if there are no more. */
static kg_directed draw(const struct bench *bench, size_t position, kg_directed asked, size_t k) {
    size_t others = bench->directed_count - 1;
    uint64_t place = others <= OTHERS ? k
                                      : kg__random_below(others, 0, KG_STREAM_CALIBRATE,
                                                         (uint64_t)position * OTHERS + k);
    return (kg_directed)place < asked ? (kg_directed)place : (kg_directed)place + 1;
}

static kg_status ask_about(struct bench *bench, size_t position, kg_error *error) {
    const kg_query *question = &bench->questions.list[position];
    size_t others = bench->directed_count - 1 < OTHERS ? bench->directed_count - 1 : OTHERS;
    KG_TRY(ask(bench, position, question->asked.directed, error));
    for (size_t k = 0; k < others; k++)
        KG_TRY(ask(bench, position, draw(bench, position, question->asked.directed, k), error));
    return bench->count + OTHERS + 1 > KG_TILE ? answer_tile(bench, error) : KG_OK;
}

/* Questions are taken at even distances. */
static kg_status gather(struct bench *bench, const kg_progress *progress, kg_error *error) {
    double affordable = SCORES / (double)bench->top.blocks.candidates;
    double lists = fmin(fmax(affordable, FEWEST_LISTS), MOST_LISTS);
    size_t wanted = (size_t)lists / (OTHERS + 1);
    size_t all = bench->questions.count;
    size_t count = all < wanted ? all : wanted;
    bench->asked = count;
    for (size_t i = 0; i < count; i++) {
        kg_progress_report done = {
            .stage = "calibrating", .unit = "queries", .done = i, .total = count};
        if (i % KG_TILE == 0)
            KG_TRY(kg__progress_tick(progress, &done, error));
        KG_TRY(ask_about(bench, i * all / count, error));
    }
    return bench->count == 0 ? KG_OK : answer_tile(bench, error);
}

/* ---- Fitting ---- */

/* How far scores lie apart. */
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

/* Outcomes in order of their relation: those of one are `starts[d]` up to `starts[d + 1]`. */
static void group(kg_outcome *outcomes, size_t *starts, const struct bench *bench) {
    memset(starts, 0, (bench->directed_count + 2) * sizeof *starts);
    for (size_t i = 0; i < bench->sample_count; i++)
        starts[bench->samples[i].directed + 2]++;
    for (size_t d = 0; d < bench->directed_count; d++)
        starts[d + 2] += starts[d + 1];
    for (size_t i = 0; i < bench->sample_count; i++)
        outcomes[starts[bench->samples[i].directed + 1]++] = bench->samples[i].outcome;
}

static void fit(real *out, real all[2], const kg_outcome *outcomes, const size_t *starts,
                size_t directed_count) {
    size_t count = starts[directed_count];
    double unit = 1 / deviation(outcomes, count);
    kg_logistic_prior open_mind = {
        .mean = {unit, -2}, .deviation = {10 * unit, 10}, .least_slope = unit / 100};
    kg_logistic common = kg__logistic_fit(outcomes, count, &open_mind);
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

static kg_status fit_all(real *out, real all[2], const struct bench *bench, kg_error *error) {
    kg_outcome *outcomes = kg__resize(NULL, bench->sample_count, sizeof *outcomes);
    size_t *starts = kg__resize(NULL, bench->directed_count + 2, sizeof *starts);
    kg_status status = KG_OK;
    if (outcomes == NULL || starts == NULL) {
        status = kg__fail_memory(error);
    } else {
        group(outcomes, starts, bench);
        fit(out, all, outcomes, starts, bench->directed_count);
    }
    kg__free(outcomes);
    kg__free(starts);
    return status;
}

static json_t *describe(const struct bench *bench, const kg_dataset *dataset,
                        const kg_calibrate_options *options) {
    json_t *out = kg__aggregate_json(&options->aggregate);
    json_t *rest = json_pack("{ss sI sI}", "part", kg__part_name(part_of(dataset)), "queries",
                             (json_int_t)bench->asked, "left_out", (json_int_t)bench->left_out);
    if (rest == NULL || json_object_update(out, rest) != 0) {
        json_decref(out);
        out = NULL;
    }
    json_decref(rest);
    return out;
}

static kg_status calibrate(kg_calibration *out, struct bench *bench, const kg_params *params,
                           const kg_dataset *dataset, const kg_calibrate_options *options,
                           kg_error *error) {
    KG_TRY(make_questions(bench, dataset, options, error));
    if (bench->questions.count == 0)
        return KG_OK;
    KG_TRY(open_bench(bench, params, dataset, options, error));
    KG_TRY(gather(bench, options->progress, error));
    out->lines = kg__resize(NULL, 2 * bench->directed_count, sizeof *out->lines);
    out->about = describe(bench, dataset, options);
    out->left_out = bench->left_out;
    if (out->lines == NULL || out->about == NULL)
        return kg__fail_memory(error);
    return fit_all(out->lines, out->all, bench, error);
}

kg_status kg__calibrate(kg_calibration *out, const kg_params *params, const kg_dataset *dataset,
                        const kg_calibrate_options *options, kg_error *error) {
    *out = (kg_calibration){0};
    struct bench *bench = kg__alloc(1, sizeof *bench);
    if (bench == NULL)
        return kg__fail_memory(error);
    kg_status status = calibrate(out, bench, params, dataset, options, error);
    close_bench(bench);
    if (status != KG_OK)
        kg__calibration_free(out);
    return status;
}

void kg__calibration_free(kg_calibration *calibration) {
    kg__free(calibration->lines);
    json_decref(calibration->about);
    *calibration = (kg_calibration){0};
}

void kg__calibration_reorder(real *out, const kg_names *relations, size_t count,
                             const kg_calibration *from, const kg_dataset *dataset) {
    for (kg_id id = 0; id < count; id++) {
        kg_name name = kg__names_get(relations, id);
        kg_id found = kg__names_find(&dataset->relations, kg__name_of(name.bytes, name.length));
        bool is_there = found < dataset->in_sample_relations;
        for (size_t end = 0; end < 2; end++)
            memcpy(out + 2 * (2 * (size_t)id + end),
                   is_there ? from->lines + 2 * (2 * (size_t)found + end) : from->all,
                   2 * sizeof *out);
    }
}

/* ---- Models on disk ---- */

static kg_status write(const char *path, const kg_calibration *calibration, const kg_model *model,
                       const kg_dataset *dataset, kg_error *error) {
    real *ordered = kg__resize(NULL, 4 * model->relations.count, sizeof *ordered);
    if (ordered == NULL)
        return kg__fail_memory(error);
    kg__calibration_reorder(ordered, &model->relations, model->relations.count, calibration,
                            dataset);
    kg_status status = kg__model_write_calibration(path, ordered, model->relations.count,
                                                   calibration->about, error);
    kg__free(ordered);
    return status;
}

static kg_status check_made(const kg_calibration *calibration, const kg_dataset *dataset,
                            kg_error *error) {
    if (calibration->lines != NULL)
        return KG_OK;
    if (!kg__can_calibrate(dataset))
        return kg_fail(
            error, KG_BAD_INPUT,
            "expected a data set with validation facts (valid.tsv or valid.txt beside the "
            "training facts, or unseen-valid.tsv), found none (kgraft train calibrates "
            "its models by itself)");
    return kg_fail(error, KG_BAD_INPUT,
                   "expected entities in %s with other facts to be embedded from, found none",
                   kg__part_name(part_of(dataset)));
}

kg_status kg__calibrate_model(const char *path, size_t *left_out, const kg_dataset *dataset,
                              const kg_aggregate_overrides *wish, size_t threads,
                              const kg_progress *progress, kg_error *error) {
    kg_model model = {0};
    kg_aligned aligned = {0};
    kg_calibration calibration = {0};
    kg_calibrate_options options = {
        .known = &model.entities, .threads = threads, .progress = progress};
    int lock = -1;
    kg_status status = KG_OK;
    KG_CHECK(kg__lock(&lock, path, error));
    KG_CHECK(kg__model_open(&model, path, error));
    KG_CHECK(kg__aggregate_choose(&options.aggregate, wish, &model, error));
    KG_CHECK(kg__model_check_unseen(&model, dataset, part_of(dataset), error));
    KG_CHECK(kg__model_align(&aligned, &model, dataset, error));
    KG_CHECK(kg__calibrate(&calibration, &aligned.params, aligned.dataset, &options, error));
    KG_CHECK(check_made(&calibration, dataset, error));
    KG_CHECK(write(path, &calibration, &model, aligned.dataset, error));
    *left_out = calibration.left_out;
done:
    kg__calibration_free(&calibration);
    kg__aligned_free(&aligned);
    kg__model_close(&model);
    kg__unlock(lock);
    return status;
}
