/* Weights of facts. The mean weighs all alike; ridge regression (ridge.h) by residuals over the
 * ridge: of few links they have the same bits whatever is left out, of many they are as good but
 * for the last bits of a double. What ials does is in ials.c. */
#include "aggregate/embedder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/aggregators.h"
#include "base/memory.h"
#include "math/linear.h"
#include "math/vector.h"

static bool is_encoder(const kg_embedder *blend) {
    return blend->options.aggregator->is_encoder;
}

static bool is_mean(const kg_embedder *blend) {
    return blend->options.aggregator->is_shared;
}

static bool has_evidence(const kg_embedder *blend) {
    return blend->params.evidence != NULL;
}

static bool is_implicit(const kg_embedder *blend) {
    return blend->options.aggregator->is_implicit;
}

static bool is_few(const kg_embedder *blend) {
    return blend->count <= KG_RIDGE_FEW;
}

void kg__embedder_open(kg_embedder *blend, kg_aggregate_options options, kg_params params) {
    *blend = (kg_embedder){.options = options, .params = params};
    kg__aggregate_open(&blend->encoder, options, params);
    kg__extractor_open(&blend->witness, params.evidence);
}

static void free_room(kg_embedder *blend) {
    double **blocks[] = {&blend->rows, &blend->scales, &blend->alpha, &blend->sum, &blend->targets};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        kg__free(*blocks[i]);
        *blocks[i] = NULL;
    }
    kg__fact_map_close(&blend->map);
    kg__ridge_free(&blend->ridge);
    kg__ials_free(&blend->ials);
    blend->capacity = 0;
}

void kg__embedder_close(kg_embedder *blend) {
    free_room(blend);
    kg__aggregate_close(&blend->encoder);
    kg__extractor_close(&blend->witness);
}

static bool allocate(double **out, size_t rows, size_t columns) {
    *out = rows > SIZE_MAX / columns ? NULL : kg__resize(NULL, rows * columns, sizeof **out);
    return *out != NULL;
}

static bool make_room(kg_embedder *blend, size_t count) {
    size_t dim = blend->params.dim;
    size_t few = count < KG_RIDGE_FEW ? count : KG_RIDGE_FEW;
    if (!kg__fact_map_open(&blend->map, &blend->params) || !allocate(&blend->rows, count, dim) ||
        !allocate(&blend->scales, count, 1) || !allocate(&blend->alpha, count, 1) ||
        !allocate(&blend->sum, dim, 1))
        return false;
    if (is_implicit(blend))
        return kg__ials_make_room(&blend->ials, &blend->params, count, few);
    return is_mean(blend) || (allocate(&blend->targets, count, 1) &&
                              kg__ridge_make_room(&blend->ridge, dim, count, 1));
}

/* Grows by doubling, so that loading larger and larger entities stays cheap. */
kg_status kg__embedder_reserve(kg_embedder *blend, size_t count, kg_error *error) {
    if (is_encoder(blend) || count <= blend->capacity)
        return KG_OK;
    size_t wanted = count < 2 * blend->capacity ? 2 * blend->capacity : count;
    free_room(blend);
    if (!make_room(blend, wanted)) {
        free_room(blend);
        return kg__fail_memory(error);
    }
    blend->capacity = wanted;
    return KG_OK;
}

/* ---- Loading ---- */

static void load_rows(kg_embedder *blend) {
    kg__fact_rows(blend->rows, &blend->map, &blend->params, blend->options.aggregator->uses_queries,
                  blend->links, blend->count);
    for (size_t i = 0; i < blend->count; i++)
        blend->scales[i] = 1;
}

static void load_equations(kg_embedder *blend) {
    size_t dim = blend->params.dim;
    bool is_plain = blend->options.aggregator->is_plain;
    for (size_t i = 0; i < blend->count; i++) {
        double norm = 0;
        kg__ls_equation(&blend->options, blend->rows + i * dim, &blend->targets[i], &norm, dim);
        if (!is_plain && blend->options.ls_rows == KG_LS_NORMALIZED)
            blend->scales[i] = norm == 0 ? 0 : 1 / norm;
    }
    kg__ridge_load(&blend->ridge, blend->options.ls_lambda, blend->rows, blend->targets,
                   blend->count);
}

static kg_ials_facts facts_of(kg_embedder *blend) {
    return (kg_ials_facts){.params = &blend->params,
                           .options = &blend->options,
                           .links = blend->links,
                           .rows = blend->rows,
                           .count = blend->count,
                           .is_few = is_few(blend),
                           .map = &blend->map};
}

static void load_implicit(kg_embedder *blend) {
    kg_ials_facts facts = facts_of(blend);
    kg__ials_load(&blend->ials, &facts);
}

kg_status kg__embedder_load(kg_embedder *blend, kg_id self, const kg_link *links, size_t count,
                            kg_error *error) {
    blend->links = links;
    blend->count = count;
    if (has_evidence(blend))
        KG_TRY(kg__extractor_load(&blend->witness, self, links, count, error));
    if (is_encoder(blend))
        return kg__aggregate_load(&blend->encoder, links, count, 1, error);
    KG_TRY(kg__embedder_reserve(blend, count, error));
    blend->is_broken = false;
    load_rows(blend);
    if (is_implicit(blend))
        load_implicit(blend);
    else if (!is_mean(blend))
        load_equations(blend);
    return KG_OK;
}

/* ---- Uses ---- */

static void weigh_mean(kg_embedder *blend, size_t left_out) {
    size_t kept = blend->count - (left_out != KG_NOTHING);
    for (size_t i = 0; i < blend->count; i++)
        blend->alpha[i] = 1 / (double)kept;
}

static void weigh_graft(kg_embedder *blend, size_t left_out) {
    const kg_graft *graft = blend->params.graft;
    size_t kept = blend->count - (left_out != KG_NOTHING);
    double scale = pow((double)kept, -graft->power);
    for (size_t i = 0; i < blend->count; i++) {
        uint32_t pair = kg__pairs_find(&graft->weighted, blend->asked, blend->links[i].directed);
        blend->alpha[i] = scale * (pair == KG_NO_PAIR ? 1 : (double)graft->weights[pair]);
    }
}

/* Leaves z in the sum. */
static void weigh_equations(kg_embedder *blend, size_t left_out) {
    kg__ridge_leave_out(&blend->ridge, (kg_left_out){&left_out, left_out == KG_NOTHING ? 0 : 1});
    kg__ridge_fit(&blend->ridge, blend->sum);
    kg__ridge_weigh(&blend->ridge, blend->alpha, blend->sum);
}

/* All alike: what they differ in is in M. */
static void weigh_implicit(kg_embedder *blend) {
    for (size_t i = 0; i < blend->count; i++)
        blend->alpha[i] = 1;
}

static void weigh(kg_embedder *blend, size_t left_out) {
    if (blend->options.aggregator->is_asked)
        weigh_graft(blend, left_out);
    else if (is_mean(blend))
        weigh_mean(blend, left_out);
    else if (is_implicit(blend))
        weigh_implicit(blend);
    else
        weigh_equations(blend, left_out);
    if (left_out != KG_NOTHING)
        blend->alpha[left_out] = 0;
}

/* What is left out is passed over, not added as nothing: it need not be finite. */
static void add_up(kg_embedder *blend, size_t left_out) {
    size_t dim = blend->params.dim;
    size_t before = left_out == KG_NOTHING ? blend->count : left_out;
    memset(blend->sum, 0, dim * sizeof *blend->sum);
    kg__add_wide(blend->sum, blend->rows, blend->alpha, before, dim);
    if (before < blend->count)
        kg__add_wide(blend->sum, blend->rows + (before + 1) * dim, blend->alpha + before + 1,
                     blend->count - before - 1, dim);
}

void kg__embedder_ask(kg_embedder *blend, kg_directed asked) {
    blend->asked = asked;
    /* What it has gathered serves the next question with the same relation. */
    if (has_evidence(blend) && blend->witness.asked != asked)
        kg__extractor_ask(&blend->witness, asked);
}

void kg__embedder_embed(kg_embedder *blend, real *z, size_t left_out) {
    size_t dim = blend->params.dim;
    if (is_encoder(blend)) {
        kg_left_out left = {&left_out, left_out == KG_NOTHING ? 0 : 1};
        kg__aggregate_forward(&blend->encoder, z, left);
        return;
    }
    if (blend->count <= (left_out == KG_NOTHING ? 0 : 1)) {
        memset(z, 0, dim * sizeof *z);
        return;
    }
    weigh(blend, left_out);
    if (is_mean(blend) || is_implicit(blend))
        add_up(blend, left_out);
    if (is_implicit(blend)) {
        kg_ials_facts facts = facts_of(blend);
        blend->is_broken = !kg__ials_solve(&blend->ials, &facts, blend->sum, left_out);
    }
    for (size_t k = 0; k < dim; k++)
        z[k] = blend->is_broken ? (real)NAN : (real)blend->sum[k];
}

static double dot(const double *wide, const real *narrow, size_t dim) {
    double sum = 0;
    for (size_t k = 0; k < dim; k++)
        sum += wide[k] * (double)narrow[k];
    return sum;
}

double kg__embedder_part(kg_embedder *blend, size_t i, const real *vector) {
    size_t dim = blend->params.dim;
    if (is_implicit(blend) && blend->is_broken)
        return NAN;
    if (is_implicit(blend))
        return blend->alpha[i] * kg__ials_part(&blend->ials, blend->rows + i * dim, vector, dim);
    return blend->alpha[i] * dot(blend->rows + i * dim, vector, dim);
}

double kg__embedder_weight(const kg_embedder *blend, size_t i) {
    return blend->alpha[i] * blend->scales[i];
}

static int compare_bonuses(const void *a, const void *b) {
    const kg_score_offset *x = a;
    const kg_score_offset *y = b;
    if (x->entity != y->entity)
        return x->entity < y->entity ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Those of one entity add up, from the least: the same sum whatever the order of the links. */
static size_t merge_bonuses(kg_score_offset *bonuses, size_t count) {
    size_t merged = 0;
    qsort(bonuses, count, sizeof *bonuses, compare_bonuses);
    for (size_t i = 0; i < count; i++) {
        if (merged > 0 && bonuses[merged - 1].entity == bonuses[i].entity)
            bonuses[merged - 1].value += bonuses[i].value;
        else
            bonuses[merged++] = bonuses[i];
    }
    return merged;
}

void kg__score_offsets_free(kg_score_offsets *bonuses) {
    kg__free(bonuses->items);
    *bonuses = (kg_score_offsets){0};
}

kg_status kg__score_offsets_reserve(kg_score_offsets *bonuses, size_t more, kg_error *error) {
    if (more <= bonuses->capacity - bonuses->count)
        return KG_OK;
    kg_score_offset *items =
        kg__grow(bonuses->items, &bonuses->capacity, bonuses->count + more, sizeof *items);
    if (items == NULL)
        return kg__fail_memory(error);
    bonuses->items = items;
    return KG_OK;
}

double kg__embedder_echo(const kg_embedder *blend, size_t i) {
    const kg_graft *graft = blend->params.graft;
    if (!blend->options.aggregator->is_asked)
        return 0;
    uint32_t pair = kg__pairs_find(&graft->echoing, blend->asked, blend->links[i].directed);
    return pair == KG_NO_PAIR ? 0 : (double)graft->echoes[pair];
}

/* Graft's bonuses, to be merged with others. */
static void add_echoes(const kg_embedder *blend, kg_score_offsets *bonuses, size_t left_out) {
    for (size_t i = 0; i < blend->count && blend->options.aggregator->is_asked; i++) {
        double echo = kg__embedder_echo(blend, i);
        if (i != left_out && echo != 0)
            bonuses->items[bonuses->count++] = (kg_score_offset){blend->links[i].other, echo};
    }
}

static kg_status add_hints(kg_embedder *blend, kg_score_offsets *bonuses, size_t left_out,
                           kg_error *error) {
    const real *worth = kg__features_weights_of(blend->params.evidence, blend->asked);
    kg_candidate_features hints[KG_MOST_CANDIDATES];
    size_t count = 0;
    KG_TRY(
        kg__extractor_answer(&blend->witness, hints, KG_MOST_CANDIDATES, &count, left_out, error));
    for (size_t i = 0; i < count; i++)
        bonuses->items[bonuses->count++] = (kg_score_offset){
            hints[i].entity, (double)kg__candidate_features_score(&hints[i], worth)};
    return KG_OK;
}

/* Vacancies are part of all scores (rank/proposals.h), as for a new entity. One of the graph's has
 * answers there, which would have room for one more without it. */
static kg_status add_rooms(const kg_embedder *blend, kg_score_offsets *bonuses, kg_error *error) {
    const kg_features *evidence = blend->params.evidence;
    kg_id self = blend->witness.self;
    size_t count = 0;
    if (self == KG_NO_ID || !kg__feature_set_has(evidence->features, KG_DEGREE_PRIOR))
        return KG_OK;
    const kg_link *links =
        kg__links_run(kg__adjacency_links(evidence->graph, self),
                      kg__adjacency_degree(evidence->graph, self), blend->asked, &count);
    KG_TRY(kg__score_offsets_reserve(bonuses, count, error));
    double worth = (double)kg__features_weights_of(evidence, blend->asked)[KG_DEGREE_PRIOR];
    for (size_t i = 0; i < count; i++) {
        kg_id answer = links[i].other;
        real with = kg__degree_prior_of(&evidence->vacancy, blend->asked, KG_NO_ID, answer);
        real without = kg__degree_prior_of(&evidence->vacancy, blend->asked, self, answer);
        if (with != without)
            bonuses->items[bonuses->count++] =
                (kg_score_offset){answer, worth * ((double)without - (double)with)};
    }
    return KG_OK;
}

size_t kg__embedder_most_bonuses(const kg_embedder *blend, size_t links) {
    return (blend->options.aggregator->is_asked ? links : 0) +
           (has_evidence(blend) ? links + KG_MOST_CANDIDATES : 0);
}

kg_status kg__embedder_bonuses(kg_embedder *blend, kg_score_offsets *bonuses, size_t left_out,
                               kg_error *error) {
    size_t before = bonuses->count;
    KG_TRY(
        kg__score_offsets_reserve(bonuses, kg__embedder_most_bonuses(blend, blend->count), error));
    add_echoes(blend, bonuses, left_out);
    if (has_evidence(blend)) {
        KG_TRY(add_hints(blend, bonuses, left_out, error));
        KG_TRY(add_rooms(blend, bonuses, error));
    }
    if (bonuses->count > before)
        bonuses->count = before + merge_bonuses(bonuses->items + before, bonuses->count - before);
    return KG_OK;
}
