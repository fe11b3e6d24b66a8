/* Errors as values: the one line that people see with and without its parts, at every size of the
 * buffer; that nothing needs a kg_error; what errno means; and the macros that hand failures on. */
#include "support.h"

#include <errno.h>
#include <string.h>

static const struct {
    kg_error error;
    const char *expected;
} shown[] = {
    {{KG_BAD_INPUT, 0, 0, "", "wrong"}, "wrong"},
    {{KG_BAD_INPUT, 0, 0, "a.tsv", "wrong"}, "a.tsv: wrong"},
    {{KG_BAD_INPUT, 0, 7, "a.tsv", "a column needs a line"}, "a.tsv: a column needs a line"},
    {{KG_BAD_INPUT, 3, 0, "a.tsv", "wrong"}, "a.tsv:3: wrong"},
    {{KG_BAD_INPUT, 3, 14, "a.tsv", "wrong"}, "a.tsv:3:14: wrong"},
    {{KG_SYSTEM, 0, 0, "100%s", "full %d"}, "100%s: full %d"},
    {{KG_BAD_INPUT, UINT64_MAX, UINT64_MAX - 1, "b", ""},
     "b:18446744073709551615:18446744073709551614: "},
    {{KG_CANCELLED, 0, 0, "", ""}, ""},
};

static void test_text(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shown); i++)
        assert_error_text(&shown[i].error, shown[i].expected);
}

/* One line, that steers no terminal. */
static void test_text_without_controls(void **state) {
    (void)state;
    kg_error error = {KG_SYSTEM, 1, 0, "a\nb", "\033[1m\xc3\xa4\x7f"};
    assert_error_text(&error, "a\\x0ab:1: \\x1b[1m\xc3\xa4\\x7f");
}

/* Whatever the room, it gets the beginning of the text and a zero, and not a byte more. */
static void test_text_is_cut(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shown); i++) {
        size_t length = strlen(shown[i].expected);
        for (size_t size = 1; size <= length + 2; size++) {
            char out[128];
            memset(out, '?', sizeof out);
            assert_ptr_equal(kg_error_text(out, size, &shown[i].error), out);
            size_t kept = size - 1 < length ? size - 1 : length;
            assert_int_equal(strlen(out), kept);
            assert_memory_equal(out, shown[i].expected, kept);
            for (size_t j = size; j < sizeof out; j++)
                assert_int_equal(out[j], '?');
        }
    }
}

static void test_longest_text_fits(void **state) {
    (void)state;
    kg_error error = {.line = UINT64_MAX, .column = UINT64_MAX};
    memset(error.source, 's', sizeof error.source - 1);
    memset(error.message, 'm', sizeof error.message - 1);
    char out[KG_ERROR_TEXT_MAX];
    kg_error_text(out, sizeof out, &error);
    size_t expected = (sizeof error.source - 1) + strlen(":18446744073709551615") * 2 +
                      strlen(": ") + (sizeof error.message - 1);
    assert_int_equal(strlen(out), expected);
}

static void test_record_cuts_what_is_long(void **state) {
    (void)state;
    char source[2000];
    char message[3000];
    memset(source, 's', sizeof source - 1);
    memset(message, 'm', sizeof message - 1);
    source[sizeof source - 1] = '\0';
    message[sizeof message - 1] = '\0';
    kg_error error;
    memset(&error, '?', sizeof error);
    kg__record(&error, KG_BAD_INPUT, source, 1, 2, "%s", message);
    assert_int_equal(strlen(error.source), sizeof error.source - 1);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_memory_equal(error.source, source, sizeof error.source - 1);
    assert_memory_equal(error.message, message, sizeof error.message - 1);
}

static void test_failing_gives_back_the_status(void **state) {
    (void)state;
    static const kg_status statuses[] = {KG_NO_MEMORY, KG_SYSTEM, KG_BAD_INPUT, KG_CANCELLED};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        kg_error error = {KG_OK, 9, 9, "old", "old"};
        assert_int_equal(kg_fail(&error, statuses[i], "%s %d", "number", 5), statuses[i]);
        assert_int_equal(error.status, statuses[i]);
        assert_error_text(&error, "number 5");
    }
    kg_error error = {0};
    assert_int_equal(kg_fail_at(&error, "f", 1, 2, "%c", 'x'), KG_BAD_INPUT);
    assert_error_text(&error, "f:1:2: x");
    assert_int_equal(kg__fail_memory(&error), KG_NO_MEMORY);
    assert_int_equal(error.status, KG_NO_MEMORY);
    assert_error_text(&error, "out of memory");
}

static void test_nobody_needs_an_error(void **state) {
    (void)state;
    assert_int_equal(kg_fail(NULL, KG_SYSTEM, "%s", "unheard"), KG_SYSTEM);
    assert_int_equal(kg_fail_at(NULL, "f", 1, 1, "unheard"), KG_BAD_INPUT);
    assert_int_equal(kg__fail_memory(NULL), KG_NO_MEMORY);
    errno = EACCES;
    assert_int_equal(kg__fail_errno(NULL, "f", "open it"), KG_SYSTEM);
    kg__error_locate(NULL, "f", 1, 1);
}

static void test_errno(void **state) {
    (void)state;
    static const struct {
        int code;
        kg_status status;
        const char *expected;
    } cases[] = {
        {ENOENT, KG_BAD_INPUT, "a/b: cannot open it: No such file or directory"},
        {ENOTDIR, KG_BAD_INPUT, "a/b: cannot open it: Not a directory"},
        {EISDIR, KG_BAD_INPUT, "a/b: cannot open it: Is a directory"},
        {ENAMETOOLONG, KG_BAD_INPUT, "a/b: cannot open it: File name too long"},
        {ELOOP, KG_BAD_INPUT, "a/b: cannot open it: Too many levels of symbolic links"},
        {EACCES, KG_SYSTEM, "a/b: cannot open it: Permission denied"},
        {ENOSPC, KG_SYSTEM, "a/b: cannot open it: No space left on device"},
        {EIO, KG_SYSTEM, "a/b: cannot open it: Input/output error"},
        {ENOMEM, KG_NO_MEMORY, "out of memory"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_error error = {0};
        errno = cases[i].code;
        assert_int_equal(kg__fail_errno(&error, "a/b", "open it"), cases[i].status);
        assert_int_equal(error.status, cases[i].status);
        assert_error_text(&error, cases[i].expected);
    }
}

static void test_locate(void **state) {
    (void)state;
    kg_error error = {0};
    (void)kg_fail(&error, KG_BAD_INPUT, "wrong");
    kg__error_locate(&error, "inner", 4, 0);
    assert_error_text(&error, "inner:4: wrong");
    kg__error_locate(&error, "outer", 5, 6); /* whoever was nearer knew better */
    assert_error_text(&error, "inner:4: wrong");
    assert_int_equal(error.status, KG_BAD_INPUT);
}

static kg_status count_and_give(int *calls, kg_status status) {
    ++*calls;
    return status;
}

static kg_status try_twice(int *calls, kg_status first, kg_status second) {
    KG_TRY(count_and_give(calls, first));
    KG_TRY(count_and_give(calls, second));
    return KG_OK;
}

static kg_status check_twice(int *calls, bool *cleaned, kg_status first, kg_status second) {
    kg_status status = KG_OK;
    KG_CHECK(count_and_give(calls, first));
    KG_CHECK(count_and_give(calls, second));
done:
    *cleaned = true;
    return status;
}

static void test_macros(void **state) {
    (void)state;
    static const struct {
        kg_status first, second, expected;
        int calls;
    } cases[] = {
        {KG_OK, KG_OK, KG_OK, 2},
        {KG_SYSTEM, KG_OK, KG_SYSTEM, 1},
        {KG_OK, KG_CANCELLED, KG_CANCELLED, 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int calls = 0;
        assert_int_equal(try_twice(&calls, cases[i].first, cases[i].second), cases[i].expected);
        assert_int_equal(calls, cases[i].calls);
        calls = 0;
        bool cleaned = false;
        assert_int_equal(check_twice(&calls, &cleaned, cases[i].first, cases[i].second),
                         cases[i].expected);
        assert_int_equal(calls, cases[i].calls);
        assert_true(cleaned);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_without_controls),
        cmocka_unit_test(test_text_is_cut),
        cmocka_unit_test(test_longest_text_fits),
        cmocka_unit_test(test_record_cuts_what_is_long),
        cmocka_unit_test(test_failing_gives_back_the_status),
        cmocka_unit_test(test_nobody_needs_an_error),
        cmocka_unit_test(test_errno),
        cmocka_unit_test(test_locate),
        cmocka_unit_test(test_macros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
