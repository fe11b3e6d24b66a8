/* Statistics: histograms against counting by hand and against sorted lists, on random data sets
 * with facts of an entity with itself. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/stats.h"

static bool has(kg_triple fact, kg_id entity) {
    return fact.head == entity || fact.tail == entity;
}

static size_t facts_of(const kg_triples *facts, size_t entity) {
    size_t count = 0;
    for (size_t i = 0; i < facts->count; i++)
        count += has(facts->items[i], (kg_id)entity);
    return count;
}

/* How often each value from 0 occurs in a list, to the last that a histogram of it may hold. */
static void assert_histogram(const kg_histogram *found, const size_t *values, size_t count) {
    uint64_t total = 0;
    for (size_t k = 0; k < found->size; k++) {
        uint64_t expected = 0;
        for (size_t i = 0; i < count; i++)
            expected += values[i] == k;
        assert_int_equal(found->counts[k], expected);
        total += expected;
    }
    assert_int_equal(total, count); /* none is beyond its end */
    assert_int_equal(kg__histogram_total(found), count);
}

/* A query for each fact of an unseen entity, worth the number of its other facts. */
static size_t list_queries(size_t *values, const kg_dataset *dataset, kg_part part) {
    const kg_triples *facts = &dataset->parts[part];
    for (size_t i = 0; i < facts->count; i++) {
        bool head_unseen = facts->items[i].head >= kg__dataset_in_sample(dataset);
        kg_id unseen = head_unseen ? facts->items[i].head : facts->items[i].tail;
        values[i] = facts_of(facts, unseen) - 1;
    }
    return facts->count;
}

static void assert_stats(const kg_dataset *dataset) {
    kg_stats stats;
    kg_error error = {0};
    size_t values[2000];
    assert_ok(kg__stats_make(&stats, dataset, &error), &error);
    size_t entities = kg__dataset_in_sample(dataset);
    for (size_t i = 0; i < entities; i++)
        values[i] = facts_of(&dataset->parts[KG_TRAIN], i);
    assert_histogram(&stats.degrees, values, entities);
    assert_histogram(&stats.queries_valid, values, list_queries(values, dataset, KG_UNSEEN_VALID));
    assert_histogram(&stats.queries_test, values, list_queries(values, dataset, KG_UNSEEN_TEST));
    kg__stats_free(&stats);
    kg__stats_free(&stats);
}

static void test_by_hand(void **state) {
    (void)state;
    kg_dataset dataset;
    make_dataset(&dataset, "a r b\na r a\nb s c\na s b\n" /* a: 3, b: 3, c: 1 */
                           "\n"
                           "d r a\n" /* in sample without a training fact: 0 */
                           "\n\n"
                           "x r a\nb r x\n\n" /* two queries, each with one fact left */
                           "y r a\ny s a\ny r c\nz r c\n");
    kg_stats stats;
    assert_ok(kg__stats_make(&stats, &dataset, NULL), NULL);
    static const struct {
        uint64_t degrees, valid, test;
    } expected[4] = {{1, 0, 1}, {1, 2, 0}, {0, 0, 3}, {2, 0, 0}};
    assert_true(stats.degrees.size == 4 && stats.queries_valid.size >= 2);
    for (size_t k = 0; k < 4; k++) {
        assert_int_equal(stats.degrees.counts[k], expected[k].degrees);
        if (k < stats.queries_valid.size)
            assert_int_equal(stats.queries_valid.counts[k], expected[k].valid);
        if (k < stats.queries_test.size)
            assert_int_equal(stats.queries_test.counts[k], expected[k].test);
    }
    assert_int_equal(kg__histogram_total(&stats.queries_test), 4);
    assert_true(kg__histogram_mean(&stats.queries_test) == 1.5);
    assert_true(kg__histogram_mean(&stats.degrees) == 1.75);
    kg__stats_free(&stats);
    kg__dataset_close(&dataset);
}

static void test_without_unseen(void **state) {
    (void)state;
    kg_dataset dataset;
    make_dataset(&dataset, "a r b\n");
    kg_stats stats;
    assert_ok(kg__stats_make(&stats, &dataset, NULL), NULL);
    const kg_histogram *empty[] = {&stats.queries_valid, &stats.queries_test};
    for (size_t i = 0; i < COUNT_OF(empty); i++) {
        assert_int_equal(kg__histogram_total(empty[i]), 0);
        assert_true(kg__histogram_mean(empty[i]) == 0);
        assert_int_equal(kg__histogram_quantile(empty[i], 0.5), 0);
    }
    kg__stats_free(&stats);
    kg__dataset_close(&dataset);
}

/* Train over e0.., valid over the same and more, then unseen entities of each part. */
static void make_random(kg_dataset *dataset, uint64_t *random) {
    static const char prefixes[] = "eedvt"; /* of one end, by part; the other is in sample */
    static char facts[64000];
    size_t used = 0;
    uint64_t entities = 1 + next_below(random, 30);
    for (kg_part part = 0; part <= KG_UNSEEN_TEST; part++) {
        uint64_t count = part == KG_TRAIN ? 0 : next_below(random, 150);
        for (uint64_t i = 0; part == KG_TRAIN && i < entities; i++)
            used += (size_t)snprintf(facts + used, 32, "e%ju r e%ju\n", (uintmax_t)i,
                                     (uintmax_t)next_below(random, entities));
        for (uint64_t i = 0; i < count; i++) {
            bool swapped = next_below(random, 2) == 0;
            uintmax_t own = next_below(random, entities);
            uintmax_t other = next_below(random, entities);
            used += (size_t)snprintf(facts + used, 32, "%c%ju r %c%ju\n",
                                     swapped ? 'e' : prefixes[part], swapped ? other : own,
                                     swapped ? prefixes[part] : 'e', swapped ? own : other);
        }
        facts[used++] = '\n';
    }
    facts[used - 1] = '\0';
    make_dataset(dataset, facts);
}

static void test_random(void **state) {
    (void)state;
    uint64_t random = 30;
    for (int round = 0; round < 300; round++) {
        kg_dataset dataset;
        make_random(&dataset, &random);
        assert_stats(&dataset);
        kg__dataset_close(&dataset);
    }
}

static int by_size(const void *left, const void *right) {
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    return a < b ? -1 : a > b;
}

/* Of n values in order, the one at place ceil(share * n); the smallest for a share of 0. */
static void test_mean_and_quantiles(void **state) {
    (void)state;
    static const double shares[] = {0, 0.125, 0.25, 0.5, 0.625, 0.75, 0.875, 1};
    uint64_t random = 31;
    for (int round = 0; round < 500; round++) {
        uint64_t counts[20] = {0};
        size_t values[100];
        size_t count = 1 + next_below(&random, 100);
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            values[i] = next_below(&random, 1 + next_below(&random, 20));
            counts[values[i]]++;
            sum += (double)values[i];
        }
        qsort(values, count, sizeof *values, by_size);
        kg_histogram histogram = {counts, 20};
        assert_int_equal(kg__histogram_total(&histogram), count);
        assert_true(fabs(kg__histogram_mean(&histogram) - sum / (double)count) < 1e-12);
        for (size_t i = 0; i < COUNT_OF(shares); i++) {
            size_t place = (size_t)ceil(shares[i] * (double)count);
            assert_int_equal(kg__histogram_quantile(&histogram, shares[i]),
                             values[place == 0 ? 0 : place - 1]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_without_unseen),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_mean_and_quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
