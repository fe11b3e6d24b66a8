/* The steps. Each method is one expression, used with a gradient and without. */
#include "learn/optimizer.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

#define ADAGRAD_EPSILON ((real)1e-10)
#define ADAM_EPSILON ((real)1e-8)
#define BETA1 0.9
#define BETA2 0.999

#ifdef KG_DOUBLE
#define SQRT sqrt
#else
#define SQRT sqrtf
#endif

kg_status kg_optimizer_open(kg_optimizer *optimizer, kg_method method, double rate, double l2,
                            uint64_t step_count, kg_error *error) {
    *optimizer = (kg_optimizer){
        .method = method, .rate = (real)rate, .l2 = (real)l2, .step_count = step_count};
    if (method != KG_ADAM)
        return KG_OK;
    optimizer->rates = kg_alloc(step_count + 1, sizeof *optimizer->rates);
    optimizer->corrections = kg_alloc(step_count + 1, sizeof *optimizer->corrections);
    if (optimizer->rates == NULL || optimizer->corrections == NULL) {
        kg_optimizer_close(optimizer);
        return kg_fail_memory(error);
    }
    for (uint64_t t = 1; t <= step_count; t++) {
        optimizer->rates[t] = (real)(rate / (1 - pow(BETA1, (double)t)));
        optimizer->corrections[t] = (real)(1 / sqrt(1 - pow(BETA2, (double)t)));
    }
    return KG_OK;
}

void kg_optimizer_close(kg_optimizer *optimizer) {
    kg_free(optimizer->rates);
    kg_free(optimizer->corrections);
    *optimizer = (kg_optimizer){0};
}

kg_status kg_table_open(kg_table *table, size_t rows, size_t dim, kg_method method,
                        kg_error *error) {
    *table = (kg_table){.rows = rows, .dim = dim};
    if (dim != 0 && rows > SIZE_MAX / dim)
        return kg_fail_memory(error);
    table->values = kg_alloc(rows * dim, sizeof *table->values);
    table->first = kg_alloc(rows * dim, sizeof *table->first);
    table->steps = kg_alloc(rows, sizeof *table->steps);
    if (method == KG_ADAM)
        table->second = kg_alloc(rows * dim, sizeof *table->second);
    if (table->values == NULL || table->first == NULL || table->steps == NULL ||
        (method == KG_ADAM && table->second == NULL)) {
        kg_table_close(table);
        return kg_fail_memory(error);
    }
    return KG_OK;
}

void kg_table_close(kg_table *table) {
    kg_free(table->values);
    kg_free(table->first);
    kg_free(table->second);
    kg_free(table->steps);
    *table = (kg_table){0};
}

static inline void adagrad(real *w, real *squares, real g, real rate) {
    *squares += g * g;
    *w -= rate * g / (SQRT(*squares) + ADAGRAD_EPSILON);
}

static inline void adam(real *w, real *mean, real *squares, real g, real rate, real correction) {
    *mean = (real)BETA1 * *mean + (real)(1 - BETA1) * g;
    *squares = (real)BETA2 * *squares + (real)(1 - BETA2) * g * g;
    *w -= rate * *mean / (SQRT(*squares) * correction + ADAM_EPSILON);
}

/* Columns that are caught up together: enough that the processor always has roots and divisions to
 * work on while others are not finished. */
#define LANES 32

/* At most LANES columns take `count` steps without a gradient. */
KG_CLONES static void adagrad_lanes(real *restrict values, real *restrict first, size_t columns,
                                    uint64_t count, real rate, real l2) {
    real w[LANES] = {0};
    real squares[LANES] = {0};
    memcpy(w, values, columns * sizeof *w);
    memcpy(squares, first, columns * sizeof *squares);
    for (uint64_t t = 0; t < count; t++) {
#pragma omp simd
        for (size_t i = 0; i < LANES; i++)
            adagrad(&w[i], &squares[i], l2 * w[i], rate);
    }
    memcpy(values, w, columns * sizeof *w);
    memcpy(first, squares, columns * sizeof *squares);
}

KG_CLONES static void adam_lanes(real *restrict values, real *restrict first, real *restrict second,
                                 size_t columns, uint64_t count, real l2,
                                 const real *restrict rates, const real *restrict corrections) {
    real w[LANES] = {0};
    real mean[LANES] = {0};
    real squares[LANES] = {0};
    memcpy(w, values, columns * sizeof *w);
    memcpy(mean, first, columns * sizeof *mean);
    memcpy(squares, second, columns * sizeof *squares);
    for (uint64_t t = 0; t < count; t++) {
        real rate = rates[t];
        real correction = corrections[t];
#pragma omp simd
        for (size_t i = 0; i < LANES; i++)
            adam(&w[i], &mean[i], &squares[i], l2 * w[i], rate, correction);
    }
    memcpy(values, w, columns * sizeof *w);
    memcpy(first, mean, columns * sizeof *mean);
    memcpy(second, squares, columns * sizeof *squares);
}

void kg_table_catch_up(kg_table *table, const kg_optimizer *o, size_t row, uint64_t step) {
    uint64_t from = table->steps[row];
    uint64_t count = step - from;
    table->steps[row] = step;
    if (count == 0 || (o->method == KG_ADAGRAD && o->l2 == 0)) /* nothing moves */
        return;
    for (size_t column = 0; column < table->dim; column += LANES) {
        size_t left = table->dim - column;
        size_t columns = left < LANES ? left : LANES;
        size_t at = row * table->dim + column;
        if (o->method == KG_ADAM)
            adam_lanes(table->values + at, table->first + at, table->second + at, columns, count,
                       o->l2, o->rates + from + 1, o->corrections + from + 1);
        else
            adagrad_lanes(table->values + at, table->first + at, columns, count, o->rate, o->l2);
    }
}

KG_CLONES static void adagrad_step(real *restrict values, real *restrict first,
                                   const real *restrict gradient, size_t dim, real rate, real l2) {
#pragma omp simd
    for (size_t i = 0; i < dim; i++)
        adagrad(&values[i], &first[i], gradient[i] + l2 * values[i], rate);
}

KG_CLONES static void adam_step(real *restrict values, real *restrict first, real *restrict second,
                                const real *restrict gradient, size_t dim, real rate,
                                real correction, real l2) {
#pragma omp simd
    for (size_t i = 0; i < dim; i++)
        adam(&values[i], &first[i], &second[i], gradient[i] + l2 * values[i], rate, correction);
}

void kg_table_step(kg_table *table, const kg_optimizer *o, size_t row, const real *gradient,
                   uint64_t step) {
    size_t at = row * table->dim;
    table->steps[row] = step;
    if (o->method == KG_ADAM)
        adam_step(table->values + at, table->first + at, table->second + at, gradient, table->dim,
                  o->rates[step], o->corrections[step], o->l2);
    else
        adagrad_step(table->values + at, table->first + at, gradient, table->dim, o->rate, o->l2);
}
