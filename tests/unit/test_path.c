/* Paths as strings: joined, trimmed, their parents, and names for what is not yet in place. */
#include "support.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"

static void assert_path(char *found, const char *expected) {
    assert_non_null(found);
    assert_string_equal(found, expected);
    kg_free(found);
}

static void test_join(void **state) {
    (void)state;
    assert_path(kg_path_join("a", "b"), "a/b");
    assert_path(kg_path_join("/a/b", "c.tsv"), "/a/b/c.tsv");
    assert_path(kg_path_join("", ""), "/");
}

static void test_parent_and_trim(void **state) {
    (void)state;
    static const struct {
        const char *path, *parent, *trimmed;
    } cases[] = {
        {"a", ".", "a"},           {"a/", ".", "a"},     {"a///", ".", "a"},
        {"a/b", "a", "a/b"},       {"a/b/", "a", "a/b"}, {"a//b", "a", "a//b"},
        {"/a", "/", "/a"},         {"/a/", "/", "/a"},   {"//a", "/", "//a"},
        {"/a/b", "/a", "/a/b"},    {"./a", ".", "./a"},  {"../a", "..", "../a"},
        {"/", "/", "/"},           {"///", "/", "/"},    {"", ".", ""},
        {"a/b/c", "a/b", "a/b/c"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_path(kg_path_parent(cases[i].path), cases[i].parent);
        assert_path(kg_path_trim(cases[i].path), cases[i].trimmed);
    }
}

static void test_partial(void **state) {
    (void)state;
    char *one = kg_path_partial("a/b");
    char *other = kg_path_partial("a/b");
    assert_int_equal(strlen(one), strlen("a/b.partial-") + 16);
    assert_memory_equal(one, "a/b.partial-", strlen("a/b.partial-"));
    assert_int_equal(strspn(one + strlen("a/b.partial-"), "0123456789abcdef"), 16);
    assert_string_not_equal(one, other);
    kg_free(one);
    kg_free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_parent_and_trim),
        cmocka_unit_test(test_partial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
