/* Quantising, and products of whole numbers. */
#include "model/quantized_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/section_file.h"

#define LARGEST 127 /* of a code, in absolute value */

/* A row has a multiple of so many codes; rows whose products are taken together. */
#define STRIP 32
#define ROWS 64

static const char magic[] = "kgint8r1";

/* What the file is a copy of. */
struct origin {
    uint64_t count;
    uint64_t dim;
    char checksum[48]; /* zeroes behind it */
};

static struct origin origin_of(size_t count, size_t dim, const char *checksum) {
    struct origin out = {.count = count, .dim = dim};
    snprintf(out.checksum, sizeof out.checksum, "%s", checksum);
    return out;
}

size_t kg__quantized_stride(size_t dim) {
    return (dim + STRIP - 1) / STRIP * STRIP;
}

/* ---- Quantising ---- */

/* What a vector is quantised by: 0 if it is all zeroes, NaN if a number is not finite. */
static double scale_of(const real *x, size_t dim) {
    double largest = 0;
    double sum = 0;
    for (size_t i = 0; i < dim; i++) {
        largest = fmax(largest, fabs((double)x[i]));
        sum += (double)x[i] - (double)x[i]; /* NaN, or 0 */
    }
    return largest / LARGEST + sum;
}

static int code_of(double x, double scale) {
    double code = nearbyint(x / scale);
    return (int)fmin(fmax(code, -LARGEST), LARGEST);
}

/* A length that is not below its root in single precision; infinite where that overflows. */
static float round_up(double square) {
    double length = sqrt(square) * (1 + 1e-6) + (double)FLT_MIN;
    return length > (double)FLT_MAX ? (float)INFINITY : nextafterf((float)length, INFINITY);
}

/* A scale in single precision by which no code exceeds the largest by much, since it is rounded up.
 */
static kg_row_scale quantize(int8_t *codes, const real *row, size_t dim) {
    float scale = nextafterf((float)scale_of(row, dim), INFINITY);
    kg_row_scale out = {.scale = (float)NAN};
    double remainder = 0;
    double length = 0;
    if (!isfinite(scale))
        return out;
    for (size_t i = 0; i < dim; i++) {
        int code = code_of((double)row[i], (double)scale);
        double value = (double)scale * code;
        codes[i] = (int8_t)code;
        remainder += ((double)row[i] - value) * ((double)row[i] - value);
        length += value * value;
    }
    return (kg_row_scale){
        .scale = scale, .remainder = round_up(remainder), .length = round_up(length)};
}

void kg__quantized_query_set(kg_quantized_query *query, const real *vector, size_t dim) {
    double remainder = 0;
    double length = 0;
    query->scale = scale_of(vector, dim);
    memset(query->codes, 0, kg__quantized_stride(dim) * sizeof *query->codes);
    for (size_t i = 0; i < dim && query->scale > 0; i++) {
        int code = code_of((double)vector[i], query->scale);
        double rest = (double)vector[i] - query->scale * code;
        query->codes[i] = (int16_t)code;
        remainder += rest * rest;
        length += (double)vector[i] * (double)vector[i];
    }
    query->remainder = sqrt(remainder);
    query->length = sqrt(length);
}

/* ---- Files ---- */

kg_status kg__quantized_rows_write(kg_output *output, const real *rows, size_t count, size_t dim,
                                   const char *checksum, kg_error *error) {
    size_t stride = kg__quantized_stride(dim);
    const struct origin origin = origin_of(count, dim, checksum);
    kg_row_scale *scales = kg__alloc(count, sizeof *scales);
    int8_t *codes = kg__alloc(count * stride, sizeof *codes);
    kg_status status = scales == NULL || codes == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK) {
#pragma omp parallel for
        for (size_t i = 0; i < count; i++)
            scales[i] = quantize(codes + i * stride, rows + i * dim, dim);
        const kg_section sections[] = {
            {.bytes = &origin, .size = sizeof origin},
            {.bytes = scales, .size = count * sizeof *scales},
            {.bytes = codes, .size = count * stride},
        };
        status = kg__sections_write(output, magic, sections, 3, error);
    }
    kg__free(scales);
    kg__free(codes);
    return status;
}

kg_status kg__quantized_rows_view(kg_quantized_rows *out, const kg_mapping *mapping, size_t count,
                                  size_t dim, const char *checksum, kg_error *error) {
    kg_section sections[KG_MOST_SECTIONS];
    const struct origin expected = origin_of(count, dim, checksum);
    size_t stride = kg__quantized_stride(dim);
    KG_TRY(kg__sections_view(sections, mapping, magic, error));
    if (sections[0].size != sizeof expected ||
        memcmp(sections[0].bytes, &expected, sizeof expected) != 0)
        return kg_fail_at(error, mapping->path, 0, 0,
                          "expected an index of the rows of this model, found one of others "
                          "(kgraft index MODEL makes it anew)");
    if (sections[1].size != count * sizeof *out->scales || sections[2].size != count * stride)
        return kg__sections_refuse(mapping->path, "rows that do not fit together", error);
    *out = (kg_quantized_rows){.codes = sections[2].bytes,
                               .scales = sections[1].bytes,
                               .count = count,
                               .dim = dim,
                               .stride = stride};
    return KG_OK;
}

/* ---- Scores ---- */

/* The product of each of `count` rows. A code is widened to the type of the other factor by itself:
 * compilers know that sum. Of a strip that is widened first, gcc 12 keeps a copy on the stack,
 * which takes ten times as long with AVX-512. */
KG_CLONES static void multiply(int32_t *products, const int8_t *rows, size_t count,
                               const int16_t *p, size_t stride) {
    for (size_t k = 0; k < count; k++) {
        const int8_t *q = rows + k * stride;
        int32_t sum = 0;
        for (size_t i = 0; i < stride; i++) {
            int16_t wide = q[i];
            sum += (int32_t)wide * p[i];
        }
        products[k] = sum;
    }
}

/* Beside the remainders: conversion, two products and the final score's own sum are rounded, the
 * last at most dim times. Twice, and some for the lengths' own errors. Infinite if the final sum
 * might overflow. */
static real bound_of(const kg_quantized_rows *rows, const kg_quantized_query *query,
                     double remainder, double length) {
    double largest = (length + remainder) * (query->length + query->remainder);
    double roundings = 2 * ((double)rows->dim + 8) * (double)KG_REAL_EPSILON;
    double off = remainder * query->length + length * query->remainder;
    if (!(largest < (double)KG_REAL_MAX / 4))
        return (real)INFINITY;
    return (real)((off + roundings * largest) * (1 + 1e-6) +
                  (double)rows->dim * (double)KG_REAL_MIN);
}

real kg__quantized_scores(real *scores, const kg_quantized_rows *rows, size_t first, size_t count,
                          const kg_quantized_query *query) {
    float remainder = 0;
    float length = 0;
    for (size_t from = 0; from < count; from += ROWS) {
        size_t strip = count - from < ROWS ? count - from : ROWS;
        const kg_row_scale *scales = rows->scales + first + from;
        int32_t products[ROWS];
        multiply(products, rows->codes + (first + from) * rows->stride, strip, query->codes,
                 rows->stride);
        for (size_t i = 0; i < strip; i++) {
            scores[from + i] = (real)((double)scales[i].scale * query->scale * products[i]);
            if (scales[i].remainder > remainder) /* NaN is not */
                remainder = scales[i].remainder;
            if (scales[i].length > length)
                length = scales[i].length;
        }
    }
    return bound_of(rows, query, (double)remainder, (double)length);
}
