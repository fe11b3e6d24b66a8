/* The steps. Each method is one expression, used with a gradient and without. */
#include "train/optimizer.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/vector.h"

const char *const kg__method_names[] = {"adagrad", "adam", NULL};

#define ADAGRAD_EPSILON ((real)1e-10)
#define ADAM_EPSILON ((real)1e-8)
#define BETA1 0.9
#define BETA2 0.999

#ifdef KG_DOUBLE
#define SQRT sqrt
#else
#define SQRT sqrtf
#endif

static inline double rate_at(const kg_optimizer *optimizer, uint64_t step) {
    return optimizer->rate + (double)(step - 1) * optimizer->slope;
}

kg_status kg__optimizer_open(kg_optimizer *optimizer, kg_method method, kg_rates rates, double l2,
                             uint64_t step_count, kg_error *error) {
    double slope = step_count > 1 ? (rates.last - rates.first) / (double)(step_count - 1) : 0;
    *optimizer = (kg_optimizer){.method = method,
                                .rate = rates.first,
                                .slope = slope,
                                .l2 = (real)l2,
                                .step_count = step_count};
    if (method != KG_ADAM)
        return KG_OK;
    optimizer->rates = kg__alloc(step_count + 1, sizeof *optimizer->rates);
    optimizer->corrections = kg__alloc(step_count + 1, sizeof *optimizer->corrections);
    if (optimizer->rates == NULL || optimizer->corrections == NULL) {
        kg__optimizer_close(optimizer);
        return kg__fail_memory(error);
    }
    for (uint64_t t = 1; t <= step_count; t++) {
        optimizer->rates[t] = (real)(rate_at(optimizer, t) / (1 - pow(BETA1, (double)t)));
        optimizer->corrections[t] = (real)(1 / sqrt(1 - pow(BETA2, (double)t)));
    }
    return KG_OK;
}

void kg__optimizer_close(kg_optimizer *optimizer) {
    kg__free(optimizer->rates);
    kg__free(optimizer->corrections);
    *optimizer = (kg_optimizer){0};
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

/* Columns that are caught up together: few enough to stay in registers, enough that the processor
 * always has roots and divisions to work on while others are not finished. */
#define LANES 40

/* LANES columns take the steps behind `from`, `count` of them, without a gradient. */
static inline void adagrad_lanes(real *restrict values, real *restrict first, uint64_t from,
                                 uint64_t count, const kg_optimizer *o) {
    real w[LANES];
    real squares[LANES];
    memcpy(w, values, sizeof w);
    memcpy(squares, first, sizeof squares);
    for (uint64_t t = 0; t < count; t++) {
        real rate = (real)rate_at(o, from + t + 1);
#pragma omp simd
        for (size_t i = 0; i < LANES; i++)
            adagrad(&w[i], &squares[i], o->l2 * w[i], rate);
    }
    memcpy(values, w, sizeof w);
    memcpy(first, squares, sizeof squares);
}

static inline void adam_lanes(real *restrict values, real *restrict first, real *restrict second,
                              uint64_t count, real l2, const real *restrict rates,
                              const real *restrict corrections) {
    real w[LANES];
    real mean[LANES];
    real squares[LANES];
    memcpy(w, values, sizeof w);
    memcpy(mean, first, sizeof mean);
    memcpy(squares, second, sizeof squares);
    for (uint64_t t = 0; t < count; t++) {
        real rate = rates[t];
        real correction = corrections[t];
#pragma omp simd
        for (size_t i = 0; i < LANES; i++)
            adam(&w[i], &mean[i], &squares[i], l2 * w[i], rate, correction);
    }
    memcpy(values, w, sizeof w);
    memcpy(first, mean, sizeof mean);
    memcpy(second, squares, sizeof squares);
}

/* A row of any width: what is left over is filled up with zeros, which stay zero. */
KG_CLONES static void adagrad_catch_up(real *restrict values, real *restrict first, size_t dim,
                                       uint64_t from, uint64_t count, const kg_optimizer *o) {
    size_t whole = dim - dim % LANES;
    for (size_t at = 0; at < whole; at += LANES)
        adagrad_lanes(values + at, first + at, from, count, o);
    if (whole == dim)
        return;
    size_t size = (dim - whole) * sizeof *values;
    real rest[2][LANES] = {{0}};
    memcpy(rest[0], values + whole, size);
    memcpy(rest[1], first + whole, size);
    adagrad_lanes(rest[0], rest[1], from, count, o);
    memcpy(values + whole, rest[0], size);
    memcpy(first + whole, rest[1], size);
}

KG_CLONES static void adam_catch_up(real *restrict values, real *restrict first,
                                    real *restrict second, size_t dim, uint64_t count, real l2,
                                    const real *restrict rates, const real *restrict corrections) {
    size_t whole = dim - dim % LANES;
    for (size_t at = 0; at < whole; at += LANES)
        adam_lanes(values + at, first + at, second + at, count, l2, rates, corrections);
    if (whole == dim)
        return;
    size_t size = (dim - whole) * sizeof *values;
    real rest[3][LANES] = {{0}};
    memcpy(rest[0], values + whole, size);
    memcpy(rest[1], first + whole, size);
    memcpy(rest[2], second + whole, size);
    adam_lanes(rest[0], rest[1], rest[2], count, l2, rates, corrections);
    memcpy(values + whole, rest[0], size);
    memcpy(first + whole, rest[1], size);
    memcpy(second + whole, rest[2], size);
}

void kg__optimizer_catch_up(const kg_optimizer *o, kg_param_row row, size_t columns, uint64_t from,
                            uint64_t to) {
    if (from == to || (o->method == KG_ADAGRAD && o->l2 == 0)) /* nothing moves */
        return;
    if (o->method == KG_ADAM)
        adam_catch_up(row.values, row.first, row.second, columns, to - from, o->l2,
                      o->rates + from + 1, o->corrections + from + 1);
    else
        adagrad_catch_up(row.values, row.first, columns, from, to - from, o);
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

void kg__optimizer_step(const kg_optimizer *o, kg_param_row row, const real *gradient,
                        size_t columns, uint64_t step) {
    if (o->method == KG_ADAM)
        adam_step(row.values, row.first, row.second, gradient, columns, o->rates[step],
                  o->corrections[step], o->l2);
    else
        adagrad_step(row.values, row.first, gradient, columns, (real)rate_at(o, step), o->l2);
}
