/* Small products by tiles against plain loops. */
#include "math/tile_product.h"

#include "support.h"

/* Of whole numbers, so that sums are exact in any order. */
static void test_products(void **state) {
    (void)state;
    enum { M = 11, N = 32, K = 5 };
    real a[M * K];
    real b[K * N];
    real start[N];
    real c[M * N];
    real by_rows[M * N];
    real transposed[K * N];
    for (size_t i = 0; i < M * K; i++)
        a[i] = (real)(i % 7) - 3;
    for (size_t i = 0; i < K * N; i++)
        b[i] = (real)(i % 5) - 2;
    for (size_t i = 0; i < N; i++)
        start[i] = (real)i;
    for (size_t i = 0; i < M * N; i++)
        c[i] = 1;
    for (size_t i = 0; i < K * N; i++)
        transposed[i] = 1;
    kg__tile_product(by_rows, start, a, b, M, N, K);
    kg__tile_product_add(c, a, b, M, N, K);
    kg__tile_product_transposed(transposed, a, by_rows, K, N, M);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            real sum = 0;
            for (size_t k = 0; k < K; k++)
                sum += a[i * K + k] * b[k * N + j];
            assert_true(by_rows[i * N + j] == sum + start[j]);
            assert_true(c[i * N + j] == sum + 1);
        }
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < N; j++) {
            real sum = 1;
            for (size_t k = 0; k < M; k++)
                sum += a[k * K + i] * by_rows[k * N + j];
            assert_true(transposed[i * N + j] == sum);
        }
    kg__tile_product(by_rows, NULL, a, b, 1, N, K);
    assert_true(by_rows[0] + 1 == c[0]);
}

static void test_transpose(void **state) {
    (void)state;
    enum { N = 12 };
    real a[N * N];
    real out[N * N];
    for (size_t i = 0; i < N * N; i++)
        a[i] = (real)i;
    kg__transpose(out, a, N);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            assert_true(out[j * N + i] == a[i * N + j]);
}

static void test_sum_of_lanes(void **state) {
    (void)state;
    real lanes[KG_LANES];
    real sum = 0;
    for (size_t i = 0; i < KG_LANES; i++)
        sum += lanes[i] = (real)(i * i);
    assert_true(kg__sum_lanes(lanes) == sum);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products),
                                       cmocka_unit_test(test_transpose),
                                       cmocka_unit_test(test_sum_of_lanes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
