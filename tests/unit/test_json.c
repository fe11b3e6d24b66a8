/* JSON: any bytes become text, mistakes are reported with their place, what is written is read
 * again, and failures below come through as they are. */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

static void test_text(void **state) {
    (void)state;
    static const struct {
        text bytes, expected;
    } cases[] = {
        {TEXT_FIELD(""), TEXT_FIELD("")},
        {TEXT_FIELD("plain"), TEXT_FIELD("plain")},
        {TEXT_FIELD("na\xc3\xafve \"\\\n"), TEXT_FIELD("na\xc3\xafve \"\\\n")},
        {TEXT_FIELD("a\0b"), TEXT_FIELD("a\xef\xbf\xbd"
                                        "b")},
        {TEXT_FIELD("\xff"), TEXT_FIELD("\xef\xbf\xbd")},
        {TEXT_FIELD("\xe2\x82"), TEXT_FIELD("\xef\xbf\xbd\xef\xbf\xbd")},
        {TEXT_FIELD("\xed\xa0\x80!"), TEXT_FIELD("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd!")},
        {TEXT_FIELD("\xf0\x9f\x98\x80"), TEXT_FIELD("\xf0\x9f\x98\x80")},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *found = kg__json_text(cases[i].bytes.bytes, cases[i].bytes.length);
        assert_true(json_is_string(found));
        assert_text(json_string_value(found), json_string_length(found), cases[i].expected);
        json_decref(found);
    }
}

/* jansson itself is the judge of what is UTF-8. */
static void test_text_of_anything(void **state) {
    (void)state;
    uint64_t random = 4;
    for (int round = 0; round < 5000; round++) {
        char bytes[40];
        size_t length = next_below(&random, sizeof bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = next_below(&random, 2) == 0 ? (char)next_below(&random, 256)
                                                   : "\xe2\x82\xac\xf0\x9f"[i % 5];
        json_t *found = kg__json_text(bytes, length);
        json_t *checked = json_stringn(json_string_value(found), json_string_length(found));
        assert_non_null(checked);
        assert_null(memchr(json_string_value(found), '\0', json_string_length(found)));
        json_decref(checked);
        json_decref(found);
    }
}

static void test_read(void **state) {
    (void)state;
    kg_input *input = open_text(TEXT(" {\"a\": [1, 2.5, \"\\u00e4\", null, true]}\n "), "in");
    json_t *value = NULL;
    kg_error error = {0};
    assert_ok(kg__json_read(&value, input, &error), &error);
    kg__input_close(input);
    json_t *list = json_object_get(value, "a");
    assert_int_equal(json_array_size(list), 5);
    assert_int_equal(json_integer_value(json_array_get(list, 0)), 1);
    assert_true(json_real_value(json_array_get(list, 1)) == 2.5);
    assert_string_equal(json_string_value(json_array_get(list, 2)), "\xc3\xa4");
    json_decref(value);
}

/* The place is where the parser stands when it notices: line, and column counted in characters. */
static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        text json;
        const char *place;
    } cases[] = {
        {TEXT_FIELD(""), "in:1"},
        {TEXT_FIELD("{\"a\": 1"), "in:1:7: "},
        {TEXT_FIELD("{\n  \"a\": 1,\n  b\n}"), "in:3:3: "},
        {TEXT_FIELD("[1, 2]]"), "in:1:7: "},
        {TEXT_FIELD("{\"a\": 1, \"a\": 2}"), "in:1:12: "}, /* once more */
        {TEXT_FIELD("[\"\xc3\xa4\", \xc3\xa4]"), "in:1:7: "},
        {TEXT_FIELD("[\"\xff\"]"), "in:1:2: "},
        {TEXT_FIELD("[\"a\\u0000b\"]"), "in:1:"}, /* names hold no NUL */
        {TEXT_FIELD("\0\0"), "in:1:1: "},
        {TEXT_FIELD("nul"), "in:1:3: "},
        {TEXT_FIELD("1e999"), "in:1:"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_input *input = open_text(cases[i].json, "in");
        json_t *value = NULL;
        kg_error error = {0};
        assert_status(kg__json_read(&value, input, &error), KG_BAD_INPUT, &error);
        assert_null(value);
        char shown[KG_ERROR_TEXT_MAX];
        kg_error_text(shown, sizeof shown, &error);
        if (strncmp(shown, cases[i].place, strlen(cases[i].place)) != 0)
            fail_msg("expected %s..., found %s", cases[i].place, shown);
        assert_non_null(strstr(shown, "expected JSON, found that '"));
        assert_string_not_equal(error.message, "expected JSON, found that ''");
        assert_status(kg__json_read(&value, input, NULL), KG_BAD_INPUT, NULL);
        kg__input_close(input);
    }
}

/* Nobody should be able to exhaust the stack. */
static void test_deep_nesting(void **state) {
    (void)state;
    enum { DEPTH = 1000000 };
    char *brackets = must_allocate(DEPTH, 1);
    memset(brackets, '[', DEPTH);
    kg_input *input = open_text((text){brackets, DEPTH}, "in");
    json_t *value = NULL;
    kg_error error = {0};
    assert_status(kg__json_read(&value, input, &error), KG_BAD_INPUT, &error);
    assert_int_equal(error.line, 1);
    kg__input_close(input);
    free(brackets);
}

/* The text between `before` and `behind`, `count` times; must be freed. */
static text repeat(const char *before, const char *piece, size_t count, const char *behind) {
    size_t sizes[] = {strlen(before), strlen(piece), strlen(behind)};
    size_t length = sizes[0] + count * sizes[1] + sizes[2];
    char *bytes = must_allocate(length, 1);
    memcpy(bytes, before, sizes[0]);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + sizes[0] + i * sizes[1], piece, sizes[1]);
    memcpy(bytes + length - sizes[2], behind, sizes[2]);
    return (text){bytes, length};
}

/* What takes much more memory than text is refused, and so is too much text; brackets in strings
 * are text. */
static void test_limits(void **state) {
    (void)state;
    static const struct {
        const char *before, *piece, *behind;
        size_t count;
        const char *message; /* NULL: none */
    } cases[] = {
        {"[", "{},", "{}]", 1000, NULL},
        {"[", "{},", "{}]", 100000,
         "in: expected at most one list or object for 8 bytes of JSON, found"},
        {"[", "[],", "[]]", 100000,
         "in: expected at most one list or object for 8 bytes of JSON, found"},
        {"[", "{\"a\": 1},", "{}]", 100000, NULL},
        {"[\"", "[{\\\"[{", "\"]", 100000, NULL},
        {"[\"", "\\\\", "\"]", 100000, NULL},
        {"[\"", "aaaaaaaa", "\"]", KG_JSON_MAX / 8 - 1, NULL},
        {"[\"", "aaaaaaaa", "\"]", KG_JSON_MAX / 8,
         "in: expected at most 16777216 bytes of JSON, found more"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        text json = repeat(cases[i].before, cases[i].piece, cases[i].count, cases[i].behind);
        kg_input *input = open_text(json, "in");
        json_t *value = NULL;
        kg_error error = {0};
        kg_status status = kg__json_read(&value, input, &error);
        char shown[KG_ERROR_TEXT_MAX];
        kg_error_text(shown, sizeof shown, &error);
        assert_int_equal(status, cases[i].message == NULL ? KG_OK : KG_BAD_INPUT);
        if (cases[i].message != NULL)
            assert_memory_equal(shown, cases[i].message, strlen(cases[i].message));
        assert_int_equal(kg__json_check("in", json.bytes, json.length, NULL), status);
        json_decref(value);
        kg__input_close(input);
        free((void *)json.bytes);
    }
}

static void test_failing_input(void **state) {
    (void)state;
    text packed = compress_text(TEXT("{\"a\": 1}"));
    kg_input *input = open_text((text){packed.bytes, packed.length - 3}, "in.gz");
    json_t *value = NULL;
    kg_error error = {0};
    assert_status(kg__json_read(&value, input, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error,
                      "in.gz: expected intact gzip data, found that the file ends too early");
    assert_null(value);
    kg__input_close(input);
    free((void *)packed.bytes);
}

static kg_status write_json(const json_t *value, const char *path, kg_error *error) {
    kg_output *output = NULL;
    assert_ok(kg__output_open(&output, path, path, error), error);
    kg_status status = kg__json_write(value, output, error);
    if (status == KG_OK)
        status = kg__output_commit(output, error);
    kg__output_close(output);
    return status;
}

static void test_write(void **state) {
    (void)state;
    kg_error error = {0};
    json_t *value = json_pack("{s:i, s:[f, b, n], s:{s:s}}", "one", 1, "list", 0.1, 1, "object",
                              "text", "\xc3\xa4\n\x7f\xc2\x9b\xc2\xa0");
    assert_ok(write_json(value, "out.json", &error), &error);
    assert_file("out.json", TEXT("{\n  \"one\": 1,\n  \"list\": [\n    0.1,\n    true,\n    null\n"
                                 "  ],\n  \"object\": {\n    \"text\": "
                                 "\"\xc3\xa4\\n\\u007f\\u009b\xc2\xa0\"\n  }\n}\n"));
    kg_input *input = NULL;
    assert_ok(kg__input_open(&input, "out.json", KG_ANY_CODING, &error), &error);
    json_t *back = NULL;
    assert_ok(kg__json_read(&back, input, &error), &error);
    assert_true(json_equal(value, back));
    json_decref(back);
    kg__input_close(input);
    json_decref(value);
}

static void test_write_scalars(void **state) {
    (void)state;
    static const struct {
        const char *format;
        const char *expected;
    } cases[] = {{"n", "null\n"}, {"{}", "{}\n"}, {"[]", "[]\n"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *value = json_pack(cases[i].format);
        kg_error error = {0};
        assert_ok(write_json(value, "scalar.json", &error), &error);
        assert_file("scalar.json", text_of(cases[i].expected));
        json_decref(value);
    }
}

/* More than fits into any buffer, so that the failure comes in the middle. */
static void test_failing_output(void **state) {
    (void)state;
    json_t *list = json_array();
    for (int i = 0; i < 300000; i++)
        json_array_append_new(list, json_integer(i));
    kg_error error = {0};
    assert_int_equal(symlink("/dev/full", "full"), 0);
    assert_status(write_json(list, "full", &error), KG_SYSTEM, &error);
    assert_error_text(&error, "full: cannot write to it: No space left on device");
    json_decref(list);
}

static void test_kinds(void **state) {
    (void)state;
    static const struct {
        const char *json, *expected;
    } cases[] = {{"{}", "an object"},        {"[]", "a list"},    {"\"\"", "a string"},
                 {"1", "a number"},          {"1.5", "a number"}, {"true", "a truth value"},
                 {"false", "a truth value"}, {"null", "null"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *value = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
        assert_string_equal(kg__json_kind(value), cases[i].expected);
        json_decref(value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),          cmocka_unit_test(test_text_of_anything),
        cmocka_unit_test(test_read),          cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_deep_nesting),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_failing_input), cmocka_unit_test(test_write),
        cmocka_unit_test(test_write_scalars), cmocka_unit_test(test_failing_output),
        cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
