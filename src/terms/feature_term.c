/* The features term: what counts over the graph add to a candidate's score. For each query, some
 * candidates have features of their own (features/extractor.h), and all have a degree prior
 * (features/degree_prior.h); the queried relation's row of weights says what each adds. */
#include "terms/feature_term.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "math/vector.h"
#include "model/model.h"
#include "terms/features/features_file.h"
#include "terms/query_block.h"

#define TENSOR "evidence"

const kg_term_view *kg__feature_view(const kg_params *params) {
    const kg_term_view *view = &params->terms[kg__term_number(&kg__term_features)];
    return view->counted == NULL ? NULL : view;
}

const kg_degree_prior *kg__feature_view_prior(const kg_term_view *view) {
    const kg_features *features = view == NULL ? NULL : kg__feature_view_counted(view);
    bool has_prior = features != NULL && kg__feature_set_has(features->enabled, KG_DEGREE_PRIOR);
    return has_prior ? &features->degree_prior : NULL;
}

/* ---- What it counts and learns ---- */

#define START 0.1 /* the weight of a feature in the beginning */

/* Candidates whose features are kept: a gigabyte. */
#define MOST_KEPT ((size_t)1 << 26)

static kg_feature_counts *allocate(kg_term_view *out, kg_feature_set enabled) {
    kg_feature_counts *counts = out->counted = kg__alloc(1, sizeof *counts);
    for (kg_feature k = 0; k < KG_FEATURE_COUNT && counts != NULL; k++)
        counts->start[k] = (real)(kg__feature_set_has(enabled, k) ? START : 0);
    return counts;
}

static kg_status count(kg_term_view *out, const kg_term_source *source, kg_error *error) {
    if (source->features == 0)
        return KG_OK;
    kg_feature_counts *counts = allocate(out, source->features);
    if (counts == NULL)
        return kg__fail_memory(error);
    KG_TRY(kg__features_count(&counts->features, source->graph, source->directed_count,
                              source->features, source->threads, source->progress, error));
    return kg__feature_cache_open(&counts->cache, &counts->features, source->block_count, MOST_KEPT,
                                  error);
}

static size_t params(kg_term_param *out, const kg_term_view *view) {
    const kg_feature_counts *counts = view->counted;
    out[0] = (kg_term_param){.name = TENSOR,
                             .rows = counts->features.rules.directed_count,
                             .columns = KG_FEATURE_COUNT,
                             .start = counts->start};
    return 1;
}

static void close(kg_term_view *view) {
    kg_feature_counts *counts = view->counted;
    kg__feature_cache_close(&counts->cache);
    kg__features_close(&counts->features);
    kg__free(counts);
}

/* ---- Files ---- */

static kg_status write(kg_output *output, const kg_term_view *view, kg_error *error) {
    const kg_features *features = kg__feature_view_counted(view);
    KG_TRY(kg__features_write(output, &features->rules, &features->degree_prior, error));
    kg__output_end_head(output); /* all of it is read when the model is opened */
    return KG_OK;
}

static kg_status read_name(kg_feature_set *features, const json_t *name, const char *path,
                           kg_error *error) {
    const char *text = json_string_value(name);
    kg_feature feature = KG_PATH1;
    if (text != NULL && kg__feature_find(&feature, text)) {
        *features |= 1U << feature;
        return KG_OK;
    }
    char known[128];
    kg__join_names(known, sizeof known, kg__feature_names, sizeof *kg__feature_names);
    return kg_fail_at(error, path, 0, 0, "expected %s in \"evidence\" of its settings, found %s",
                      known,
                      text == NULL ? kg__json_kind(name) : kg__quote(text, strlen(text)).text);
}

static kg_status read_names(kg_feature_set *features, const json_t *names, const char *path,
                            kg_error *error) {
    size_t i = 0;
    const json_t *name = NULL;
    *features = 0;
    if (!json_is_array(names))
        return kg_fail_at(error, path, 0, 0,
                          "expected a list as \"evidence\" of its settings, found %s",
                          kg__json_kind(names));
    json_array_foreach(names, i, name) {
        KG_TRY(read_name(features, name, path, error));
    }
    return KG_OK;
}

static kg_status read_counts(kg_features *out, kg_model *model, const char *path,
                             kg_feature_set enabled, kg_error *error) {
    kg_mapping mapping;
    kg_rules rules;
    kg_degree_prior prior;
    KG_TRY(kg__config_map(&mapping, model->config, path, KG_MODEL_FEATURES, error));
    kg_status status = kg__features_read(&rules, &prior, &mapping, &model->graph,
                                         2 * model->relations.count, error);
    kg__mapping_close(&mapping);
    KG_TRY(status);
    return kg__features_take(out, &model->graph, enabled, &rules, &prior, error);
}

static kg_status open(kg_term_view *out, kg_model *model, const char *path, kg_error *error) {
    const json_t *settings = json_object_get(model->config, "settings");
    const json_t *names = json_object_get(settings, "evidence");
    kg_feature_set enabled = 0;
    kg_tensor weights = {TENSOR, NULL, 2 * model->relations.count, KG_FEATURE_COUNT};
    if (names == NULL)
        return KG_OK;
    KG_TRY(read_names(&enabled, names, path, error));
    kg_feature_counts *counts = allocate(out, enabled);
    if (counts == NULL)
        return kg__fail_memory(error);
    KG_TRY(kg__model_open_graph(model, "evidence", path, error));
    KG_TRY(read_counts(&counts->features, model, path, enabled, error));
    KG_TRY(kg__safetensors_view(&model->file, &weights.values, weights.name, weights.rows,
                                weights.columns, error));
    out->values[0] = weights.values;
    return kg__tensor_check(&weights, path, error);
}

/* ---- Candidates ---- */

struct features {
    const kg_candidate_features *list; /* one query after the other */
    const uint8_t *counts;             /* of each query */
    uint32_t *places;                  /* of each of the list: its place among the candidates */
    real *priors;                      /* runs x candidates */
};

static kg_status open_worker(void **out, const kg_term_view *view, kg_error *error) {
    const kg_feature_counts *counts = view->counted;
    kg_feature_reader *reader = *out = kg__alloc(1, sizeof *reader);
    return reader == NULL ? kg__fail_memory(error)
                          : kg__feature_reader_open(reader, &counts->cache, error);
}

static void close_worker(void *worker) {
    kg__feature_reader_close(worker);
    kg__free(worker);
}

static size_t count_all(const kg_query_block *b, const uint8_t *counts) {
    size_t total = 0;
    for (size_t i = 0; i < b->count; i++)
        total += counts[i];
    return total;
}

/* Copies what the reader will overwrite. */
static bool keep(kg_query_block *b, struct features *f, const kg_feature_reader *reader) {
    size_t total = count_all(b, f->counts);
    f->places = kg__arena_take(b->arena, total, sizeof *f->places);
    if (f->list != reader->features)
        return f->places != NULL;
    kg_candidate_features *list = kg__arena_take(b->arena, total, sizeof *list);
    uint8_t *counts = kg__arena_take(b->arena, b->count, sizeof *counts);
    if (f->places == NULL || list == NULL || counts == NULL)
        return false;
    memcpy(list, f->list, total * sizeof *list);
    memcpy(counts, f->counts, b->count * sizeof *counts);
    f->list = list;
    f->counts = counts;
    return true;
}

static kg_status prepare(kg_query_block *b, size_t number) {
    kg_feature_counts *counts = b->params->terms[number].counted;
    kg_feature_reader *reader = b->worker->states[number];
    struct features *f = b->kept[number] = kg__arena_take(b->arena, 1, sizeof *f);
    size_t from = kg__links_find(b->links, b->link_count, b->queries[0].target);
    kg_fact_range range = {b->range.entity, (uint32_t)from, (uint32_t)(from + b->count),
                           b->range.number};
    if (f == NULL)
        return kg__fail_memory(b->error);
    KG_TRY(kg__feature_cache_read(&counts->cache, reader, &range, &f->list, &f->counts, b->error));
    return keep(b, f, reader) ? KG_OK : kg__fail_memory(b->error);
}

static size_t most_candidates(const kg_query_block *b, size_t number) {
    const struct features *f = b->kept[number];
    return count_all(b, f->counts);
}

static void touch(const kg_query_block *b, size_t number,
                  void (*touch_entity)(void *payload, kg_id entity), void *payload) {
    const struct features *f = b->kept[number];
    for (size_t i = 0; i < count_all(b, f->counts); i++)
        touch_entity(payload, f->list[i].entity);
}

static void propose(kg_query_block *b, size_t number) {
    const struct features *f = b->kept[number];
    size_t total = count_all(b, f->counts);
    for (size_t i = 0; i < total; i++)
        f->places[i] = kg__candidates_add(
            b, (kg_block_candidate){.entity = f->list[i].entity, .is_negative = true});
}

/* ---- Forward ---- */

static void add_priors(kg_query_block *b, struct features *f, const kg_term_view *view,
                       size_t run) {
    const kg_degree_prior *prior = kg__feature_view_prior(view);
    kg_directed query = b->runs[run].query;
    size_t count = b->candidate_count;
    real weight = kg__feature_weights(view, query)[KG_DEGREE_PRIOR];
    real *priors = f->priors + run * count;
    for (size_t j = 0; j < count; j++)
        priors[j] = kg__degree_prior_of(prior, query, b->range.entity, b->candidates[j].entity);
    for (size_t i = b->runs[run].from; i < b->runs[run].to; i++)
        kg__add_scaled(b->scores + i * count, weight, priors, count);
}

static kg_status forward(kg_query_block *b, size_t number) {
    const kg_term_view *view = &b->params->terms[number];
    struct features *f = b->kept[number];
    size_t next = 0;
    for (size_t i = 0; i < b->count; i++) {
        const real *weights = kg__feature_weights(view, b->queries[i].target.directed);
        real *scores = b->scores + i * b->candidate_count;
        for (size_t k = 0; k < f->counts[i]; k++, next++)
            scores[f->places[next]] += kg__candidate_features_score(&f->list[next], weights);
    }
    f->priors = NULL;
    if (kg__feature_view_prior(view) == NULL)
        return KG_OK;
    f->priors = kg__arena_take(b->arena, b->run_count, b->candidate_count * sizeof *f->priors);
    if (f->priors == NULL)
        return kg__fail_memory(b->error);
    for (size_t run = 0; run < b->run_count; run++)
        add_priors(b, f, view, run);
    return KG_OK;
}

/* ---- Backward ---- */

/* Adds what the candidates of query i with features mean for the weights. */
static void add_features(const kg_query_block *b, const struct features *f, real *sum, size_t i,
                         size_t next) {
    const real *g = b->scores + i * b->candidate_count;
    for (size_t n = next; n < next + f->counts[i]; n++) {
        real share = g[f->places[n]] * KG_FEATURE_UNIT;
        for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++)
            sum[k] += share * (real)f->list[n].features[k];
    }
}

static kg_status backward(kg_query_block *b, size_t number) {
    const struct features *f = b->kept[number];
    size_t next = 0;
    for (size_t run = 0; run < b->run_count; run++) {
        real *sum = NULL;
        KG_TRY(kg__grads_sum(b->grads, &sum, b->params->terms[number].param, b->runs[run].query,
                             b->error));
        for (size_t i = b->runs[run].from; i < b->runs[run].to; i++) {
            add_features(b, f, sum, i, next);
            next += f->counts[i];
            if (f->priors != NULL)
                sum[KG_DEGREE_PRIOR] +=
                    kg__dot(b->scores + i * b->candidate_count,
                            f->priors + run * b->candidate_count, b->candidate_count);
        }
    }
    return KG_OK;
}

/* ---- The row ---- */

static size_t most_offsets(size_t links) {
    return links + KG_MOST_CANDIDATES;
}

static size_t parts(kg_score_term *out, const kg_term_view *view) {
    size_t count = 0;
    for (kg_feature k = 0; view->counted != NULL && k < KG_FEATURE_COUNT; k++) {
        if (!kg__feature_set_has(kg__feature_view_counted(view)->enabled, k))
            continue;
        if (out != NULL)
            out[count] = (kg_score_term){.name = kg__feature_names[k], .is_evidence = true};
        count++;
    }
    return count;
}

const kg_term kg__term_features = {
    .name = "features",
    .count = count,
    .params = params,
    .close = close,
    .open = open,
    .file = KG_MODEL_FEATURES,
    .write = write,
    .open_worker = open_worker,
    .close_worker = close_worker,
    .prepare = prepare,
    .most_candidates = most_candidates,
    .touch = touch,
    .propose = propose,
    .forward = forward,
    .backward = backward,
    .open_state = kg__feature_state_open,
    .close_state = kg__feature_state_close,
    .load = kg__feature_state_load,
    .set_query = kg__feature_state_set_query,
    .offsets = kg__feature_offsets,
    .most_offsets = most_offsets,
    .parts = parts,
    .explain = kg__feature_explain,
};
