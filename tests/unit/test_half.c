/* Half precision: all halves against their definition, rounding against the two neighbours; rows
 * that threads widen at the same time. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "math/half.h"
#include "model/half_rows.h"
#include "support.h"

#define HALVES 65536
#define LARGEST 0x7bff /* finite */

/* A sign, five bits of exponent, ten of fraction. */
static double value_of(unsigned half) {
    int exponent = (int)(half >> 10 & 31);
    double fraction = half & 1023;
    double size = exponent == 0    ? ldexp(fraction, -24)
                  : exponent == 31 ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                                   : ldexp(1024 + fraction, exponent - 25);
    return half >> 15 ? -size : size;
}

static void test_all_halves(void **state) {
    (void)state;
    static uint16_t halves[HALVES];
    static uint16_t back[HALVES];
    static real widened[HALVES];
    for (unsigned i = 0; i < HALVES; i++)
        halves[i] = (uint16_t)i;
    kg__halves_widen(widened, halves, HALVES);
    assert_true(kg__halves_round(back, widened, HALVES)); /* those not finite were so before */
    for (unsigned i = 0; i < HALVES; i++) {
        double expected = value_of(i);
        assert_int_equal(kg__half_is_finite(halves[i]), isfinite(expected) != 0);
        if (isnan(expected)) {
            assert_true(isnan((double)widened[i]));
            assert_true(isnan(value_of(back[i])));
        } else {
            assert_true((double)widened[i] == expected);
            assert_true(signbit((double)widened[i]) == signbit(expected));
            assert_int_equal(back[i], i);
        }
    }
}

static void assert_rounds(double x, unsigned expected) {
    real numbers[2] = {(real)x, (real)-x};
    uint16_t halves[2];
    assert_true(kg__halves_round(halves, numbers, 2) == (expected <= LARGEST));
    assert_int_equal(halves[0], expected);
    assert_int_equal(halves[1], expected | 0x8000);
}

/* The middle of two neighbours goes to the even one, what is next to it to the nearest. All of
 * these numbers are exact in single precision. */
static void test_rounding(void **state) {
    (void)state;
    for (unsigned i = 0; i <= LARGEST; i++) {
        double low = value_of(i);
        double high = i == LARGEST ? 65536 : value_of(i + 1);
        double middle = (low + high) / 2;
        double step = (high - low) / 1024;
        assert_rounds(middle, i % 2 == 0 ? i : i + 1);
        assert_rounds(middle - step, i);
        assert_rounds(middle + step, i + 1);
    }
    assert_rounds(1e-30, 0);
    assert_rounds(1e30, LARGEST + 1);
}

#define ROWS 1003 /* no multiple of a group */
#define DIM 7

static void test_rows(void **state) {
    (void)state;
    kg_error error = {0};
    kg_half_rows half = {0};
    uint64_t random = 1;
    static uint16_t halves[ROWS * DIM];
    static real expected[ROWS * DIM];
    for (size_t i = 0; i < COUNT_OF(halves); i++)
        halves[i] = (uint16_t)next_below(&random, 0x7c00);
    kg__halves_widen(expected, halves, COUNT_OF(halves));
    for (size_t count = 1; count <= ROWS; count += 501) {
        assert_ok(kg__half_rows_open(&half, halves, count, DIM, &error), &error);
        bool is_good = true;
#pragma omp parallel for num_threads(4) reduction(&& : is_good) schedule(static, 1)
        for (size_t i = 0; i < 2 * count; i++) { /* each twice, in another order by each thread */
            size_t row = i * 389 % count;
            size_t length = count - row < 20 ? count - row : 20;
            kg__half_rows_need(&half, row, length);
            is_good = is_good && memcmp(half.rows + row * DIM, expected + row * DIM,
                                        length * DIM * sizeof(real)) == 0;
        }
        assert_true(is_good);
        kg__half_rows_close(&half);
    }
    kg__half_rows_close(&half);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_halves),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
