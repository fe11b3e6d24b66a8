/* Made-up graphs: exactly as many facts as asked for, all different, everything used, the same
 * bytes for the same options; and Zipf's law, by chi-square, for several exponents. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/generate.h"

static kg_status generate(char **out, kg_generate_options options, const kg_progress *progress,
                          kg_error *error) {
    kg_output *output = NULL;
    assert_ok(kg__output_open(&output, "graph.tsv", "graph.tsv", error), error);
    kg_status status = kg__generate(output, &options, progress, error);
    if (status == KG_OK)
        assert_ok(kg__output_commit(output, error), error);
    kg__output_close(output);
    size_t size = 0;
    *out = status == KG_OK ? read_file("graph.tsv", &size) : NULL;
    return status;
}

/* A letter, a number and a character that ends it. */
static kg_id parse_number(const char **at, char letter, char end) {
    assert_int_equal(**at, letter);
    char *behind = NULL;
    unsigned long number = strtoul(*at + 1, &behind, 10);
    assert_true(behind > *at + 1 && *behind == end && number < KG_NO_ID);
    *at = behind + 1;
    return (kg_id)number;
}

/* The numbers of each line "eH\trR\teT\n", of which there must be `count`. */
static kg_triple *parse(const char *content, size_t count) {
    kg_triple *facts = must_allocate(count, sizeof *facts);
    const char *at = content;
    for (size_t i = 0; i < count; i++) {
        facts[i].head = parse_number(&at, 'e', '\t');
        facts[i].relation = parse_number(&at, 'r', '\t');
        facts[i].tail = parse_number(&at, 'e', '\n');
    }
    assert_int_equal(*at, '\0');
    return facts;
}

static int by_ids(const void *left, const void *right) {
    return memcmp(left, right, sizeof(kg_triple));
}

static void assert_as_promised(const char *content, kg_generate_options options) {
    kg_triple *facts = parse(content, options.facts);
    bool *entities = must_allocate(options.entities, sizeof *entities);
    bool *relations = must_allocate(options.relations, sizeof *relations);
    size_t used = 0;
    for (size_t i = 0; i < options.facts; i++) {
        assert_true(facts[i].head < options.entities && facts[i].tail < options.entities &&
                    facts[i].relation < options.relations);
        used += !entities[facts[i].head];
        entities[facts[i].head] = true;
        used += !entities[facts[i].tail];
        entities[facts[i].tail] = true;
        used += !relations[facts[i].relation];
        relations[facts[i].relation] = true;
    }
    assert_int_equal(used, options.entities + options.relations);
    qsort(facts, options.facts, sizeof *facts, by_ids);
    for (size_t i = 1; i < options.facts; i++)
        assert_true(by_ids(&facts[i - 1], &facts[i]) != 0);
    free(entities);
    free(relations);
    free(facts);
}

static void test_promises(void **state) {
    (void)state;
    static const kg_generate_options cases[] = {
        {1, 1, 1, 1, 1},
        {5, 1, 5, 1, 1},
        {7, 7, 1, 0, 1},
        {8, 4, 1, 4, 1}, /* the most that is allowed: half of all */
        {32, 4, 4, 2, 2},
        {1000, 1000, 3, 1, 3},
        {1000, 3, 1000, 1, 4},
        {20000, 300, 7, 0, 5},
        {20000, 300, 7, 1, 6},
        {20000, 1000, 50, 2.5, 7},
        {20000, 20000, 20000, 1.2, UINT64_MAX},
        {50, 10, 1, 4, 8}, /* a steep law that must reach half of all */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *content = NULL;
        char *again = NULL;
        kg_error error = {0};
        assert_ok(generate(&content, cases[i], NULL, &error), &error);
        assert_ok(generate(&again, cases[i], NULL, &error), &error);
        assert_string_equal(content, again);
        assert_as_promised(content, cases[i]);
        free(content);
        free(again);
    }
}

static void test_seeds_differ(void **state) {
    (void)state;
    char *contents[3];
    static const uint64_t seeds[] = {0, 1, (uint64_t)1 << 32};
    for (size_t i = 0; i < 3; i++)
        assert_ok(
            generate(&contents[i], (kg_generate_options){200, 50, 3, 1, seeds[i]}, NULL, NULL),
            NULL);
    assert_string_not_equal(contents[0], contents[1]);
    assert_string_not_equal(contents[0], contents[2]);
    for (size_t i = 0; i < 3; i++)
        free(contents[i]);
}

/* Chi-square of counts against the law, over ranks that expect at least 10: its mean is their
 * number less one, its variance twice that. */
static void assert_law(const uint64_t *counts, size_t ranks, double draws, double exponent) {
    double norm = 0;
    for (size_t k = 0; k < ranks; k++)
        norm += pow((double)k + 1, -exponent);
    double chi_square = 0;
    double freedom = -1;
    double rest = draws;
    double expected_rest = draws;
    for (size_t k = 0; k < ranks; k++) {
        double expected = draws * pow((double)k + 1, -exponent) / norm;
        if (expected < 10)
            break;
        double difference = (double)counts[k] - expected;
        chi_square += difference * difference / expected;
        freedom++;
        rest -= (double)counts[k];
        expected_rest -= expected;
    }
    if (expected_rest > 10) { /* all other ranks together */
        chi_square += (rest - expected_rest) * (rest - expected_rest) / expected_rest;
        freedom++;
    }
    if (fabs(chi_square - freedom) > 5 * sqrt(2 * freedom) + 5)
        fail_msg("exponent %g: chi-square %g with %g degrees of freedom", exponent, chi_square,
                 freedom);
}

static const double exponents[] = {0, 0.5, 0.999999, 1, 1.000001, 1.5, 2, 4};

/* As many facts as entities: the head of each is another one, so no draw is ever refused, and the
 * relations, of which each stands once at the beginning, follow the law to the letter. */
static void test_law_of_relations(void **state) {
    (void)state;
    enum { FACTS = 50000, RELATIONS = 200 };
    for (size_t i = 0; i < COUNT_OF(exponents); i++) {
        char *content = NULL;
        kg_generate_options options = {FACTS, FACTS, RELATIONS, exponents[i], 40 + i};
        assert_ok(generate(&content, options, NULL, NULL), NULL);
        kg_triple *facts = parse(content, FACTS);
        uint64_t counts[RELATIONS] = {0};
        for (size_t j = RELATIONS; j < FACTS; j++)
            counts[facts[j].relation]++;
        assert_law(counts, RELATIONS, FACTS - RELATIONS, exponents[i]);
        free(facts);
        free(content);
    }
}

static int descending(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a > b ? -1 : a < b;
}

/* The same for tails. Which entity has which rank is not promised, so they are ordered by how
 * often they occur; among the frequent, whose counts lie far apart, that is their rank. */
static void test_law_of_entities(void **state) {
    (void)state;
    enum { FACTS = 50000, TOP = 10 };
    uint64_t *counts = must_allocate(FACTS, sizeof *counts);
    for (size_t i = 0; i < COUNT_OF(exponents); i++) {
        char *content = NULL;
        kg_generate_options options = {FACTS, FACTS, 1, exponents[i], 50 + i};
        assert_ok(generate(&content, options, NULL, NULL), NULL);
        kg_triple *facts = parse(content, FACTS);
        memset(counts, 0, FACTS * sizeof *counts);
        for (size_t j = 0; j < FACTS; j++)
            counts[facts[j].tail]++;
        qsort(counts, FACTS, sizeof *counts, descending);
        double norm = 0;
        for (size_t k = 0; k < FACTS; k++)
            norm += pow((double)k + 1, -exponents[i]);
        for (size_t k = 0; k < TOP && exponents[i] >= 0.99; k++) {
            double expected = FACTS * pow((double)k + 1, -exponents[i]) / norm;
            assert_true(fabs((double)counts[k] - expected) < 5 * sqrt(expected) + 1);
        }
        if (exponents[i] == 0) /* once each on average; 15 times has a chance of 1e-7 in all */
            assert_true(counts[0] < 15 && counts[FACTS / 4] >= 1);
        free(facts);
        free(content);
    }
    free(counts);
}

/* Neighbouring ids should not be of neighbouring ranks, or the most frequent would lie together. */
static void test_frequent_entities_are_scattered(void **state) {
    (void)state;
    enum { FACTS = 50000, ENTITIES = 1000 };
    char *content = NULL;
    assert_ok(generate(&content, (kg_generate_options){FACTS, ENTITIES, 20, 1, 60}, NULL, NULL),
              NULL);
    kg_triple *facts = parse(content, FACTS);
    uint64_t in_first_tenth = 0;
    for (size_t i = 0; i < FACTS; i++)
        in_first_tenth += facts[i].tail < ENTITIES / 10;
    assert_true(in_first_tenth < FACTS / 2); /* unscattered, 65 % would be there */
    free(facts);
    free(content);
}

static void test_bad_options(void **state) {
    (void)state;
    const kg_generate_options cases[] = {
        {10, 0, 1, 1, 1},
        {10, 1, 0, 1, 1},
        {10, 10, 0, 1, 1},
        {10, 11, 1, 1, 1},
        {10, 1, 11, 1, 1},
        {9, 4, 1, 1, 1}, /* more than half of 16 */
        {(uint64_t)INT32_MAX + 1, 10, 10, 1, 1},
        {UINT64_MAX, UINT64_MAX, 1, 1, 1},
        {(uint64_t)1 << 33, (uint64_t)1 << 32, 1, 1, 1},
        {10, 10, 1, -0.1, 1},
        {10, 10, 1, 4.1, 1},
        {10, 10, 1, NAN, 1},
        {0, 0, 0, 1, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *content = NULL;
        kg_error error = {0};
        assert_status(generate(&content, cases[i], NULL, &error), KG_BAD_INPUT, &error);
        assert_memory_equal(error.message, "expected ", 9);
    }
}

static bool stop_when(void *payload, const kg_progress_report *report) {
    assert_true(report->total == 300000 && report->done <= report->total);
    return strcmp(report->stage, payload) != 0 || report->done == 0;
}

static void test_cancelled(void **state) {
    (void)state;
    static const char *const stages[] = {"drawing facts", "writing facts"};
    for (size_t i = 0; i < COUNT_OF(stages); i++) {
        kg_progress progress = {stop_when, (void *)stages[i]};
        kg_generate_options options = {300000, 1000, 10, 1, 1};
        char *content = NULL;
        kg_error error = {0};
        assert_int_equal(remove("graph.tsv"), 0);
        assert_status(generate(&content, options, &progress, &error), KG_CANCELLED, &error);
        assert_false(file_exists("graph.tsv"));
        write_file("graph.tsv", TEXT(""));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_seeds_differ),
        cmocka_unit_test(test_law_of_relations),
        cmocka_unit_test(test_law_of_entities),
        cmocka_unit_test(test_frequent_entities_are_scattered),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
