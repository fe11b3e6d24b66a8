/* Weights of facts. The mean weighs all alike; ridge regression (ridge.h) by residuals over the
 * ridge: of few links they have the same bits whatever is left out, of many they are as good but
 * for the last bits of a double. What ials does is in ials.c. */
#include "aggregate/blend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/aggregators.h"
#include "base/memory.h"
#include "math/linear.h"
#include "math/vector.h"

static bool is_encoder(const kg_blend *blend) {
    return blend->options.aggregator->is_encoder;
}

static bool is_mean(const kg_blend *blend) {
    return blend->options.aggregator->is_shared;
}

static bool has_evidence(const kg_blend *blend) {
    return blend->tables.evidence != NULL;
}

static bool is_implicit(const kg_blend *blend) {
    return blend->options.aggregator->is_implicit;
}

static bool is_few(const kg_blend *blend) {
    return blend->count <= KG_RIDGE_FEW;
}

void kg_blend_open(kg_blend *blend, kg_aggregate_options options, kg_tables tables) {
    *blend = (kg_blend){.options = options, .tables = tables};
    kg_aggregate_open(&blend->encoder, options, tables);
    kg_witness_open(&blend->witness, tables.evidence);
}

static void free_room(kg_blend *blend) {
    double **blocks[] = {&blend->rows, &blend->scales, &blend->alpha, &blend->sum, &blend->targets};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        kg_free(*blocks[i]);
        *blocks[i] = NULL;
    }
    kg_fact_map_close(&blend->map);
    kg_ridge_free(&blend->ridge);
    kg_ials_free(&blend->ials);
    blend->capacity = 0;
}

void kg_blend_close(kg_blend *blend) {
    free_room(blend);
    kg_aggregate_close(&blend->encoder);
    kg_witness_close(&blend->witness);
}

static bool allocate(double **out, size_t rows, size_t columns) {
    *out = rows > SIZE_MAX / columns ? NULL : kg_resize(NULL, rows * columns, sizeof **out);
    return *out != NULL;
}

static bool make_room(kg_blend *blend, size_t count) {
    size_t dim = blend->tables.dim;
    size_t few = count < KG_RIDGE_FEW ? count : KG_RIDGE_FEW;
    if (!kg_fact_map_open(&blend->map, &blend->tables) || !allocate(&blend->rows, count, dim) ||
        !allocate(&blend->scales, count, 1) || !allocate(&blend->alpha, count, 1) ||
        !allocate(&blend->sum, dim, 1))
        return false;
    if (is_implicit(blend))
        return kg_ials_make_room(&blend->ials, &blend->tables, count, few);
    return is_mean(blend) || (allocate(&blend->targets, count, 1) &&
                              kg_ridge_make_room(&blend->ridge, dim, count, 1));
}

/* Grows by doubling, so that loading larger and larger entities stays cheap. */
kg_status kg_blend_reserve(kg_blend *blend, size_t count, kg_error *error) {
    if (is_encoder(blend) || count <= blend->capacity)
        return KG_OK;
    size_t wanted = count < 2 * blend->capacity ? 2 * blend->capacity : count;
    free_room(blend);
    if (!make_room(blend, wanted)) {
        free_room(blend);
        return kg_fail_memory(error);
    }
    blend->capacity = wanted;
    return KG_OK;
}

/* ---- Loading ---- */

static void load_rows(kg_blend *blend) {
    kg_fact_rows(blend->rows, &blend->map, &blend->tables, blend->options.aggregator->uses_queries,
                 blend->links, blend->count);
    for (size_t i = 0; i < blend->count; i++)
        blend->scales[i] = 1;
}

static void load_equations(kg_blend *blend) {
    size_t dim = blend->tables.dim;
    bool is_plain = blend->options.aggregator->is_plain;
    for (size_t i = 0; i < blend->count; i++) {
        double norm = 0;
        kg_ls_equation(&blend->options, blend->rows + i * dim, &blend->targets[i], &norm, dim);
        if (!is_plain && blend->options.ls_rows == KG_LS_NORMALIZED)
            blend->scales[i] = norm == 0 ? 0 : 1 / norm;
    }
    kg_ridge_load(&blend->ridge, blend->options.ls_lambda, blend->rows, blend->targets,
                  blend->count);
}

static kg_ials_facts facts_of(kg_blend *blend) {
    return (kg_ials_facts){.tables = &blend->tables,
                           .options = &blend->options,
                           .links = blend->links,
                           .rows = blend->rows,
                           .count = blend->count,
                           .is_few = is_few(blend),
                           .map = &blend->map};
}

static void load_implicit(kg_blend *blend) {
    kg_ials_facts facts = facts_of(blend);
    kg_ials_load(&blend->ials, &facts);
}

kg_status kg_blend_load(kg_blend *blend, kg_id self, const kg_link *links, size_t count,
                        kg_error *error) {
    blend->links = links;
    blend->count = count;
    if (has_evidence(blend))
        KG_TRY(kg_witness_load(&blend->witness, self, links, count, error));
    if (is_encoder(blend))
        return kg_aggregate_load(&blend->encoder, links, count, 1, error);
    KG_TRY(kg_blend_reserve(blend, count, error));
    blend->is_broken = false;
    load_rows(blend);
    if (is_implicit(blend))
        load_implicit(blend);
    else if (!is_mean(blend))
        load_equations(blend);
    return KG_OK;
}

/* ---- Uses ---- */

static void weigh_mean(kg_blend *blend, size_t left_out) {
    size_t kept = blend->count - (left_out != KG_NOTHING);
    for (size_t i = 0; i < blend->count; i++)
        blend->alpha[i] = 1 / (double)kept;
}

static void weigh_graft(kg_blend *blend, size_t left_out) {
    const kg_graft *graft = blend->tables.graft;
    size_t kept = blend->count - (left_out != KG_NOTHING);
    double scale = pow((double)kept, -graft->power);
    for (size_t i = 0; i < blend->count; i++) {
        uint32_t pair = kg_pairs_find(&graft->weighted, blend->asked, blend->links[i].directed);
        blend->alpha[i] = scale * (pair == KG_NO_PAIR ? 1 : (double)graft->weights[pair]);
    }
}

/* Leaves z in the sum. */
static void weigh_equations(kg_blend *blend, size_t left_out) {
    kg_ridge_leave_out(&blend->ridge, (kg_left_out){&left_out, left_out == KG_NOTHING ? 0 : 1});
    kg_ridge_fit(&blend->ridge, blend->sum);
    kg_ridge_weigh(&blend->ridge, blend->alpha, blend->sum);
}

/* All alike: what they differ in is in M. */
static void weigh_implicit(kg_blend *blend) {
    for (size_t i = 0; i < blend->count; i++)
        blend->alpha[i] = 1;
}

static void weigh(kg_blend *blend, size_t left_out) {
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
static void add_up(kg_blend *blend, size_t left_out) {
    size_t dim = blend->tables.dim;
    size_t before = left_out == KG_NOTHING ? blend->count : left_out;
    memset(blend->sum, 0, dim * sizeof *blend->sum);
    kg_add_wide(blend->sum, blend->rows, blend->alpha, before, dim);
    if (before < blend->count)
        kg_add_wide(blend->sum, blend->rows + (before + 1) * dim, blend->alpha + before + 1,
                    blend->count - before - 1, dim);
}

void kg_blend_ask(kg_blend *blend, kg_directed asked) {
    blend->asked = asked;
    /* What it has gathered serves the next question with the same relation. */
    if (has_evidence(blend) && blend->witness.asked != asked)
        kg_witness_ask(&blend->witness, asked);
}

void kg_blend_embed(kg_blend *blend, real *z, size_t left_out) {
    size_t dim = blend->tables.dim;
    if (is_encoder(blend)) {
        kg_left_out left = {&left_out, left_out == KG_NOTHING ? 0 : 1};
        kg_aggregate_forward(&blend->encoder, z, left);
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
        blend->is_broken = !kg_ials_solve(&blend->ials, &facts, blend->sum, left_out);
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

double kg_blend_part(kg_blend *blend, size_t i, const real *vector) {
    size_t dim = blend->tables.dim;
    if (is_implicit(blend) && blend->is_broken)
        return NAN;
    if (is_implicit(blend))
        return blend->alpha[i] * kg_ials_part(&blend->ials, blend->rows + i * dim, vector, dim);
    return blend->alpha[i] * dot(blend->rows + i * dim, vector, dim);
}

double kg_blend_weight(const kg_blend *blend, size_t i) {
    return blend->alpha[i] * blend->scales[i];
}

static int compare_bonuses(const void *a, const void *b) {
    const kg_bonus *x = a;
    const kg_bonus *y = b;
    if (x->entity != y->entity)
        return x->entity < y->entity ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Those of one entity add up, from the least: the same sum whatever the order of the links. */
static size_t merge_bonuses(kg_bonus *bonuses, size_t count) {
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

void kg_bonuses_free(kg_bonuses *bonuses) {
    kg_free(bonuses->items);
    *bonuses = (kg_bonuses){0};
}

kg_status kg_bonuses_reserve(kg_bonuses *bonuses, size_t more, kg_error *error) {
    if (more <= bonuses->capacity - bonuses->count)
        return KG_OK;
    kg_bonus *items =
        kg_grow(bonuses->items, &bonuses->capacity, bonuses->count + more, sizeof *items);
    if (items == NULL)
        return kg_fail_memory(error);
    bonuses->items = items;
    return KG_OK;
}

double kg_blend_echo(const kg_blend *blend, size_t i) {
    const kg_graft *graft = blend->tables.graft;
    if (!blend->options.aggregator->is_asked)
        return 0;
    uint32_t pair = kg_pairs_find(&graft->echoing, blend->asked, blend->links[i].directed);
    return pair == KG_NO_PAIR ? 0 : (double)graft->echoes[pair];
}

/* Graft's bonuses, to be merged with others. */
static void add_echoes(const kg_blend *blend, kg_bonuses *bonuses, size_t left_out) {
    for (size_t i = 0; i < blend->count && blend->options.aggregator->is_asked; i++) {
        double echo = kg_blend_echo(blend, i);
        if (i != left_out && echo != 0)
            bonuses->items[bonuses->count++] = (kg_bonus){blend->links[i].other, echo};
    }
}

static kg_status add_hints(kg_blend *blend, kg_bonuses *bonuses, size_t left_out, kg_error *error) {
    const real *worth = kg_evidence_worth(blend->tables.evidence, blend->asked);
    kg_hint hints[KG_MOST_HINTS];
    size_t count = 0;
    KG_TRY(kg_witness_answer(&blend->witness, hints, KG_MOST_HINTS, &count, left_out, error));
    for (size_t i = 0; i < count; i++)
        bonuses->items[bonuses->count++] =
            (kg_bonus){hints[i].entity, (double)kg_hint_score(&hints[i], worth)};
    return KG_OK;
}

/* Vacancies are part of all scores (rank/proposals.h), as for a new entity. One of the graph's has
 * answers there, which would have room for one more without it. */
static kg_status add_rooms(const kg_blend *blend, kg_bonuses *bonuses, kg_error *error) {
    const kg_evidence *evidence = blend->tables.evidence;
    kg_id self = blend->witness.self;
    size_t count = 0;
    if (self == KG_NO_ID || !kg_features_have(evidence->features, KG_VACANCY))
        return KG_OK;
    const kg_link *links =
        kg_links_run(kg_adjacency_links(evidence->graph, self),
                     kg_adjacency_degree(evidence->graph, self), blend->asked, &count);
    KG_TRY(kg_bonuses_reserve(bonuses, count, error));
    double worth = (double)kg_evidence_worth(evidence, blend->asked)[KG_VACANCY];
    for (size_t i = 0; i < count; i++) {
        kg_id answer = links[i].other;
        real with = kg_vacancy_of(&evidence->vacancy, blend->asked, KG_NO_ID, answer);
        real without = kg_vacancy_of(&evidence->vacancy, blend->asked, self, answer);
        if (with != without)
            bonuses->items[bonuses->count++] =
                (kg_bonus){answer, worth * ((double)without - (double)with)};
    }
    return KG_OK;
}

size_t kg_blend_most_bonuses(const kg_blend *blend, size_t links) {
    return (blend->options.aggregator->is_asked ? links : 0) +
           (has_evidence(blend) ? links + KG_MOST_HINTS : 0);
}

kg_status kg_blend_bonuses(kg_blend *blend, kg_bonuses *bonuses, size_t left_out, kg_error *error) {
    size_t before = bonuses->count;
    KG_TRY(kg_bonuses_reserve(bonuses, kg_blend_most_bonuses(blend, blend->count), error));
    add_echoes(blend, bonuses, left_out);
    if (has_evidence(blend)) {
        KG_TRY(add_hints(blend, bonuses, left_out, error));
        KG_TRY(add_rooms(blend, bonuses, error));
    }
    if (bonuses->count > before)
        bonuses->count = before + merge_bonuses(bonuses->items + before, bonuses->count - before);
    return KG_OK;
}
