/* Quantised rows of entities: a copy in int8, a quarter of their bytes, that proposes answers where
 * reading all rows is what takes the time. Single precision decides, so answers stay the same.
 *
 * A row x is about s q and a query vector v about t p, where q and p are whole numbers from -127 to
 * 127. With the remainders e = x - s q and f = v - t p,
 *
 *     x . v = s t (q . p) + e . v + s q . f,
 *
 * and q . p is exact, so s t (q . p) is off by at most |e| |v| + |s q| |f|. Lengths that the bound
 * needs are kept for each row, rounded up. A row with a number that is not finite has the scale
 * NaN: its scores are NaN, which is never below anything, and it is scored again. */
#ifndef KG_MODEL_QUANTIZED_ROWS_H
#define KG_MODEL_QUANTIZED_ROWS_H

#include <stdint.h>

#include "base/file_mapping.h"
#include "base/output.h"
#include "math/real.h"

#define KG_MODEL_QUANTIZED "rows.int8"

/* So that a product of whole numbers fits into 31 bits. */
#define KG_MOST_QUANTIZED_DIM ((size_t)1 << 17)

typedef struct kg_row_scale {
    float scale;     /* s */
    float remainder; /* |e| */
    float length;    /* |s q| */
} kg_row_scale;

/* Views of a mapped file; all zeroes if there is none. */
typedef struct kg_quantized_rows {
    const int8_t *codes; /* q of each row, `stride` numbers, the last of them zeroes */
    const kg_row_scale *scales;
    size_t count;
    size_t dim;
    size_t stride;
} kg_quantized_rows;

/* Writes the copy of rows whose file has that checksum. */
KG_MUST_CHECK kg_status kg__quantized_rows_write(kg_output *output, const real *rows, size_t count,
                                                 size_t dim, const char *checksum, kg_error *error);

/* Refuses a copy of other rows, by count, dimension and checksum. */
KG_MUST_CHECK kg_status kg__quantized_rows_view(kg_quantized_rows *out, const kg_mapping *mapping,
                                                size_t count, size_t dim, const char *checksum,
                                                kg_error *error);

/* A query vector, quantised. */
typedef struct kg_quantized_query {
    int16_t *codes;   /* p: kg__quantized_stride numbers of the caller's, aligned to a cache line */
    double scale;     /* t */
    double length;    /* |v| */
    double remainder; /* |f| */
} kg_quantized_query;

size_t kg__quantized_stride(size_t dim);

/* Sets all but the pointer. */
void kg__quantized_query_set(kg_quantized_query *query, const real *vector, size_t dim);

/* Scores of `count` rows from `first` on. Returns a bound on what they are off, exact products and
 * roundings in single precision considered. */
real kg__quantized_scores(real *scores, const kg_quantized_rows *rows, size_t first, size_t count,
                          const kg_quantized_query *query);

#endif
