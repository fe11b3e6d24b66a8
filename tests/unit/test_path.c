/* Paths as strings: joined, trimmed, their parents, and names for what is not yet in place. */
#include "support.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"

static void assert_path(char *found, const char *expected) {
    assert_non_null(found);
    assert_string_equal(found, expected);
    kg__free(found);
}

static void test_join(void **state) {
    (void)state;
    assert_path(kg__path_join("a", "b"), "a/b");
    assert_path(kg__path_join("/a/b", "c.tsv"), "/a/b/c.tsv");
    assert_path(kg__path_join("", ""), "/");
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
        assert_path(kg__path_parent(cases[i].path), cases[i].parent);
        assert_path(kg__path_trim(cases[i].path), cases[i].trimmed);
    }
}

static void test_aside(void **state) {
    (void)state;
    char *one = kg__path_aside("a/b", KG_PARTIAL);
    char *other = kg__path_aside("a/b", KG_PARTIAL);
    assert_int_equal(strlen(one), strlen("a/b.partial-") + 16);
    assert_memory_equal(one, "a/b.partial-", strlen("a/b.partial-"));
    assert_int_equal(strspn(one + strlen("a/b.partial-"), "0123456789abcdef"), 16);
    assert_string_not_equal(one, other);
    kg__free(one);
    kg__free(other);
}

static void test_names_of_what_is_aside(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool is_aside;
    } cases[] = {
        {"b.partial-0123456789abcdef", true},
        {"b.partial-0123456789abcde", false},
        {"b.partial-0123456789abcdef0", false},
        {"b.partial-0123456789ABCDEF", false},
        {"c.partial-0123456789abcdef", false},
        {"b.replaced-0123456789abcdef", false},
        {"b.partial-", false},
        {"b", false},
        {"bb.partial-0123456789abcdef", false},
        {"", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (kg__path_is_aside(cases[i].name, "b", KG_PARTIAL) != cases[i].is_aside)
            fail_msg("%s", cases[i].name);
    assert_true(kg__path_is_aside("b.replaced-0123456789abcdef", "b", KG_REPLACED));
    char name[256];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    char *cut = kg__path_aside(name, KG_REPLACED);
    assert_int_equal(strlen(cut), 255);
    assert_true(kg__path_is_aside(cut, name, KG_REPLACED));
    kg__free(cut);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_parent_and_trim),
        cmocka_unit_test(test_aside),
        cmocka_unit_test(test_names_of_what_is_aside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
