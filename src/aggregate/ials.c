/* M is put together for each use, since what is left out changes the mean of |q|^2 and sometimes
 * the relations, too; solving it costs more. Of few links the rows that are kept are multiplied
 * afresh, so that bits do not depend on what is left out; of many, the row that is not kept is
 * taken off the sum over all. */
#include "aggregate/ials.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/linear.h"
#include "math/vector.h"

/* In units of the largest number on M's diagonal: what keeps M definite, where the entity's own
 * rows are next to nothing. */
#define LEAST_RIDGE 1e-12

/* ---- All entities ---- */

#define SPAN 256 /* rows that are widened at once */

/* One that is not finite counts as nothing: ranking passes it over, too. */
static void widen(double *wide, const real *row, size_t dim) {
    bool is_finite = true;
    for (size_t k = 0; k < dim; k++) {
        wide[k] = (double)row[k];
        is_finite = is_finite && isfinite(wide[k]);
    }
    if (!is_finite)
        memset(wide, 0, dim * sizeof *wide);
}

static void add_span(double *gram, double *room, const real *rows, size_t count, size_t dim) {
    double *wide = room;
    double *products = room + (size_t)SPAN * dim;
    const double one = 1;
    for (size_t i = 0; i < count; i++)
        widen(wide + i * dim, rows + i * dim, dim);
    kg__gram_wide(products, wide, count, dim, false);
    for (size_t k = 0; k < dim; k++)
        kg__add_wide(gram + k * dim, products + k * dim, &one, 1, k + 1);
}

kg_status kg__gram_make(double **out, const kg_aggregator *aggregator, const kg_params *params,
                        size_t entities, kg_error *error) {
    size_t dim = params->dim;
    *out = NULL;
    if (aggregator == NULL || !aggregator->is_implicit)
        return KG_OK;
    KG_TRY(kg__linear_set_up(1, error));
    double *gram = dim > SIZE_MAX / dim ? NULL : kg__alloc(dim * dim, sizeof *gram);
    double *room = gram == NULL ? NULL : kg__resize(NULL, (SPAN + dim) * dim, sizeof *room);
    if (room == NULL) {
        kg__free(gram);
        return kg__fail_memory(error);
    }
    for (size_t from = 0; from < entities; from += SPAN) {
        size_t count = entities - from < SPAN ? entities - from : SPAN;
        add_span(gram, room, params->entities + from * dim, count, dim);
    }
    for (size_t i = 0; i < dim; i++)
        for (size_t k = i + 1; k < dim; k++)
            gram[i * dim + k] = gram[k * dim + i];
    kg__free(room);
    *out = gram;
    return KG_OK;
}

/* ---- Room ---- */

void kg__ials_free(kg_ials *ials) {
    kg__free(ials->implicit);
    kg__free(ials->explicit);
    kg__free(ials->system);
    kg__free(ials->squares);
    kg__free(ials->kept);
    kg__free(ials->line);
    *ials = (kg_ials){0};
}

bool kg__ials_make_room(kg_ials *ials, const kg_params *params, size_t count, size_t few) {
    size_t dim = params->dim;
    if (dim > SIZE_MAX / dim)
        return false;
    *ials = (kg_ials){
        .implicit = kg__resize(NULL, dim * dim, sizeof(double)),
        .explicit = kg__resize(NULL, dim * dim, sizeof(double)),
        .system = kg__resize(NULL, dim * dim, sizeof(double)),
        .squares = kg__resize(NULL, count, sizeof(double)),
        .kept = kg__resize(NULL, few * dim, sizeof(double)),
        .line = kg__resize(NULL, dim, sizeof(double)),
    };
    return ials->implicit != NULL && ials->explicit != NULL && ials->system != NULL &&
           ials->squares != NULL && ials->kept != NULL && ials->line != NULL;
}

/* ---- Implicit negatives ---- */

/* y += a x1 x2, number by number */
KG_CLONES static void add_products(double *restrict y, double a, const double *restrict x1,
                                   const double *restrict x2, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] += a * x1[i] * x2[i];
}

/* Row by row: number k of B G is a sum of rows of G, and B makes the row of B G B^T of it. */
static void add_relation(kg_ials *ials, const kg_ials_facts *facts, kg_directed directed) {
    const kg_params *params = facts->params;
    size_t dim = params->dim;
    size_t parts = params->scoring->parts;
    size_t n = dim / parts;
    const double *factors = facts->map->factors; /* of B */
    kg__fact_map_set(facts->map, params, directed);
    for (size_t k = 0; k < dim; k++) {
        memset(ials->line, 0, dim * sizeof *ials->line);
        for (size_t p = 0; p < parts; p++)
            kg__add_wide(ials->line, params->gram + (p * n + k % n) * dim, &factors[p * dim + k], 1,
                         dim);
        for (size_t to = 0; to < parts; to++)
            for (size_t p = 0; p < parts; p++)
                add_products(ials->implicit + k * dim + to * n, facts->options->ials_alpha,
                             factors + p * dim + to * n, ials->line + p * n, n);
    }
}

static bool is_alone(const kg_ials_facts *facts, size_t i) {
    const kg_link *links = facts->links;
    return (i == 0 || links[i - 1].directed != links[i].directed) &&
           (i + 1 == facts->count || links[i + 1].directed != links[i].directed);
}

/* Those of the links but the one at `left_out`, unless they are there from the last use. */
static void sum_relations(kg_ials *ials, const kg_ials_facts *facts, size_t left_out) {
    size_t dim = facts->params->dim;
    const kg_link *links = facts->links;
    size_t lacking = left_out != KG_NOTHING && is_alone(facts, left_out) ? left_out : KG_NOTHING;
    if (ials->is_made && ials->lacking == lacking)
        return;
    memset(ials->implicit, 0, dim * dim * sizeof *ials->implicit);
    for (size_t i = 0; i < facts->count; i++)
        if (i != lacking && (i == 0 || links[i - 1].directed != links[i].directed))
            add_relation(ials, facts, links[i].directed);
    ials->lacking = lacking;
    ials->is_made = true;
}

/* ---- An entity ---- */

void kg__ials_load(kg_ials *ials, const kg_ials_facts *facts) {
    size_t dim = facts->params->dim;
    for (size_t i = 0; i < facts->count; i++)
        ials->squares[i] = kg__dot_wide(facts->rows + i * dim, facts->rows + i * dim, dim);
    if (!facts->is_few)
        kg__gram_wide(ials->explicit, facts->rows, facts->count, dim, false);
    ials->is_made = false;
}

/* The sum of q q^T, on and below the diagonal of the system. */
static void start_system(kg_ials *ials, const kg_ials_facts *facts, size_t left_out) {
    size_t dim = facts->params->dim;
    bool is_whole = left_out == KG_NOTHING;
    if (facts->is_few) {
        size_t before = is_whole ? facts->count : left_out;
        size_t after = is_whole ? 0 : facts->count - left_out - 1;
        memcpy(ials->kept, facts->rows, before * dim * sizeof *ials->kept);
        memcpy(ials->kept + before * dim, facts->rows + (facts->count - after) * dim,
               after * dim * sizeof *ials->kept);
        kg__gram_wide(ials->system, ials->kept, before + after, dim, false);
        return;
    }
    memcpy(ials->system, ials->explicit, dim * dim * sizeof *ials->system);
    for (size_t k = 0; k < dim && !is_whole; k++) {
        const double *row = facts->rows + left_out * dim;
        double weight = -row[k];
        kg__add_wide(ials->system + k * dim, row, &weight, 1, k + 1);
    }
}

static double mean_square(const kg_ials *ials, const kg_ials_facts *facts, size_t left_out) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < facts->count; i++) {
        if (i == left_out)
            continue;
        sum += ials->squares[i];
        count++;
    }
    return sum / (double)count;
}

static void add_ridge(double *system, double ridge, size_t dim) {
    double largest = 0;
    for (size_t k = 0; k < dim; k++)
        largest = fmax(largest, system[k * dim + k]);
    ridge = fmax(ridge, LEAST_RIDGE * largest);
    for (size_t k = 0; k < dim; k++)
        system[k * dim + k] += ridge > 0 ? ridge : 1; /* of nothing, z is nothing */
}

bool kg__ials_solve(kg_ials *ials, const kg_ials_facts *facts, double *sum, size_t left_out) {
    size_t dim = facts->params->dim;
    const double one = 1;
    start_system(ials, facts, left_out);
    sum_relations(ials, facts, left_out);
    for (size_t k = 0; k < dim; k++)
        kg__add_wide(ials->system + k * dim, ials->implicit + k * dim, &one, 1, k + 1);
    add_ridge(ials->system, facts->options->ials_lambda * mean_square(ials, facts, left_out), dim);
    if (!kg__factor_wide(ials->system, dim))
        return false;
    kg__solve_wide(ials->system, sum, dim);
    return true;
}

double kg__ials_part(kg_ials *ials, const double *row, const real *vector, size_t dim) {
    for (size_t k = 0; k < dim; k++)
        ials->line[k] = (double)vector[k];
    kg__solve_wide(ials->system, ials->line, dim);
    return kg__dot_wide(row, ials->line, dim);
}
