/* The TSV reader: what it takes and what it refuses, with line and column; and large inputs of
 * several blocks, which two threads work on, against a naive reading, with mistakes at places
 * where blocks meet. */
#include "support.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\xef\xbb\xbf"

/* Reads into the part, whose facts may then be looked at. */
static kg_status read_text(kg_dataset *dataset, kg_reader *reader, text content, kg_error *error) {
    kg_input *input = open_text(content, "in");
    reader->dataset = dataset;
    kg_status status = kg__read_tsv(reader, input, error);
    kg__input_close(input);
    return status;
}

static void test_accepted(void **state) {
    (void)state;
    static const struct {
        text content;
        kg_read_options options;
        const char *facts;
        uint64_t comments, blank_lines;
    } cases[] = {
        {TEXT_FIELD("a\tr\tb\n"), {0}, "a r b\n", 0, 0},
        {TEXT_FIELD("a\tr\tb"), {0}, "a r b\n", 0, 0},
        {TEXT_FIELD("a\tr\tb\r\nc\tr\td\r\n"), {0}, "a r b\nc r d\n", 0, 0},
        {TEXT_FIELD("a\tr\tb\r\nc\tr\td"), {0}, "a r b\nc r d\n", 0, 0},
        {TEXT_FIELD("a\tr\tb\nc\tr\td\r\n"), {0}, "a r b\nc r d\n", 0, 0},
        {TEXT_FIELD("a\rb\tr\tc\r\r\n"), {0}, "a\rb r c\r\n", 0, 0},
        {TEXT_FIELD("New York\tis in\tUSA\n"), {0}, "New York is in USA\n", 0, 0},
        {TEXT_FIELD("\xff\xfe\t\xc3\xa4\t \n"), {0}, "\xff\xfe \xc3\xa4  \n", 0, 0},
        {TEXT_FIELD("#a\tr\tb\n"), {0}, "#a r b\n", 0, 0},
        {TEXT_FIELD(MARK "a\tr\tb\n"), {0}, "a r b\n", 0, 0},
        {TEXT_FIELD(MARK MARK "a\tr\tb\n"), {0}, MARK "a r b\n", 0, 0},
        {TEXT_FIELD("a\tr\tb\n" MARK "a\tr\tb\n"), {0}, "a r b\n" MARK "a r b\n", 0, 0},
        {TEXT_FIELD(MARK "#\na\tr\tb\n"), {.comment = "#"}, "a r b\n", 1, 0},
        {TEXT_FIELD(MARK "\r\na\tr\tb\n"), {.skip_blank = true}, "a r b\n", 0, 1},
        {TEXT_FIELD("# x\na\tr\tb\n#\n"), {.comment = "#"}, "a r b\n", 2, 0},
        {TEXT_FIELD("// x\n/\tr\tb\n//\ty\tz"), {.comment = "//"}, "/ r b\n", 2, 0},
        {TEXT_FIELD("\n\na\tr\tb\n\r\n"), {.skip_blank = true}, "a r b\n", 0, 3},
        {TEXT_FIELD("\n#\na\tr\tb"), {.skip_blank = true, .comment = "#"}, "a r b\n", 1, 1},
        {TEXT_FIELD("a\tr\tb\na\tr\tb\nb\tr\ta\n"), {0}, "a r b\na r b\nb r a\n", 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset dataset;
        kg_reader reader = {.options = cases[i].options};
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        assert_ok(read_text(&dataset, &reader, cases[i].content, &error), &error);
        assert_facts(&dataset, KG_TRAIN, cases[i].facts);
        assert_int_equal(reader.counts.comments, cases[i].comments);
        assert_int_equal(reader.counts.blank_lines, cases[i].blank_lines);
        kg__dataset_close(&dataset);
    }
}

static void assert_refused(text content, kg_read_options options, const char *expected) {
    kg_dataset dataset;
    kg_reader reader = {.options = options};
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    assert_status(read_text(&dataset, &reader, content, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, expected);
    assert_status(read_text(&dataset, &reader, content, NULL), KG_BAD_INPUT, NULL);
    kg__dataset_close(&dataset);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        text content;
        kg_read_options options;
        const char *expected;
    } cases[] = {
        {TEXT_FIELD(""), {0}, "in: expected facts, found none"},
        {TEXT_FIELD("#\n\n"),
         {.comment = "#", .skip_blank = true},
         "in: expected facts, found none"},
        {TEXT_FIELD("a\tr\tb\n\nc\tr\td\n"),
         {0},
         "in:2: expected head, relation and tail, found an empty line (kgraft import leaves them "
         "out by `skip_blank`)"},
        {TEXT_FIELD("a\tr\tb\n\r\n"),
         {.comment = "#"},
         "in:2: expected head, relation and tail, found an empty line (kgraft import leaves them "
         "out by `skip_blank`)"},
        {TEXT_FIELD("word\n"),
         {0},
         "in:1: expected head, relation and tail separated by tabs, found 1 column: 'word'"},
        {TEXT_FIELD("a\tr\tb\na\tr\n"),
         {0},
         "in:2: expected head, relation and tail separated by tabs, found 2 columns: 'a\\x09r'"},
        {TEXT_FIELD("a\tr\tb\tc"),
         {0},
         "in:1: expected head, relation and tail separated by tabs, found 4 columns: "
         "'a\\x09r\\x09b\\x09c'"},
        {TEXT_FIELD("a\tr\tb\t\n"),
         {0},
         "in:1: expected head, relation and tail separated by tabs, found 4 columns: "
         "'a\\x09r\\x09b\\x09'"},
        {TEXT_FIELD("\tr\tb\n"), {0}, "in:1:1: expected a name, found an empty column"},
        {TEXT_FIELD("\xc3\xa4\t\tb\n"), {0}, "in:1:4: expected a name, found an empty column"},
        {TEXT_FIELD("#\n\nab\tr\t\r\n"),
         {.comment = "#", .skip_blank = true},
         "in:3:6: expected a name, found an empty column"},
        {TEXT_FIELD("a\tr\tb\na\tr\tb\0c\n"),
         {0},
         "in:2:6: expected text, found a NUL byte (is the file binary, or UTF-16?)"},
        {TEXT_FIELD("#\0\na\tr\tb\n"),
         {.comment = "#"},
         "in:1:2: expected text, found a NUL byte (is the file binary, or UTF-16?)"},
        {TEXT_FIELD("\xff\xfe"
                    "a\0\t\0"),
         {0},
         "in:1:4: expected text, found a NUL byte (is the file binary, or UTF-16?)"},
        {TEXT_FIELD("a\tr\tb\n\0"),
         {0},
         "in:2:1: expected text, found a NUL byte (is the file binary, or UTF-16?)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_refused(cases[i].content, cases[i].options, cases[i].expected);
}

static void test_damaged_gzip(void **state) {
    (void)state;
    text packed = compress_text(TEXT("a\tr\tb\n"));
    assert_refused((text){packed.bytes, packed.length - 1}, (kg_read_options){0},
                   "in: expected intact gzip data, found that the file ends too early");
    free((void *)packed.bytes);
}

/* Many facts as text, and as what a naive reading makes of them: ids by first appearance. */
enum { FACTS = 250000, ENTITIES = 20000, RELATIONS = 40, LINE = 48 };

struct large {
    char *content;
    size_t *starts; /* of each line */
    size_t length;
    kg_triple *expected;
    kg_id *entity_ids; /* by number in the name */
    kg_id *relation_ids;
};

static kg_id number_name(kg_id *ids, uint64_t name, kg_id *count) {
    if (ids[name] == KG_NO_ID)
        ids[name] = (*count)++;
    return ids[name];
}

static void make_large(struct large *large) {
    large->content = must_allocate(FACTS, LINE);
    large->starts = must_allocate(FACTS + 1, sizeof *large->starts);
    large->expected = must_allocate(FACTS, sizeof *large->expected);
    large->entity_ids = must_allocate(ENTITIES, sizeof *large->entity_ids);
    large->relation_ids = must_allocate(RELATIONS, sizeof *large->relation_ids);
    memset(large->entity_ids, 0xff, ENTITIES * sizeof *large->entity_ids);
    memset(large->relation_ids, 0xff, RELATIONS * sizeof *large->relation_ids);
    large->length = 0;
    uint64_t random = 12;
    kg_id entities = 0;
    kg_id relations = 0;
    for (size_t i = 0; i < FACTS; i++) {
        uint64_t head = next_below(&random, ENTITIES);
        uint64_t relation = next_below(&random, RELATIONS);
        uint64_t tail = next_below(&random, ENTITIES);
        large->starts[i] = large->length;
        large->length +=
            (size_t)snprintf(large->content + large->length, LINE, "entity%ju\tr%ju\tentity%ju\n",
                             (uintmax_t)head, (uintmax_t)relation, (uintmax_t)tail);
        large->expected[i].head = number_name(large->entity_ids, head, &entities);
        large->expected[i].tail = number_name(large->entity_ids, tail, &entities);
        large->expected[i].relation = number_name(large->relation_ids, relation, &relations);
    }
    large->starts[FACTS] = large->length;
}

static void free_large(struct large *large) {
    free(large->content);
    free(large->starts);
    free(large->expected);
    free(large->entity_ids);
    free(large->relation_ids);
}

static void assert_like_naive(const kg_dataset *dataset, const struct large *large) {
    assert_int_equal(dataset->parts[KG_TRAIN].count, FACTS);
    assert_memory_equal(dataset->parts[KG_TRAIN].items, large->expected,
                        FACTS * sizeof *large->expected);
    char name[16];
    for (size_t i = 0; i < ENTITIES; i++) {
        snprintf(name, sizeof name, "entity%zu", i);
        assert_true(find_name(&dataset->entities, name) == large->entity_ids[i]);
    }
    for (size_t i = 0; i < RELATIONS; i++) {
        snprintf(name, sizeof name, "r%zu", i);
        assert_true(find_name(&dataset->relations, name) == large->relation_ids[i]);
    }
}

static void test_large(void **state) {
    (void)state;
    struct large large;
    make_large(&large);
    assert_true(large.length > (size_t)5 << 20); /* several blocks */
    text packed = compress_text((text){large.content, large.length});
    const text stored[] = {
        {large.content, large.length}, {large.content, large.length - 1}, packed};
    static const int threads[] = {1, 2, 7};
    for (size_t i = 0; i < COUNT_OF(stored); i++) {
        omp_set_num_threads(threads[i]);
        omp_set_dynamic(0);
        kg_dataset dataset;
        kg_reader reader = {0};
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        assert_ok(read_text(&dataset, &reader, stored[i], &error), &error);
        assert_like_naive(&dataset, &large);
        kg__dataset_close(&dataset);
    }
    free((void *)packed.bytes);
    free_large(&large);
}

/* One tab of a line becomes a space; the line is told, whichever block it is in. */
static void test_mistake_in_large(void **state) {
    (void)state;
    struct large large;
    make_large(&large);
    uint64_t random = 13;
    for (int round = 0; round < 12; round++) {
        size_t line = round == 0 ? FACTS - 1 : next_below(&random, FACTS);
        size_t later = line + next_below(&random, FACTS - line);
        char *tabs[2] = {strchr(large.content + large.starts[line], '\t'),
                         strchr(large.content + large.starts[later], '\t')};
        *tabs[0] = *tabs[1] = ' ';
        kg_dataset dataset;
        kg_reader reader = {0};
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        assert_status(read_text(&dataset, &reader, (text){large.content, large.length}, &error),
                      KG_BAD_INPUT, &error);
        assert_string_equal(error.source, "in");
        assert_int_equal(error.line, line + 1);
        kg__dataset_close(&dataset);
        *tabs[0] = *tabs[1] = '\t';
    }
    free_large(&large);
}

/* Facts that the data set refuses, among comments and blank lines: the line is told here, too. And
 * where one block holds such a fact and the next a malformed line, the first is what counts. */
static void test_refused_by_data_set(void **state) {
    (void)state;
    static const kg_read_options options = {.comment = "#", .skip_blank = true};
    enum { LINES = 200000 };
    char *content = must_allocate(LINES, 16);
    uint64_t random = 14;
    for (int round = 0; round < 10; round++) {
        size_t bad = next_below(&random, LINES - 100000);
        size_t length = 0;
        for (size_t i = 0; i < LINES; i++) {
            const char *line = i == bad                       ? "train1\tr\ttrain2\n"
                               : i == bad + 80000             ? "malformed\n"
                               : next_below(&random, 10) == 0 ? "# comment\n"
                               : next_below(&random, 10) == 0 ? "\r\n"
                                                              : "unseen\tr\ttrain1\n";
            size_t size = strlen(line);
            memcpy(content + length, line, size);
            length += size;
        }
        kg_dataset dataset;
        kg_reader reader = {.options = options};
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        assert_ok(read_text(&dataset, &reader, TEXT("train1\tr\ttrain2"), &error), &error);
        assert_ok(kg__dataset_enter(&dataset, KG_UNSEEN_TEST, &error), &error);
        assert_status(read_text(&dataset, &reader, (text){content, length}, &error), KG_BAD_INPUT,
                      &error);
        assert_int_equal(error.line, bad + 1);
        assert_string_equal(error.message, "expected one unseen entity, found that 'train1' and "
                                           "'train2' both are in train");
        kg__dataset_close(&dataset);
    }
    free(content);
}

/* Stops at the n-th report. */
static bool count_down(void *payload, const kg_progress_report *report) {
    int *left = payload;
    assert_string_equal(report->stage, "reading in");
    assert_true(report->done <= report->total);
    return --*left > 0;
}

static void test_cancelled(void **state) {
    (void)state;
    struct large large;
    make_large(&large);
    for (int n = 1; n <= 3; n++) {
        int left = n;
        kg_progress progress = {count_down, &left};
        kg_dataset dataset;
        kg_reader reader = {.progress = &progress};
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        assert_status(read_text(&dataset, &reader, (text){large.content, large.length}, &error),
                      KG_CANCELLED, &error);
        assert_error_text(&error, "stopped while reading in");
        assert_int_equal(left, 0);
        assert_true(dataset.parts[KG_TRAIN].count < FACTS);
        kg__dataset_close(&dataset);
    }
    free_large(&large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged_gzip),     cmocka_unit_test(test_large),
        cmocka_unit_test(test_mistake_in_large), cmocka_unit_test(test_refused_by_data_set),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
