/* Fitted lines against what they must be: the gradient of the likelihood vanishes there, outcomes
 * drawn from a line give it back, and where nothing is seen the prior stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>

#include "base/random.h"
#include "math/logistic_regression.h"

#define COUNT 20000

static const kg_logistic_prior wide = {
    .mean = {1, 0}, .deviation = {100, 100}, .least_slope = 1e-3};

/* Outcomes of the line 2 x - 3, every other one weighing double. */
static kg_outcome *draw(size_t count) {
    kg_outcome *out = calloc(count, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++) {
        double x = 6 * kg__random_unit(1, KG_STREAM_GENERATE_HEAD, i) - 1;
        double p = 1 / (1 + exp(3 - 2 * x));
        out[i] = (kg_outcome){x, (double)(1 + i % 2),
                              kg__random_unit(1, KG_STREAM_GENERATE_TAIL, i) < p};
    }
    return out;
}

static void test_gives_back_the_line(void **state) {
    (void)state;
    kg_outcome *outcomes = draw(COUNT);
    kg_logistic line = kg__logistic_fit(outcomes, COUNT, &wide);
    assert_true(fabs(line.slope - 2) < 0.1);
    assert_true(fabs(line.offset + 3) < 0.15);
    double by_slope = 0;
    double by_offset = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double p = 1 / (1 + exp(-(line.slope * outcomes[i].x + line.offset)));
        double miss = outcomes[i].weight * (p - (outcomes[i].is_true ? 1 : 0));
        by_slope += miss * outcomes[i].x;
        by_offset += miss;
    }
    /* what is left is the pull of a weak prior */
    assert_true(fabs(by_slope) < 1e-2);
    assert_true(fabs(by_offset) < 1e-2);
    free(outcomes);
}

static void test_prior_stands_alone(void **state) {
    (void)state;
    kg_logistic_prior prior = {.mean = {0.7, -5}, .deviation = {0.1, 1}, .least_slope = 0.1};
    kg_logistic line = kg__logistic_fit(NULL, 0, &prior);
    assert_true(line.slope == 0.7 && line.offset == -5);
}

/* Outcomes that fall with x would turn the order around: the slope stops at the least one. */
static void test_least_slope(void **state) {
    (void)state;
    kg_outcome outcomes[200];
    for (size_t i = 0; i < 200; i++)
        outcomes[i] = (kg_outcome){(double)i / 100, 1, i < 80};
    kg_logistic_prior prior = wide;
    prior.least_slope = 0.25;
    kg_logistic line = kg__logistic_fit(outcomes, 200, &prior);
    assert_true(line.slope == 0.25);
    double expected = 0;
    for (size_t i = 0; i < 200; i++)
        expected += 1 / (1 + exp(-(line.slope * outcomes[i].x + line.offset)));
    assert_true(fabs(expected - 80) < 1e-2);
}

/* All true, all false, and far away: nothing overflows. */
static void test_extremes(void **state) {
    (void)state;
    for (int truth = 0; truth < 2; truth++) {
        kg_outcome outcomes[50];
        for (size_t i = 0; i < 50; i++)
            outcomes[i] = (kg_outcome){1e4 * (double)i, 1e6, truth == 1};
        kg_logistic line = kg__logistic_fit(outcomes, 50, &wide);
        assert_true(isfinite(line.slope) != 0 && isfinite(line.offset) != 0);
        assert_true(line.slope >= wide.least_slope);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_back_the_line),
        cmocka_unit_test(test_prior_stands_alone),
        cmocka_unit_test(test_least_slope),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
