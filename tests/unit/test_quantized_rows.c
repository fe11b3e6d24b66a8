/* Quantised rows: scores are never farther off than their bound, which is close enough to be of
 * use; files of other rows are refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/vector.h"
#include "some_quantized.h"
#include "support.h"

#define ROWS 200
#define MOST_DIM 200

static real noise(uint64_t *state) {
    return (real)((double)next_below(state, 2000001) / 1e6 - 1);
}

/* Rows of very different sizes, with one large number, of a few values, of zeroes, not finite. */
static void make_rows(real *rows, size_t dim, uint64_t *state) {
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < dim; k++)
            rows[i * dim + k] = noise(state) * (real)pow(10, (double)(i % 13) - 6);
    memset(rows + 20 * dim, 0, dim * sizeof *rows);
    for (size_t k = 0; k < dim; k++)
        rows[21 * dim + k] = k % 2 == 0 ? (real)0.5 : (real)-0.5;
    rows[22 * dim] = 1000;
    rows[23 * dim + dim - 1] = (real)NAN;
    rows[24 * dim] = (real)INFINITY;
    for (size_t k = 0; k < dim; k++)
        rows[25 * dim + k] = KG_REAL_MIN / 4 * (real)(k % 3);
}

/* The product in as many bits as there are. */
static long double multiply(const real *x, const real *y, size_t dim) {
    long double sum = 0;
    for (size_t k = 0; k < dim; k++)
        sum += (long double)x[k] * (long double)y[k];
    return sum;
}

static void check_scores(const struct some_quantized *quantized, const real *rows, const real *v,
                         size_t dim, size_t first, size_t count) {
    _Alignas(64) int16_t codes[256];
    kg_quantized_query query = {.codes = codes};
    real scores[ROWS];
    kg__quantized_query_set(&query, v, dim);
    real bound = kg__quantized_scores(scores, &quantized->rows, first, count, &query);
    for (size_t i = 0; i < count; i++) {
        const real *row = rows + (first + i) * dim;
        bool is_finite = first + i != 23 && first + i != 24;
        assert_int_equal(isnan((double)scores[i]) == 0, is_finite);
        if (!is_finite)
            continue;
        assert_true(fabsl((long double)scores[i] - multiply(row, v, dim)) <= (long double)bound);
        assert_true(fabs((double)scores[i] - (double)kg__dot(row, v, dim)) <= (double)bound);
    }
}

static void test_bounds(void **state) {
    (void)state;
    static const size_t dims[] = {1, 2, 63, 64, 65, MOST_DIM};
    static real rows[ROWS * MOST_DIM];
    static real vector[MOST_DIM];
    uint64_t seed = 1;
    for (size_t d = 0; d < COUNT_OF(dims); d++) {
        struct some_quantized quantized;
        make_rows(rows, dims[d], &seed);
        quantize_rows(&quantized, rows, ROWS, dims[d]);
        for (size_t i = 0; i < 60; i++) {
            for (size_t k = 0; k < dims[d]; k++)
                vector[k] = i == 0 ? 0 : noise(&seed) * (real)pow(10, (double)(i % 9) - 4);
            check_scores(&quantized, rows, vector, dims[d], 0, ROWS);
            check_scores(&quantized, rows, vector, dims[d], i, 1 + i % 70); /* tighter */
        }
        free_quantized(&quantized);
    }
}

/* For ordinary rows the bound is a small share of what scores differ by. */
static void test_bound_is_of_use(void **state) {
    (void)state;
    static real rows[ROWS * MOST_DIM];
    real vector[MOST_DIM];
    _Alignas(64) int16_t codes[256];
    kg_quantized_query query = {.codes = codes};
    struct some_quantized quantized;
    real scores[ROWS];
    double squares = 0;
    uint64_t seed = 2;
    for (size_t i = 0; i < ROWS * MOST_DIM; i++)
        rows[i] = noise(&seed);
    for (size_t i = 0; i < MOST_DIM; i++)
        vector[i] = noise(&seed);
    quantize_rows(&quantized, rows, ROWS, MOST_DIM);
    kg__quantized_query_set(&query, vector, MOST_DIM);
    double bound = (double)kg__quantized_scores(scores, &quantized.rows, 0, ROWS, &query);
    for (size_t i = 0; i < ROWS; i++)
        squares += (double)scores[i] * (double)scores[i];
    assert_true(bound < 0.15 * sqrt(squares / ROWS));
    free_quantized(&quantized);
}

/* Sums that might overflow are not bounded. */
static void test_overflow(void **state) {
    (void)state;
    real rows[64];
    real vector[64];
    _Alignas(64) int16_t codes[64];
    kg_quantized_query query = {.codes = codes};
    struct some_quantized quantized;
    real score = 0;
    for (size_t i = 0; i < 64; i++) {
        rows[i] = (real)1e30;
        vector[i] = i % 2 == 0 ? KG_REAL_MAX / 2 : -KG_REAL_MAX / 2;
    }
    quantize_rows(&quantized, rows, 1, 64);
    kg__quantized_query_set(&query, vector, 64);
    assert_true(isinf((double)kg__quantized_scores(&score, &quantized.rows, 0, 1, &query)));
    free_quantized(&quantized);
}

static void test_other_rows_are_refused(void **state) {
    (void)state;
    const real rows[] = {1, 2, 3, 4, 5, 6};
    struct some_quantized quantized;
    kg_quantized_rows out = {0};
    kg_error error;
    quantize_rows(&quantized, rows, 3, 2);
    const char *refused = "quantized: expected an index of the rows of this model, found one of "
                          "others (kgraft index MODEL makes it anew)";
    assert_status(kg__quantized_rows_view(&out, &quantized.mapping, 2, 3, "of the test", &error),
                  KG_BAD_INPUT, &error);
    assert_error_text(&error, refused);
    assert_status(kg__quantized_rows_view(&out, &quantized.mapping, 3, 2, "of another", &error),
                  KG_BAD_INPUT, &error);
    assert_error_text(&error, refused);
    quantized.mapping.size -= 100;
    assert_status(kg__quantized_rows_view(&out, &quantized.mapping, 3, 2, "of the test", &error),
                  KG_BAD_INPUT, &error);
    assert_int_equal(out.count, 0);
    quantized.mapping.size += 100;
    free_quantized(&quantized);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_bound_is_of_use),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_other_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
