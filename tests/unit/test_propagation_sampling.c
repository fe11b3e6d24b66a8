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
        kg__propagation_sparsify(on_scores, &pass, (real)0.1);
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

/* ---- Hubs ---- */

#define SPOKES 20000
#define OWN                                                                               \
    4096 /* links of a hub that are followed in training, about, where it is asked about, \
          */
#define OTHERS 8192 /* and where another is */

/* Up to five standard deviations of as many that are drawn of all spokes. */
static void assert_drawn(size_t found, double expected) {
    double deviation = sqrt(expected * (1 - expected / SPOKES));
    assert_true(fabs((double)found - expected) < 5 * deviation);
}

/* Half of the spokes with one relation, half with another: links are not in the order of ids. */
static void open_star(propagation_world *w) {
    kg_propagation_options options = some_options[0];
    options.edges = SPOKES;
    open_propagation_world(w, options, 9);
    close_graph(w);
    w->facts.count = 0;
    w->entity_count = SPOKES + 1;
    for (kg_id i = 1; i <= SPOKES; i++)
        assert_ok(kg__triples_push(&w->facts, (kg_triple){i, i % 2, 0}, NULL), NULL);
    open_graph(w);
}

/* Training follows a sample of a hub's links, the same in each layer and another for each query;
 * answering follows all. Facts that are not followed are known nevertheless. */
static void test_hub(void **state) {
    (void)state;
    propagation_world w;
    open_star(&w);
    kg_propagation_query query = query_of(&w, 0, 5);
    kg_propagation_pass pass = go_forward(&w, &query);
    assert_int_equal(pass.linked.neighbours, SPOKES);
    assert_int_equal(pass.linked.apart_count, 1);
    size_t before = 0;
    query.is_sampled = true;
    for (uint64_t i = 1; i <= 3; i++) {
        query.random = i * UINT64_C(1234567891234567);
        pass = go_forward(&w, &query);
        assert_drawn(pass.linked.neighbours - 1, OWN);
        assert_int_equal(pass.node_count, pass.linked.neighbours);
        assert_int_equal(pass.linked.apart_count, SPOKES - (pass.linked.neighbours - 1));
        for (size_t k = 1; k < pass.linked.apart_count; k++)
            assert_true(pass.linked.apart[k - 1] < pass.linked.apart[k]);
        for (size_t k = 0; k < pass.linked.apart_count; k++)
            assert_int_equal(pass.linked.apart_relations[k], 2 * (pass.linked.apart[k] % 2));
        assert_int_not_equal(pass.linked.apart_count, before);
        before = pass.linked.apart_count;
    }
    query = query_of(&w, 7, 0);
    query.left_out = SIZE_MAX;
    assert_int_equal(go_forward(&w, &query).node_count, 1 + SPOKES);
    query.is_sampled = true;
    assert_drawn(go_forward(&w, &query).node_count - 2, OTHERS);
    close_propagation_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampled),
        cmocka_unit_test(test_thinned),
        cmocka_unit_test(test_hub),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
