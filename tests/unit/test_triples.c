/* Lists and sets of triples: duplicates go as a naive search says, the first of each stays, and
 * the order is kept; ids at the edges of their range; and the most that a list can hold. */
#include "support.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool same(kg_triple a, kg_triple b) {
    return a.head == b.head && a.relation == b.relation && a.tail == b.tail;
}

/* Pushes the same triples and drops what was there before, by looking at all of them. */
static size_t naive_unique(kg_triple *items, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t j = 0; j < kept && !known; j++)
            known = same(items[j], items[i]);
        if (!known)
            items[kept++] = items[i];
    }
    return kept;
}

static void compare_unique(const kg_triple *items, size_t count) {
    kg_triples triples = {0};
    kg_error error = {0};
    kg_triple *expected = must_allocate(count, sizeof *expected);
    for (size_t i = 0; i < count; i++) {
        assert_ok(kg__triples_push(&triples, items[i], &error), &error);
        expected[i] = items[i];
    }
    assert_int_equal(triples.count, count);
    size_t kept = naive_unique(expected, count);
    size_t dropped = SIZE_MAX;
    assert_ok(kg__triples_unique(&triples, &dropped, &error), &error);
    assert_int_equal(triples.count, kept);
    assert_int_equal(dropped, count - kept);
    for (size_t i = 0; i < kept; i++)
        assert_true(same(triples.items[i], expected[i]));
    kg__triples_free(&triples);
    free(expected);
}

static void test_unique_of_little(void **state) {
    (void)state;
    kg_triples none = {0};
    size_t dropped = 1;
    assert_ok(kg__triples_unique(&none, &dropped, NULL), NULL);
    assert_int_equal(none.count, 0);
    assert_int_equal(dropped, 0);
    kg__triples_free(&none);
    static const kg_triple items[] = {{1, 2, 3}, {3, 2, 1}, {1, 2, 3}, {2, 1, 3},
                                      {1, 3, 2}, {3, 2, 1}, {1, 2, 3}, {3, 1, 2}};
    for (size_t count = 0; count <= COUNT_OF(items); count++)
        compare_unique(items, count);
}

/* From nearly no repetitions to nearly nothing else. */
static void test_unique_of_random(void **state) {
    (void)state;
    static const uint64_t ranges[] = {1, 2, 3, 5, 10, 100};
    uint64_t random = 8;
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        for (size_t count = 1; count <= 3000; count = 2 * count + 17) {
            kg_triple items[3000];
            for (size_t j = 0; j < count; j++)
                items[j] = (kg_triple){(kg_id)next_below(&random, ranges[i]),
                                       (kg_id)next_below(&random, ranges[i]),
                                       (kg_id)next_below(&random, ranges[i])};
            compare_unique(items, count);
        }
}

static void test_unique_of_large_ids(void **state) {
    (void)state;
    static const kg_id ids[] = {0, 1, UINT16_MAX, 1u << 31, UINT32_MAX - 1, UINT32_MAX};
    kg_triple items[2 * 6 * 6 * 6];
    size_t count = 0;
    for (int twice = 0; twice < 2; twice++)
        for (size_t i = 0; i < 6 * 6 * 6; i++)
            items[count++] = (kg_triple){ids[i / 36], ids[i / 6 % 6], ids[i % 6]};
    compare_unique(items, count);
}

/* A grid of ids: a weak hash would make this crawl, as every slot would be searched through. There
 * are more of them than are searched in one piece. */
static void test_unique_of_many(void **state) {
    (void)state;
    enum { SIDE = IS_SANITIZED ? 1000 : 2000 };
    kg_triples triples = {0};
    kg_error error = {0};
    assert_ok(kg__triples_reserve(&triples, (size_t)SIDE * SIDE + SIDE, &error), &error);
    for (kg_id i = 0; i < SIDE * SIDE; i++)
        triples.items[triples.count++] = (kg_triple){i / SIDE, 0, i % SIDE};
    for (kg_id i = 0; i < SIDE; i++)
        triples.items[triples.count++] = (kg_triple){i, 0, SIDE - 1 - i};
    size_t dropped = 0;
    assert_ok(kg__triples_unique(&triples, &dropped, &error), &error);
    assert_int_equal(dropped, SIDE);
    for (kg_id i = 0; i < SIDE * SIDE; i++)
        assert_true(same(triples.items[i], (kg_triple){i / SIDE, 0, i % SIDE}));
    kg__triples_free(&triples);
}

/* So many that some have the same hash of 32 bits though they differ, in one place only. */
static void test_equal_hashes(void **state) {
    (void)state;
    enum { COUNT = 300000 };
    for (int place = 0; place < 3; place++) {
        kg_triples triples = {0};
        kg_error error = {0};
        assert_ok(kg__triples_reserve(&triples, COUNT, &error), &error);
        for (kg_id i = 0; i < COUNT; i++)
            triples.items[triples.count++] =
                (kg_triple){place == 0 ? i : 5, place == 1 ? i : 5, place == 2 ? i : 5};
        size_t dropped = 1;
        assert_ok(kg__triples_unique(&triples, &dropped, &error), &error);
        assert_int_equal(dropped, 0);
        kg__triples_free(&triples);
    }
}

/* Enough that threads share the work: whatever their number, the first of each stays. */
static void test_unique_by_threads(void **state) {
    (void)state;
    enum { COUNT = 40000 };
    static const int threads[] = {1, 2, 7};
    kg_triple *items = must_allocate(COUNT, sizeof *items);
    uint64_t random = 10;
    for (size_t i = 0; i < COUNT; i++)
        items[i] = (kg_triple){(kg_id)next_below(&random, 10), (kg_id)next_below(&random, 10),
                               (kg_id)(i / 4000 * 4 + next_below(&random, 5))};
    omp_set_dynamic(0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        omp_set_num_threads(threads[i]);
        compare_unique(items, COUNT);
    }
    free(items);
}

static void test_set(void **state) {
    (void)state;
    enum { COUNT = 500 };
    static kg_triple items[COUNT];
    uint64_t random = 9;
    for (size_t room = COUNT; room <= 2 * COUNT; room += COUNT) {
        kg_triple_set set;
        kg_error error = {0};
        assert_ok(kg__triple_set_open(&set, room, &error), &error);
        for (size_t i = 0; i < COUNT; i++) {
            items[i] = (kg_triple){(kg_id)next_below(&random, 8), (kg_id)next_below(&random, 8),
                                   (kg_id)next_below(&random, 8)};
            bool is_new = true;
            for (size_t j = 0; j < i; j++)
                is_new = is_new && !same(items[j], items[i]);
            assert_int_equal(kg__triple_set_add(&set, items, i), is_new);
            assert_false(kg__triple_set_add(&set, items, i));
        }
        kg__triple_set_close(&set);
    }
}

/* A set for n triples takes n different ones, whatever n is, and still knows what is in it. */
static void test_set_has_room(void **state) {
    (void)state;
    for (size_t count = 0; count <= 200; count++) {
        kg_triple items[200];
        kg_triple_set set;
        assert_ok(kg__triple_set_open(&set, count, NULL), NULL);
        for (size_t i = 0; i < count; i++) {
            items[i] = (kg_triple){(kg_id)i, 7, 0};
            assert_true(kg__triple_set_add(&set, items, i));
        }
        for (size_t i = 0; i < count; i++)
            assert_false(kg__triple_set_add(&set, items, i));
        assert_true(set.slot_count > count); /* or looking for another would never end */
        kg__triple_set_close(&set);
    }
}

static void test_reserve(void **state) {
    (void)state;
    kg_triples triples = {0};
    kg_error error = {0};
    assert_ok(kg__triples_reserve(&triples, 1000, &error), &error);
    assert_int_equal(triples.count, 0);
    assert_true(triples.capacity >= 1000);
    memset(triples.items, 0, 1000 * sizeof *triples.items);
    const kg_triple *before = triples.items;
    for (kg_id i = 0; i < 1000; i++)
        assert_ok(kg__triples_push(&triples, (kg_triple){i, i, i}, &error), &error);
    assert_ptr_equal(triples.items, before);
    kg__triples_free(&triples);
    assert_int_equal(triples.count, 0);
    kg__triples_free(&triples);
}

/* Positions are 32 bits wide, and the last of them means something else. */
static void test_too_many(void **state) {
    (void)state;
    static const struct {
        size_t count, more;
    } cases[] = {{0, UINT32_MAX},
                 {0, SIZE_MAX},
                 {UINT32_MAX - 1, 1},
                 {UINT32_MAX - 10, 10},
                 {UINT32_MAX - 10, SIZE_MAX}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_triples triples = {.count = cases[i].count};
        kg_error error = {0};
        assert_status(kg__triples_reserve(&triples, cases[i].more, &error), KG_BAD_INPUT, &error);
        assert_error_text(&error, "more than 4294967294 facts in one part");
        assert_null(triples.items);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unique_of_little),
        cmocka_unit_test(test_unique_of_random),
        cmocka_unit_test(test_unique_of_large_ids),
        cmocka_unit_test(test_unique_of_many),
        cmocka_unit_test(test_equal_hashes),
        cmocka_unit_test(test_unique_by_threads),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_set_has_room),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
