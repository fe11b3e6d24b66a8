/* Weights of facts. The mean weighs all alike. Ridge regression, with equations A z = b and ridge
 * l, is
 *
 *     z = A^T alpha,   alpha = (A A^T + l I)^-1 b,                      dual, for up to dim links
 *     z = H^-1 A^T b,  alpha = (b - A z)/l,  H = A^T A + l I            primal, for more
 *
 * For few links the dual is solved afresh for each use, from products that are the same whatever is
 * left out: so are the bits. For more links the inverse, K or H^-1, is made once for an entity, and
 * leaving out link i costs a correction along one column of it:
 *
 *     dual    alpha - K_i alpha_i / K_ii
 *     primal  z - H^-1 a_i (b_i - a_i . z) / (1 - a_i . H^-1 a_i)
 *
 * That is as good, but for the last bits of a double. What ials does is in ials.c. */
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

/* Solving the system afresh takes no longer than ranking does. */
#define FEW 48

static bool is_few(const kg_blend *blend) {
    return blend->count <= FEW;
}

static bool is_dual(const kg_blend *blend) {
    return is_few(blend) || blend->count <= blend->tables.dim;
}

void kg_blend_open(kg_blend *blend, kg_aggregate_options options, kg_tables tables) {
    *blend = (kg_blend){.options = options, .tables = tables};
    kg_aggregate_open(&blend->encoder, options, tables);
    kg_witness_open(&blend->witness, tables.evidence);
}

static void free_room(kg_blend *blend) {
    double **blocks[] = {&blend->rows,     &blend->scales,  &blend->alpha,
                         &blend->sum,      &blend->targets, &blend->inverse,
                         &blend->solution, &blend->column,  &blend->products};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        kg_free(*blocks[i]);
        *blocks[i] = NULL;
    }
    kg_free(blend->narrow);
    blend->narrow = NULL;
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
    size_t small = count < dim ? count : dim;
    size_t few = count < FEW ? count : FEW;
    small = small < few ? few : small;
    blend->narrow = kg_resize(NULL, dim, sizeof *blend->narrow);
    if (blend->narrow == NULL || !allocate(&blend->rows, count, dim) ||
        !allocate(&blend->scales, count, 1) || !allocate(&blend->alpha, count, 1) ||
        !allocate(&blend->sum, dim, 1))
        return false;
    if (is_implicit(blend))
        return kg_ials_make_room(&blend->ials, &blend->tables, count, few);
    return is_mean(blend) ||
           (allocate(&blend->targets, count, 1) && allocate(&blend->inverse, small, small) &&
            allocate(&blend->solution, small + dim, 1) && allocate(&blend->column, dim, 1) &&
            allocate(&blend->products, few, few));
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

static void load_row(kg_blend *blend, size_t i, kg_link link) {
    size_t dim = blend->tables.dim;
    double *row = blend->rows + i * dim;
    kg_aggregator_row(blend->options.aggregator, &blend->tables, blend->narrow, link);
    for (size_t k = 0; k < dim; k++)
        row[k] = (double)blend->narrow[k];
    blend->scales[i] = 1;
}

/* The same equations as learning has them: see ls.c. */
static void load_equation(kg_blend *blend, size_t i) {
    size_t dim = blend->tables.dim;
    double *row = blend->rows + i * dim;
    double length = sqrt(kg_dot_wide(row, row, dim));
    bool is_plain = blend->options.aggregator->is_plain;
    bool is_weighted = blend->options.ls_rows == KG_LS_WEIGHTED;
    blend->targets[i] = !is_plain && is_weighted ? length : 1;
    if (is_plain || is_weighted)
        return;
    blend->scales[i] = length < KG_LEAST_NORM ? 0 : 1 / length;
    for (size_t k = 0; k < dim; k++)
        row[k] *= blend->scales[i];
}

/* Each product for itself, since BLAS may add up those of a larger matrix in another order. */
static void load_products(kg_blend *blend) {
    size_t n = blend->count;
    size_t dim = blend->tables.dim;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++)
            blend->products[i * n + k] =
                kg_dot_wide(blend->rows + i * dim, blend->rows + k * dim, dim);
}

static void load_inverse(kg_blend *blend) {
    size_t dim = blend->tables.dim;
    size_t n = is_dual(blend) ? blend->count : dim;
    kg_gram_wide(blend->inverse, blend->rows, blend->count, dim, is_dual(blend));
    for (size_t i = 0; i < n; i++)
        blend->inverse[i * n + i] += blend->options.ls_lambda;
    blend->is_broken = !kg_invert_wide(blend->inverse, n);
    const double *right = blend->targets;
    if (!is_dual(blend)) {
        memset(blend->column, 0, dim * sizeof *blend->column);
        kg_add_wide(blend->column, blend->rows, blend->targets, blend->count, dim);
        right = blend->column;
    }
    for (size_t i = 0; i < n; i++)
        blend->solution[i] = kg_dot_wide(blend->inverse + i * n, right, n);
}

static void load_equations(kg_blend *blend) {
    for (size_t i = 0; i < blend->count; i++)
        load_equation(blend, i);
    if (is_few(blend))
        load_products(blend);
    else
        load_inverse(blend);
}

static kg_ials_facts facts_of(const kg_blend *blend) {
    return (kg_ials_facts){&blend->tables, &blend->options, blend->links,
                           blend->rows,    blend->count,    is_few(blend)};
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
    for (size_t i = 0; i < count; i++)
        load_row(blend, i, links[i]);
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

/* The system of the links that are kept, as if there were no other. */
static void weigh_few(kg_blend *blend, size_t left_out) {
    size_t all = blend->count;
    size_t n = all - (left_out != KG_NOTHING);
    double *a = blend->inverse;
    double *x = blend->solution;
    for (size_t i = 0; i < n; i++) {
        size_t from = i + (i >= left_out);
        x[i] = blend->targets[from];
        for (size_t k = 0; k <= i; k++)
            a[i * n + k] = blend->products[from * all + k + (k >= left_out)];
        a[i * n + i] += blend->options.ls_lambda;
    }
    blend->is_broken = !kg_solve_wide(a, x, n);
    for (size_t i = 0; i < n; i++)
        blend->alpha[i + (i >= left_out)] = x[i];
}

static void weigh_dual(kg_blend *blend, size_t left_out) {
    size_t n = blend->count;
    memcpy(blend->alpha, blend->solution, n * sizeof *blend->alpha);
    if (left_out == KG_NOTHING)
        return;
    const double *column = blend->inverse + left_out * n;
    double factor = blend->solution[left_out] / column[left_out];
    for (size_t i = 0; i < n; i++)
        blend->alpha[i] -= factor * column[i];
}

static void weigh_primal(kg_blend *blend, size_t left_out) {
    size_t dim = blend->tables.dim;
    double *z = blend->sum;
    memcpy(z, blend->solution, dim * sizeof *z);
    if (left_out != KG_NOTHING) {
        const double *row = blend->rows + left_out * dim;
        for (size_t k = 0; k < dim; k++)
            blend->column[k] = kg_dot_wide(blend->inverse + k * dim, row, dim);
        double miss = blend->targets[left_out] - kg_dot_wide(row, z, dim);
        double factor = miss / (1 - kg_dot_wide(row, blend->column, dim));
        for (size_t k = 0; k < dim; k++)
            z[k] -= factor * blend->column[k];
    }
    for (size_t i = 0; i < blend->count; i++)
        blend->alpha[i] = (blend->targets[i] - kg_dot_wide(blend->rows + i * dim, z, dim)) /
                          blend->options.ls_lambda;
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
    else if (is_few(blend))
        weigh_few(blend, left_out);
    else if (is_dual(blend))
        weigh_dual(blend, left_out);
    else
        weigh_primal(blend, left_out);
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
    if (is_mean(blend) || is_implicit(blend) || is_dual(blend))
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
static void add_rooms(const kg_blend *blend, kg_bonuses *bonuses) {
    const kg_evidence *evidence = blend->tables.evidence;
    kg_id self = blend->witness.self;
    size_t count = 0;
    if (self == KG_NO_ID || !kg_features_have(evidence->features, KG_VACANCY))
        return;
    const kg_link *links = kg_links_run(blend->links, blend->count, blend->asked, &count);
    double worth = (double)kg_evidence_worth(evidence, blend->asked)[KG_VACANCY];
    for (size_t i = 0; i < count; i++) {
        kg_id answer = links[i].other;
        real with = kg_vacancy_of(&evidence->vacancy, blend->asked, KG_NO_ID, answer);
        real without = kg_vacancy_of(&evidence->vacancy, blend->asked, self, answer);
        if (with != without)
            bonuses->items[bonuses->count++] =
                (kg_bonus){answer, worth * ((double)without - (double)with)};
    }
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
        add_rooms(blend, bonuses);
    }
    if (bonuses->count > before)
        bonuses->count = before + merge_bonuses(bonuses->items + before, bonuses->count - before);
    return KG_OK;
}
