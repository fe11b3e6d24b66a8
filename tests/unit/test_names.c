/* Interning: against a list that is searched from end to end, with random names and with hashes
 * forced to be equal; names of all sizes; many names; and that many at once are like one by one. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWIN_MAX 2000

/* The naive table. */
struct twin {
    text names[TWIN_MAX];
    size_t count;
};

static kg_id twin_find(const struct twin *twin, text name) {
    for (size_t i = 0; i < twin->count; i++)
        if (twin->names[i].length == name.length &&
            memcmp(twin->names[i].bytes, name.bytes, name.length) == 0)
            return (kg_id)i;
    return KG_NO_ID;
}

static kg_id twin_intern(struct twin *twin, text name) {
    kg_id id = twin_find(twin, name);
    if (id == KG_NO_ID) {
        assert_true(twin->count < TWIN_MAX);
        id = (kg_id)twin->count++;
        twin->names[id] = name;
    }
    return id;
}

static kg_id intern(kg_names *names, kg_name name) {
    kg_error error = {0};
    kg_id id = KG_NO_ID;
    assert_ok(kg__names_intern(names, &id, name, &error), &error);
    return id;
}

static void assert_same(const kg_names *names, const struct twin *twin) {
    assert_int_equal(names->count, twin->count);
    for (size_t i = 0; i < twin->count; i++) {
        kg_name name = kg__names_get(names, (kg_id)i);
        assert_text(name.bytes, name.length, twin->names[i]);
    }
}

/* Names of 0 to 11 of the bytes 'a' to 'c', NUL and 0xff, so many come again and some are the
 * beginning of others. */
static text random_name(uint64_t *random, char out[12]) {
    size_t length = next_below(random, 12);
    for (size_t i = 0; i < length; i++)
        out[i] = "abc\0\xff"[next_below(random, 5)];
    return (text){out, length};
}

/* `hash_bits` of the hash are kept: with few of them, almost all names collide. */
static void compare_with_twin(unsigned hash_bits, size_t rounds) {
    struct twin *twin = must_allocate(1, sizeof *twin);
    char(*bytes)[12] = must_allocate(rounds, sizeof *bytes);
    kg_names names = {0};
    uint64_t random = 100 + hash_bits;
    uint32_t mask = hash_bits == 32 ? UINT32_MAX : (1u << hash_bits) - 1;
    for (size_t i = 0; i < rounds; i++) {
        text drawn = random_name(&random, bytes[i]);
        kg_name name = kg__name_of(drawn.bytes, drawn.length);
        name.hash &= mask;
        assert_int_equal(kg__names_find(&names, name), twin_find(twin, drawn));
        assert_int_equal(intern(&names, name), twin_intern(twin, drawn));
        assert_int_equal(kg__names_find(&names, name), twin_find(twin, drawn));
    }
    assert_same(&names, twin);
    kg__names_free(&names);
    free(bytes);
    free(twin);
}

static void test_like_twin(void **state) {
    (void)state;
    compare_with_twin(32, 2000);
}

static void test_like_twin_with_equal_hashes(void **state) {
    (void)state;
    static const unsigned bits[] = {0, 1, 3, 8};
    for (size_t i = 0; i < COUNT_OF(bits); i++)
        compare_with_twin(bits[i], 1000);
}

/* Hashes that end in ones start at the table's last slot, so a search must go around. */
static void test_hashes_at_the_end_of_the_table(void **state) {
    (void)state;
    kg_names names = {0};
    char digits[1000][8];
    for (kg_id i = 0; i < 1000; i++) {
        snprintf(digits[i], sizeof digits[i], "%u", i);
        kg_name name = {digits[i], (uint32_t)strlen(digits[i]), UINT32_MAX - i % 3};
        assert_int_equal(intern(&names, name), i);
    }
    for (kg_id i = 0; i < 1000; i++) {
        kg_name name = {digits[i], (uint32_t)strlen(digits[i]), UINT32_MAX - i % 3};
        assert_int_equal(kg__names_find(&names, name), i);
        name.hash = 5; /* no such name under this hash */
        assert_int_equal(kg__names_find(&names, name), KG_NO_ID);
    }
    kg__names_free(&names);
}

static void test_empty_table(void **state) {
    (void)state;
    kg_names names = {0};
    assert_int_equal(find_name(&names, "a"), KG_NO_ID);
    assert_int_equal(find_name(&names, ""), KG_NO_ID);
    kg_error error = {0};
    assert_ok(kg__names_intern_all(&names, NULL, NULL, 0, &error), &error);
    assert_int_equal(names.count, 0);
    kg__names_free(&names);
    kg__names_free(&names); /* once more does no harm */
}

static void test_empty_name(void **state) {
    (void)state;
    kg_names names = {0};
    assert_int_equal(intern(&names, kg__name_of("", 0)), 0);
    assert_int_equal(intern(&names, kg__name_of("a", 1)), 1);
    assert_int_equal(intern(&names, kg__name_of("", 0)), 0);
    assert_name(&names, 0, "");
    assert_name(&names, 1, "a");
    kg__names_free(&names);
}

/* Names of a megabyte that differ in one byte, at their beginning, middle or end. */
static void test_long_names(void **state) {
    (void)state;
    enum { SIZE = 1 << 20 };
    static const size_t places[] = {0, SIZE / 2, SIZE - 1};
    char *bytes = must_allocate(SIZE, 1);
    kg_names names = {0};
    memset(bytes, 'n', SIZE);
    assert_int_equal(intern(&names, kg__name_of(bytes, SIZE)), 0);
    assert_int_equal(intern(&names, kg__name_of(bytes, SIZE - 1)), 1);
    for (kg_id i = 0; i < COUNT_OF(places); i++) {
        bytes[places[i]] = 'x';
        assert_int_equal(intern(&names, kg__name_of(bytes, SIZE)), 2 + i);
        assert_int_equal(intern(&names, kg__name_of(bytes, SIZE)), 2 + i);
        bytes[places[i]] = 'n';
    }
    assert_int_equal(intern(&names, kg__name_of(bytes, SIZE)), 0);
    kg_name last = kg__names_get(&names, 4);
    assert_int_equal(last.length, SIZE);
    assert_int_equal(last.bytes[SIZE - 1], 'x');
    assert_memory_equal(last.bytes, bytes, SIZE - 1);
    kg__names_free(&names);
    free(bytes);
}

static void test_many_names(void **state) {
    (void)state;
    enum { COUNT = 200000 };
    kg_names names = {0};
    char name[32];
    for (kg_id i = 0; i < COUNT; i++) {
        int length = snprintf(name, sizeof name, "http://example.org/%u", i);
        assert_true(intern(&names, kg__name_of(name, (size_t)length)) == i);
    }
    assert_int_equal(names.count, COUNT);
    for (kg_id i = COUNT; i-- > 0;) {
        int length = snprintf(name, sizeof name, "http://example.org/%u", i);
        assert_true(kg__names_find(&names, kg__name_of(name, (size_t)length)) == i);
        kg_name back = kg__names_get(&names, i);
        assert_true(back.length == (uint32_t)length &&
                    memcmp(back.bytes, name, (size_t)length) == 0);
    }
    assert_int_equal(find_name(&names, "http://example.org/200000"), KG_NO_ID);
    kg__names_free(&names);
}

/* Lists of all lengths around the size of a group, added to params with and without names, with
 * few or many repetitions, with true hashes and with equal ones. */
static void test_all_at_once(void **state) {
    (void)state;
    static const size_t lengths[] = {1, 2, 31, 32, 33, 63, 64, 65, 500};
    uint64_t random = 7;
    for (size_t round = 0; round < 40; round++) {
        kg_names together = {0};
        kg_names single = {0};
        for (size_t i = 0; i < COUNT_OF(lengths); i++) {
            kg_name list[500];
            char bytes[500][12];
            kg_id found[500];
            for (size_t j = 0; j < lengths[i]; j++) {
                text drawn = random_name(&random, bytes[j]);
                list[j] =
                    kg__name_of(drawn.bytes, round % 2 == 0 ? drawn.length % 4 : drawn.length);
                if (round % 4 < 2)
                    list[j].hash &= 3;
            }
            kg_error error = {0};
            assert_ok(kg__names_intern_all(&together, found, list, lengths[i], &error), &error);
            for (size_t j = 0; j < lengths[i]; j++)
                assert_int_equal(found[j], intern(&single, list[j]));
        }
        assert_int_equal(together.count, single.count);
        for (kg_id id = 0; id < together.count; id++) {
            kg_name one = kg__names_get(&together, id);
            kg_name other = kg__names_get(&single, id);
            assert_text(one.bytes, one.length, ((text){other.bytes, other.length}));
        }
        kg__names_free(&together);
        kg__names_free(&single);
    }
}

/* The ids run out one before KG_NO_ID, and known names are still found then. */
static void test_no_more_ids(void **state) {
    (void)state;
    kg_names names = {0};
    assert_int_equal(intern(&names, kg__name_of("known", 5)), 0);
    names.count = KG_NO_ID - 1;
    kg_error error = {0};
    kg_id id = 0;
    assert_status(kg__names_intern(&names, &id, kg__name_of("new", 3), &error), KG_BAD_INPUT,
                  &error);
    assert_error_text(&error, "more than 4294967294 different names");
    assert_int_equal(intern(&names, kg__name_of("known", 5)), 0);
    kg__names_free(&names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_twin),
        cmocka_unit_test(test_like_twin_with_equal_hashes),
        cmocka_unit_test(test_hashes_at_the_end_of_the_table),
        cmocka_unit_test(test_empty_table),
        cmocka_unit_test(test_empty_name),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_no_more_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
