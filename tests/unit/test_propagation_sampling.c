/* Sampling in propagation: a sample of the reached candidates, and sparse gradients, both without
 * bias. */
#include <math.h>

#include "propagation_world.h"

/* What is sampled has the scores that it has among all, and weights whose sum is the number of
 * nodes on average; what is wanted is always there, with weight 1. */
static void test_sampled(void **state) {
    (void)state;
    propagation_world w;
    kg_arena kept = {0};
    open_propagation_world(&w, some_options[0], 9);
    kg_propagation_query query = query_of(&w, 0, 1);
    kg_propagation_pass all;
    assert_ok(kg__propagation_forward(&all, &w.model, &query, &w.worker, &kept, NULL), NULL);
    kg_id wanted = all.entities[2];
    double sum = 0;
    double squares = 0;
    double rows = 0;
    const int rounds = 2000;
    query.is_sampled = true;
    query.wanted = &wanted;
    query.wanted_count = 1;
    for (int i = 0; i < rounds; i++) {
        query.random = (uint64_t)i * UINT64_C(1234567891234567);
        kg_propagation_pass pass = go_forward(&w, &query);
        double nodes = 0;
        size_t k = 0;
        bool has_wanted = false;
        for (size_t j = 0; j < pass.count; j++) {
            while (all.entities[k] != pass.entities[j])
                k++;
            assert_true(pass.scores[j] == all.scores[k]);
            assert_true(pass.log_weights[j] >= 0);
            has_wanted = has_wanted || (pass.entities[j] == wanted && pass.log_weights[j] == 0);
            nodes += exp((double)pass.log_weights[j]);
        }
        assert_true(has_wanted);
        sum += nodes;
        squares += nodes * nodes;
        rows += (double)pass.count;
    }
    double mean = sum / rounds;
    double deviation = sqrt((squares / rounds - mean * mean) / rounds);
    assert_true(fabs(mean - (double)all.count) < 5 * deviation);
    assert_true(rows / rounds > 7.5 && rows / rounds < 9.5); /* 8, and what is wanted */
    kg__arena_free(&kept);
    close_propagation_world(&w);
}

/* Gradients are made sparse without bias, by numbers that have nothing to do with the sample. */
static void test_thinned(void **state) {
    (void)state;
    propagation_world w;
    open_propagation_world(&w, some_options[0], 9);
    kg_propagation_query query = query_of(&w, 0, 1);
    const double given[] = {-0.3, 0.02, -0.005, 0.1, 0};
    double sums[COUNT_OF(given)] = {0};
    double counts[COUNT_OF(given)] = {0};
    const int rounds = 2000;
    query.is_sampled = true;
    for (int round = 0; round < rounds; round++) {
        real on_scores[ENTITIES] = {0};
        query.random = (uint64_t)round * UINT64_C(1234567891234567);
        kg_propagation_pass pass = go_forward(&w, &query);
        for (size_t i = 0; i < pass.count; i++)
            on_scores[i] = (real)given[i % COUNT_OF(given)];
        kg__propagation_thin(on_scores, &pass, (real)0.1);
        assert_true(on_scores[0] == (pass.count > 0 ? (real)given[0] : 0));
        assert_true(on_scores[1] == 0 || on_scores[1] == (real)0.1);
        assert_true(on_scores[2] == 0 || on_scores[2] == (real)-0.1);
        for (size_t i = 0; i < 3 && i < pass.count; i++) {
            sums[i] += (double)on_scores[i];
            counts[i]++;
        }
    }
    for (size_t i = 1; i < 3; i++) { /* five standard deviations */
        double p = fabs(given[i]) / 0.1;
        double deviation = 0.1 * sqrt(p * (1 - p) / counts[i]);
        assert_true(counts[i] > rounds / 2.0);
        assert_true(fabs(sums[i] / counts[i] - given[i]) < 5 * deviation);
    }
    close_propagation_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampled),
        cmocka_unit_test(test_thinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
