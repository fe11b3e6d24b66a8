/* Allocation: products that overflow, sizes of zero, growth by doubling, and that a failure leaves
 * the old block alone. */
#include "support.h"

#include <string.h>

#include "base/memory.h"
#include "too_large.h"

static void test_overflow(void **state) {
    (void)state;
    char *block = kg__resize(NULL, 5, 1);
    memcpy(block, "block", 5);
    for (size_t i = 0; i < COUNT_OF(too_large); i++) {
        assert_null(kg__alloc(too_large[i].count, too_large[i].size));
        assert_null(kg__resize(NULL, too_large[i].count, too_large[i].size));
        assert_null(kg__resize(block, too_large[i].count, too_large[i].size));
        assert_memory_equal(block, "block", 5);
    }
    kg__free(block);
}

static void test_zero_sizes(void **state) {
    (void)state;
    static const struct {
        size_t count, size;
    } sizes[] = {{0, 8}, {8, 0}, {0, 0}, {0, SIZE_MAX}, {SIZE_MAX, 0}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *one = kg__alloc(sizes[i].count, sizes[i].size);
        void *other = kg__alloc(sizes[i].count, sizes[i].size);
        assert_non_null(one);
        assert_non_null(other);
        assert_ptr_not_equal(one, other);
        one = kg__resize(one, sizes[i].count, sizes[i].size); /* not freed, as realloc may do */
        assert_non_null(one);
        kg__free(one);
        kg__free(other);
    }
    kg__free(NULL);
}

static void test_blocks_are_zeroed(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 24, 4096, 100000, (size_t)5 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *dirty = kg__resize(NULL, sizes[i], 1); /* likely to be what the next one gets */
        memset(dirty, 0x5a, sizes[i]);
        kg__free(dirty);
        const char *block = kg__alloc(sizes[i], 1);
        assert_non_null(block);
        assert_true(block[0] == 0 && memcmp(block, block + 1, sizes[i] - 1) == 0);
        kg__free((void *)block);
    }
}

/* Around the size from which huge pages are asked for, too. */
static void test_resize_keeps_content(void **state) {
    (void)state;
    static const size_t sizes[] = {1,
                                   100,
                                   70000,
                                   ((size_t)4 << 20) - 1,
                                   (size_t)4 << 20,
                                   ((size_t)4 << 20) + 1,
                                   ((size_t)11 << 20) + 13,
                                   5000,
                                   3};
    unsigned char *block = NULL;
    size_t filled = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        block = kg__resize(block, sizes[i], 1);
        assert_non_null(block);
        for (size_t j = 0; j < filled && j < sizes[i]; j++)
            assert_true(block[j] == (unsigned char)(j * 31 >> 3));
        for (size_t j = 0; j < sizes[i]; j++)
            block[j] = (unsigned char)(j * 31 >> 3);
        filled = sizes[i];
    }
    kg__free(block);
}

static void test_grow(void **state) {
    (void)state;
    size_t capacity = 0;
    size_t moves = 0;
    uint64_t *block = NULL;
    for (size_t count = 1; count <= 100000; count++) {
        size_t before = capacity;
        uint64_t *grown = kg__grow(block, &capacity, count, sizeof *block);
        assert_non_null(grown);
        assert_true(capacity >= count);
        moves += capacity != before;
        if (capacity == before)
            assert_ptr_equal(grown, block);
        block = grown;
        block[count - 1] = count;
    }
    assert_true(moves <= 18); /* doubling, or 100,000 appends would be quadratic */
    for (size_t i = 0; i < 100000; i++)
        assert_true(block[i] == i + 1);
    kg__free(block);
}

static void test_grow_at_once(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 8, 9, 1000, 65536, 65537};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        size_t capacity = 0;
        char *block = kg__grow(NULL, &capacity, counts[i], 1);
        assert_non_null(block);
        assert_true(capacity >= counts[i]);
        memset(block, 1, capacity); /* the address sanitizer knows whether that is ours */
        kg__free(block);
    }
}

static void test_grow_too_far(void **state) {
    (void)state;
    static const struct {
        size_t needed, size;
    } cases[] = {
        {SIZE_MAX, 1},       {SIZE_MAX / 2 + 2, 1}, {SIZE_MAX / 16, 64},
        {SIZE_MAX - 7, 100}, {SIZE_MAX / 4, 8},
    };
    size_t capacity = 0;
    char *block = kg__grow(NULL, &capacity, 10, 1);
    memcpy(block, "0123456789", 10);
    size_t before = capacity;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_null(kg__grow(block, &capacity, cases[i].needed, cases[i].size));
        assert_int_equal(capacity, before);
        assert_memory_equal(block, "0123456789", 10);
    }
    kg__free(block);
}

static void test_copy_string(void **state) {
    (void)state;
    static const text texts[] = {TEXT_FIELD(""), TEXT_FIELD("word"), TEXT_FIELD("a\0b")};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char *copy = kg__copy_string(texts[i].bytes, texts[i].length);
        assert_non_null(copy);
        assert_ptr_not_equal(copy, texts[i].bytes);
        assert_memory_equal(copy, texts[i].bytes, texts[i].length + 1); /* with the zero */
        kg__free(copy);
    }
    char *part = kg__copy_string("beginning", 5);
    assert_string_equal(part, "begin");
    kg__free(part);
    assert_null(kg__copy_string("", SIZE_MAX));
    assert_null(kg__copy_string("", SIZE_MAX - 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_zero_sizes),
        cmocka_unit_test(test_blocks_are_zeroed),
        cmocka_unit_test(test_resize_keeps_content),
        cmocka_unit_test(test_grow),
        cmocka_unit_test(test_grow_at_once),
        cmocka_unit_test(test_grow_too_far),
        cmocka_unit_test(test_copy_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
