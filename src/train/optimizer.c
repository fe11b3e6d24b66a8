/* The steps. Each method is one expression, used with a gradient and without. */
#include "train/optimizer.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/lanes.h"
#include "math/vector.h"

const char *const kg__method_names[] = {"adagrad", "adam", "adagrad-row", NULL};

#define ADAGRAD_EPSILON ((real)1e-10)
#define ADAM_EPSILON ((real)1e-8)
#define BETA1 0.9
#define USUAL_BETA2 0.999

#ifdef KG_DOUBLE
#define SQRT sqrt
#else
#define SQRT sqrtf
#endif

/* AdaGrad and Adam differ in one expression. What is written for both has a constant `is_adam`
 * wherever it is inlined, so that each gets a loop of its own. */

KG_INLINED double rate_at(const kg_optimizer *optimizer, uint64_t step) {
    return optimizer->rate + (double)(step - 1) * optimizer->slope;
}

kg_status kg__optimizer_open(kg_optimizer *optimizer, kg_method method, kg_rates rates, double l2,
                             uint64_t step_count, kg_error *error) {
    double slope = step_count > 1 ? (rates.last - rates.first) / (double)(step_count - 1) : 0;
    *optimizer = (kg_optimizer){.method = method,
                                .beta2 = rates.beta2 > 0 ? rates.beta2 : USUAL_BETA2,
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
        optimizer->corrections[t] = (real)(1 / sqrt(1 - pow(optimizer->beta2, (double)t)));
    }
    return KG_OK;
}

size_t kg__optimizer_state(kg_method method, size_t columns) {
    return method == KG_ADAGRAD_ROW ? 1 : columns;
}

void kg__optimizer_close(kg_optimizer *optimizer) {
    kg__free(optimizer->rates);
    kg__free(optimizer->corrections);
    *optimizer = (kg_optimizer){0};
}

/* A step of a number w with the gradient g. Adam's alone: `second`, of which it keeps and to which
 * it adds a share, and `correction`. */
KG_INLINED void update(bool is_adam, real *w, real *first, real *second, real g, real rate,
                       real correction, real kept, real added) {
    if (is_adam) {
        *first = (real)BETA1 * *first + (real)(1 - BETA1) * g;
        *second = kept * *second + added * g * g;
        *w -= rate * *first / (SQRT(*second) * correction + ADAM_EPSILON);
    } else {
        *first += g * g;
        *w -= rate * g / (SQRT(*first) + ADAGRAD_EPSILON);
    }
}

/* Columns that are caught up together: few enough to stay in registers, enough that the processor
 * always has roots and divisions to work on while others are not finished. */
#define LANES 40

/* LANES columns from `at` take the steps behind `from`, up to and with `to`, without a gradient. */
KG_INLINED void catch_up_lanes(const kg_optimizer *o, bool is_adam, kg_param_row row, size_t at,
                               uint64_t from, uint64_t to) {
    real w[LANES];
    real first[LANES];
    real second[LANES] = {0};
    real l2 = o->l2;
    real kept = (real)o->beta2;
    real added = (real)(1 - o->beta2);
    memcpy(w, row.values + at, sizeof w);
    memcpy(first, row.first + at, sizeof first);
    if (is_adam)
        memcpy(second, row.second + at, sizeof second);
    for (uint64_t t = from + 1; t <= to; t++) {
        real rate = is_adam ? o->rates[t] : (real)rate_at(o, t);
        real correction = is_adam ? o->corrections[t] : 0;
#pragma omp simd
        for (size_t i = 0; i < LANES; i++)
            update(is_adam, &w[i], &first[i], &second[i], l2 * w[i], rate, correction, kept, added);
    }
    memcpy(row.values + at, w, sizeof w);
    memcpy(row.first + at, first, sizeof first);
    if (is_adam)
        memcpy(row.second + at, second, sizeof second);
}

/* A row of any width: what is left over is filled up with zeros, which stay zero. */
KG_INLINED void catch_up_row(const kg_optimizer *o, bool is_adam, kg_param_row row, size_t columns,
                             uint64_t from, uint64_t to) {
    size_t whole = columns - columns % LANES;
    size_t size = (columns - whole) * sizeof(real);
    for (size_t at = 0; at < whole; at += LANES)
        catch_up_lanes(o, is_adam, row, at, from, to);
    if (size == 0)
        return;
    real *const all[] = {row.values, row.first, row.second};
    real rest[3][LANES] = {{0}};
    for (size_t i = 0; i < (is_adam ? 3 : 2); i++)
        memcpy(rest[i], all[i] + whole, size);
    catch_up_lanes(o, is_adam, (kg_param_row){rest[0], rest[1], rest[2]}, 0, from, to);
    for (size_t i = 0; i < (is_adam ? 3 : 2); i++)
        memcpy(all[i] + whole, rest[i], size);
}

/* A step of a whole row with a gradient, or none: one sum serves all of its columns. */
KG_INLINED void step_together(const kg_optimizer *o, kg_param_row row, const real *gradient,
                              size_t columns, uint64_t step) {
    real l2 = o->l2;
    real squares = 0;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < columns; i++) {
        real g = (gradient == NULL ? 0 : gradient[i]) + l2 * row.values[i];
        squares += g * g;
    }
    *row.first += squares / (real)columns;
    real rate = (real)rate_at(o, step) / (SQRT(*row.first) + ADAGRAD_EPSILON);
#pragma omp simd
    for (size_t i = 0; i < columns; i++)
        row.values[i] -= rate * ((gradient == NULL ? 0 : gradient[i]) + l2 * row.values[i]);
}

KG_CLONES static void catch_up(const kg_optimizer *o, kg_param_row row, size_t columns,
                               uint64_t from, uint64_t to) {
    if (o->method == KG_ADAM)
        catch_up_row(o, true, row, columns, from, to);
    else if (o->method == KG_ADAGRAD_ROW)
        for (uint64_t t = from + 1; t <= to; t++)
            step_together(o, row, NULL, columns, t);
    else
        catch_up_row(o, false, row, columns, from, to);
}

void kg__optimizer_catch_up(const kg_optimizer *o, kg_param_row row, size_t columns, uint64_t from,
                            uint64_t to) {
    if (from < to && (o->method == KG_ADAM || o->l2 != 0)) /* otherwise nothing moves */
        catch_up(o, row, columns, from, to);
}

KG_INLINED void step_row(const kg_optimizer *o, bool is_adam, kg_param_row row,
                         const real *gradient, size_t columns, uint64_t step) {
    real rate = is_adam ? o->rates[step] : (real)rate_at(o, step);
    real correction = is_adam ? o->corrections[step] : 0;
    real l2 = o->l2;
    real kept = (real)o->beta2;
    real added = (real)(1 - o->beta2);
#pragma omp simd
    for (size_t i = 0; i < columns; i++)
        update(is_adam, &row.values[i], &row.first[i], is_adam ? &row.second[i] : NULL,
               gradient[i] + l2 * row.values[i], rate, correction, kept, added);
}

KG_CLONES static void take_step(const kg_optimizer *o, kg_param_row row, const real *gradient,
                                size_t columns, uint64_t step) {
    if (o->method == KG_ADAM)
        step_row(o, true, row, gradient, columns, step);
    else if (o->method == KG_ADAGRAD_ROW)
        step_together(o, row, gradient, columns, step);
    else
        step_row(o, false, row, gradient, columns, step);
}

void kg__optimizer_step(const kg_optimizer *o, kg_param_row row, const real *gradient,
                        size_t columns, uint64_t step) {
    take_step(o, row, gradient, columns, step);
}
