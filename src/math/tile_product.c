/* Tiles of 8 rows, and behind them one of 4, one of 2 and a single row, as many as are left. */
#include "math/tile_product.h"

#define ROWS 8

/* A matrix, and what its rows start from. */
struct result {
    real *c;
    const real *start; /* NULL: what is there */
    bool is_zero;      /* they start from zero */
};

/* Rows i up to i + rows, `j` up to `j` + KG_LANES of the columns. `rows` is a constant where this
 * is called, so that the sums stay in registers. */
KG_INLINED void fill_tile(struct result to, const real *restrict a, const real *restrict b,
                          size_t i, size_t j, size_t n, size_t steps, size_t rows) {
    real sums[ROWS][KG_LANES];
    for (size_t r = 0; r < rows; r++) {
        const real *from = to.start != NULL ? to.start + j : to.c + (i + r) * n + j;
        if (to.is_zero) {
#pragma omp simd
            for (size_t k = 0; k < KG_LANES; k++)
                sums[r][k] = 0;
        } else {
#pragma omp simd
            for (size_t k = 0; k < KG_LANES; k++)
                sums[r][k] = from[k];
        }
    }
    for (size_t step = 0; step < steps; step++)
        for (size_t r = 0; r < rows; r++) {
            real factor = a[(i + r) * steps + step];
#pragma omp simd
            for (size_t k = 0; k < KG_LANES; k++)
                sums[r][k] += factor * b[step * n + j + k];
        }
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < KG_LANES; k++)
            to.c[(i + r) * n + j + k] = sums[r][k];
}

/* Likewise, all columns. */
KG_INLINED void fill_tiles(struct result to, const real *a, const real *b, size_t i, size_t n,
                           size_t steps, size_t rows) {
    for (size_t j = 0; j < n; j += KG_LANES)
        fill_tile(to, a, b, i, j, n, steps, rows);
}

KG_CLONES static void multiply(struct result to, const real *a, const real *b, size_t m, size_t n,
                               size_t k) {
    size_t i = 0;
    for (; i + ROWS <= m; i += ROWS)
        fill_tiles(to, a, b, i, n, k, ROWS);
    if ((m & 4) != 0)
        fill_tiles(to, a, b, i, n, k, 4);
    if ((m & 2) != 0)
        fill_tiles(to, a, b, i + (m & 4), n, k, 2);
    if ((m & 1) != 0)
        fill_tiles(to, a, b, m - 1, n, k, 1);
}

void kg__tile_product(real *c, const real *start, const real *a, const real *b, size_t m, size_t n,
                      size_t k) {
    multiply((struct result){c, start, start == NULL}, a, b, m, n, k);
}

void kg__tile_product_add(real *c, const real *a, const real *b, size_t m, size_t n, size_t k) {
    multiply((struct result){c, NULL, false}, a, b, m, n, k);
}

/* Rows i up to i + rows of a transposed product. */
KG_INLINED void add_tile(real *restrict c, const real *restrict a, const real *restrict b, size_t i,
                         size_t j, size_t m, size_t n, size_t steps, size_t count) {
    real sums[ROWS][KG_LANES];
    for (size_t r = 0; r < count; r++)
        for (size_t k = 0; k < KG_LANES; k++)
            sums[r][k] = c[(i + r) * n + j + k];
    for (size_t step = 0; step < steps; step++) {
        const real *factors = a + step * m + i;
        for (size_t r = 0; r < count; r++) {
#pragma omp simd
            for (size_t k = 0; k < KG_LANES; k++)
                sums[r][k] += factors[r] * b[step * n + j + k];
        }
    }
    for (size_t r = 0; r < count; r++)
        for (size_t k = 0; k < KG_LANES; k++)
            c[(i + r) * n + j + k] = sums[r][k];
}

KG_CLONES static void multiply_transposed(real *c, const real *a, const real *b, size_t m, size_t n,
                                          size_t k) {
    size_t i = 0;
    for (; i + ROWS <= m; i += ROWS)
        for (size_t j = 0; j < n; j += KG_LANES)
            add_tile(c, a, b, i, j, m, n, k, ROWS);
    for (; i < m; i++)
        for (size_t j = 0; j < n; j += KG_LANES)
            add_tile(c, a, b, i, j, m, n, k, 1);
}

void kg__tile_product_transposed(real *c, const real *a, const real *b, size_t m, size_t n,
                                 size_t k) {
    multiply_transposed(c, a, b, m, n, k);
}

/* In squares of four by four, which are turned in registers. */
void kg__transpose(real *out, const real *a, size_t n) {
    typedef real four __attribute__((vector_size(4 * sizeof(real))));
    for (size_t i = 0; i < n; i += 4)
        for (size_t j = 0; j < n; j += 4) {
            four rows[4];
            for (size_t r = 0; r < 4; r++)
                memcpy(&rows[r], a + (i + r) * n + j, sizeof rows[r]);
            four even = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6);
            four odd = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
            four even_below = __builtin_shufflevector(rows[2], rows[3], 0, 4, 2, 6);
            four odd_below = __builtin_shufflevector(rows[2], rows[3], 1, 5, 3, 7);
            rows[0] = __builtin_shufflevector(even, even_below, 0, 1, 4, 5);
            rows[1] = __builtin_shufflevector(odd, odd_below, 0, 1, 4, 5);
            rows[2] = __builtin_shufflevector(even, even_below, 2, 3, 6, 7);
            rows[3] = __builtin_shufflevector(odd, odd_below, 2, 3, 6, 7);
            for (size_t r = 0; r < 4; r++)
                memcpy(out + (j + r) * n + i, &rows[r], sizeof rows[r]);
        }
}
