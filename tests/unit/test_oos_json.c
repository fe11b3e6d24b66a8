/* The reader of unseen entities in the paper's form, a JSON object of lists of facts: what it
 * takes, in the order of the file, and each mistake with its place. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* Reads as the unseen-test part behind `a r b, b s c` in train and `v r a` in unseen-valid. */
static kg_status read_text(kg_dataset *dataset, text content, kg_error *error) {
    assert_ok(kg__dataset_open(dataset, error), error);
    kg_reader reader = {.dataset = dataset};
    const text before[] = {TEXT("a\tr\tb\nb\ts\tc\n"), TEXT("v\tr\ta\n")};
    static const kg_part parts[] = {KG_TRAIN, KG_UNSEEN_VALID};
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        kg_input *known = open_text(before[i], "before");
        assert_ok(kg__dataset_enter(dataset, parts[i], error), error);
        assert_ok(kg__read_tsv(&reader, known, error), error);
        kg__input_close(known);
    }
    assert_ok(kg__dataset_enter(dataset, KG_UNSEEN_TEST, error), error);
    kg_input *input = open_text(content, "test.json");
    kg_status status = kg__read_unseen_json(&reader, input, error);
    kg__input_close(input);
    return status;
}

static void test_accepted(void **state) {
    (void)state;
    static const struct {
        text content;
        const char *facts;
    } cases[] = {
        {TEXT_FIELD("{\"x\": [[\"x\", \"r\", \"a\"]]}"), "x r a\n"},
        {TEXT_FIELD("{\"z\": [[\"z\", \"r\", \"a\"], [\"b\", \"s\", \"z\"]],\n"
                    " \"x\": [[\"c\", \"r\", \"x\"]]}\n"),
         "z r a\nb s z\nc r x\n"}, /* in the order of the file */
        {TEXT_FIELD("{\"x\": [[\"x\", \"r\", \"a\"], [\"x\", \"r\", \"a\"]]}"), "x r a\nx r a\n"},
        {TEXT_FIELD("{\"\\u00e4 \\\"\": [[\"a\", \"s\", \"\\u00e4 \\\"\"]]}"), "a s \xc3\xa4 \"\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(read_text(&dataset, cases[i].content, &error), &error);
        assert_facts(&dataset, KG_UNSEEN_TEST, cases[i].facts);
        kg__dataset_close(&dataset);
    }
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        text content;
        const char *expected;
    } cases[] = {
        {TEXT_FIELD("[]"),
         "test.json: expected an object with a key for each unseen entity, found a list"},
        {TEXT_FIELD("{}"),
         "test.json: expected an object with a key for each unseen entity, found an empty one"},
        {TEXT_FIELD("{\"x\": 1}"),
         "test.json: entity 'x': expected a list of facts, found a number"},
        {TEXT_FIELD("{\"x\": []}"),
         "test.json: entity 'x': expected a list of facts, found an empty one"},
        {TEXT_FIELD("{\"x\": [\"x r a\"]}"),
         "test.json: entity 'x', fact 1: expected [head, relation, tail], found a string"},
        {TEXT_FIELD("{\"x\": [[\"x\", \"r\", \"a\"], [\"x\", \"r\"]]}"),
         "test.json: entity 'x', fact 2: expected [head, relation, tail], found a list of 2"},
        {TEXT_FIELD("{\"x\": [[\"x\", \"r\", \"a\", \"b\"]]}"),
         "test.json: entity 'x', fact 1: expected [head, relation, tail], found a list of 4"},
        {TEXT_FIELD("{\"x\": [[\"x\", \"r\", null]]}"),
         "test.json: entity 'x', fact 1: expected three strings, found null"},
        {TEXT_FIELD("{\"x\": [[\"x\", \"\", \"a\"]]}"),
         "test.json: entity 'x', fact 1: expected a name, found an empty string"},
        {TEXT_FIELD("{\"x\": [[\"x\", \"r\\t\", \"a\"]]}"),
         "test.json: entity 'x', fact 1: expected a name without tab or newline, found 'r\\x09'"},
        {TEXT_FIELD("{\"\": [[\"\", \"r\", \"a\"]]}"),
         "test.json: expected a name, found an empty string"},
        {TEXT_FIELD("{\"x\\ny\": [[\"x\\ny\", \"r\", \"a\"]]}"),
         "test.json: expected a name without tab or newline, found 'x\\x0ay'"},
        {TEXT_FIELD("{\"x\": [[\"y\", \"r\", \"a\"]]}"),
         "test.json: entity 'x', fact 1: expected the entity at one end, found 'y' and 'a'"},
        {TEXT_FIELD("{\"x\": [[\"a\", \"x\", \"b\"]]}"),
         "test.json: entity 'x', fact 1: expected the entity at one end, found 'a' and 'b'"},
        {TEXT_FIELD("{\"a\": [[\"a\", \"r\", \"b\"]]}"),
         "test.json: expected unseen entities, found 'a', which is in train"},
        {TEXT_FIELD("{\"x\": [[\"x\", \"q\", \"a\"]]}"),
         "test.json: entity 'x', fact 1: expected a relation of train, found 'q'"},
        {TEXT_FIELD("{\"x\": [[\"x\", \"r\", \"y\"]]}"),
         "test.json: entity 'x', fact 1: expected one entity that is in train, found that "
         "neither 'x' nor 'y' is"},
        {TEXT_FIELD("{\"v\": [[\"v\", \"r\", \"a\"]]}"),
         "test.json: entity 'v', fact 1: expected an unseen entity of its own, found that 'v' "
         "is in unseen-valid too"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset dataset;
        kg_error error = {0};
        assert_status(read_text(&dataset, cases[i].content, &error), KG_BAD_INPUT, &error);
        assert_error_text(&error, cases[i].expected);
        kg__dataset_close(&dataset);
    }
}

/* An entity that stands there twice, and what is no JSON: told by line and column. */
static void test_refused_by_the_parser(void **state) {
    (void)state;
    static const struct {
        text content;
        uint64_t line;
    } cases[] = {
        {TEXT_FIELD("{\"x\": [[\"x\", \"r\", \"a\"]],\n \"x\": [[\"x\", \"s\", \"a\"]]}"), 2},
        {TEXT_FIELD("{\n\n\"x\" [[\"x\", \"r\", \"a\"]]}"), 3},
        {TEXT_FIELD(""), 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset dataset;
        kg_error error = {0};
        assert_status(read_text(&dataset, cases[i].content, &error), KG_BAD_INPUT, &error);
        assert_string_equal(error.source, "test.json");
        assert_int_equal(error.line, cases[i].line);
        kg__dataset_close(&dataset);
    }
}

/* Reads a fact behind as many MiB of blanks, all of it a small gzip file of many members. */
static kg_status read_after_blanks(size_t count, kg_error *error) {
    enum { MIB = 1 << 20 };
    char *blanks = memset(must_allocate(MIB, 1), ' ', MIB);
    text block = compress_text((text){blanks, MIB});
    text fact = compress_text(TEXT("{\"x\": [[\"x\", \"r\", \"a\"]]}"));
    text content = {.length = count * block.length + fact.length};
    char *bytes = must_allocate(content.length, 1);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + i * block.length, block.bytes, block.length);
    memcpy(bytes + count * block.length, fact.bytes, fact.length);
    content.bytes = bytes;
    kg_dataset dataset;
    kg_status status = read_text(&dataset, content, error);
    kg__dataset_close(&dataset);
    free(bytes);
    free((void *)fact.bytes);
    free((void *)block.bytes);
    free(blanks);
    return status;
}

/* More than other JSON may have, but not any length that a small file can stand for. */
static void test_longest(void **state) {
    (void)state;
    kg_error error = {0};
    assert_ok(read_after_blanks(1 + (KG_JSON_MAX >> 20), &error), &error);
    if (IS_SANITIZED)
        skip();
    assert_status(read_after_blanks(256, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "test.json: expected at most 268435456 bytes of JSON, found more");
}

static bool refuse(void *payload, const kg_progress_report *report) {
    (void)payload;
    return report->stage[0] == '\0';
}

static void test_cancelled(void **state) {
    (void)state;
    kg_progress progress = {refuse, NULL};
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    kg_reader reader = {.dataset = &dataset, .progress = &progress};
    kg_input *input = open_text(TEXT("{"), "folder/test.json");
    assert_status(kg__read_unseen_json(&reader, input, &error), KG_CANCELLED, &error);
    assert_error_text(&error, "stopped while reading test.json");
    kg__input_close(input);
    kg__dataset_close(&dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_by_the_parser),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
