/* The RDF reader: the four syntaxes, names of IRIs, blank nodes (also of a second file) and
 * literals, and mistakes with line and column. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A "<http://x/a>"
#define R "<http://x/r>"
#define B "<http://x/b>"
#define ARB "http://x/a http://x/r http://x/b\n"
#define RDF "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

static kg_status read_text(kg_reader *reader, text content, kg_rdf_syntax syntax, kg_error *error) {
    kg_input *input = open_text(content, "in");
    kg_status status = kg__read_rdf(reader, input, syntax, error);
    kg__input_close(input);
    return status;
}

struct accepted {
    kg_rdf_syntax syntax;
    text content;
    const char *facts;
    uint64_t literals;
};

static void assert_accepted(const struct accepted *cases, size_t count, bool keep_literals) {
    for (size_t i = 0; i < count; i++) {
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        kg_reader reader = {.dataset = &dataset, .options.keep_literals = keep_literals};
        assert_ok(read_text(&reader, cases[i].content, cases[i].syntax, &error), &error);
        assert_facts(&dataset, KG_TRAIN, cases[i].facts);
        assert_int_equal(reader.counts.literals, cases[i].literals);
        kg__dataset_close(&dataset);
    }
}

static void test_triples(void **state) {
    (void)state;
    static const struct accepted cases[] = {
        {KG_NTRIPLES, TEXT_FIELD(A " " R " " B " .\n"), ARB, 0},
        {KG_NTRIPLES, TEXT_FIELD("\xef\xbb\xbf" A "\t" R "\t" B " .\r\n"), ARB, 0},
        {KG_NTRIPLES, TEXT_FIELD("# c\n\n" A R B ".# c\n#" A "\n" A " " R " " A " ."),
         ARB "http://x/a http://x/r http://x/a\n", 0},
        {KG_NTRIPLES, TEXT_FIELD("_:n " R " _:m1 .\n"), "_:n http://x/r _:m1\n", 0},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " <http://x/\\u00e4> .\n"),
         "http://x/a http://x/r http://x/\xc3\xa4\n", 0},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " \"l\" .\n" A " " R " " B " .\n" A " " R " \"l\"@en .\n"),
         ARB, 2},
        {KG_TURTLE, TEXT_FIELD("@prefix x: <http://x/> . x:a x:r x:b ."), ARB, 0},
        {KG_TURTLE, TEXT_FIELD("PREFIX x: <http://x/>\nx:a x:r x:b , x:a ; a x:T ."),
         ARB "http://x/a http://x/r http://x/a\nhttp://x/a " RDF "type http://x/T\n", 0},
        {KG_TURTLE, TEXT_FIELD("@base <http://x/y> . <a> <r> <b> . <#f> <r> <> ."),
         ARB "http://x/y#f http://x/r http://x/y\n", 0},
        {KG_TURTLE, TEXT_FIELD(A " " R " 1, 2.5, true, \"\"\"long\"\"\", " B " ."), ARB, 4},
        {KG_TRIG, TEXT_FIELD(A " " R " " B " . <http://x/g> { " B " " R " " A " . }"),
         ARB "http://x/b http://x/r http://x/a\n", 0},
    };
    assert_accepted(cases, COUNT_OF(cases), false);
}

/* The graph of a quad is not kept. */
static void test_quads(void **state) {
    (void)state;
    static const struct accepted cases[] = {
        {KG_NQUADS, TEXT_FIELD(A " " R " " B " <http://x/g> .\n"), ARB, 0},
        {KG_NQUADS, TEXT_FIELD(A " " R " " B " .\n# c\n\n" B " " R " " A " _:g .\n"),
         ARB "http://x/b http://x/r http://x/a\n", 0},
        {KG_NQUADS, TEXT_FIELD(A " " R " \"l\"@en <http://x/g> .\n" A " " R " " B " <http://g> ."),
         ARB, 1},
    };
    assert_accepted(cases, COUNT_OF(cases), false);
}

/* In their N-Triples form, which holds no tab or newline. */
static void test_literals(void **state) {
    (void)state;
    static const struct accepted cases[] = {
        {KG_NTRIPLES, TEXT_FIELD(A " " R " \"word\" .\n"), "http://x/a http://x/r \"word\"\n", 0},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " \"\" .\n"), "http://x/a http://x/r \"\"\n", 0},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " \"Wort\"@de-AT .\n"),
         "http://x/a http://x/r \"Wort\"@de-AT\n", 0},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " \"5\"^^<http://x/int> .\n"),
         "http://x/a http://x/r \"5\"^^<http://x/int>\n", 0},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " \"\\t\\n\\r\\\"\\\\ \\u00e4\" .\n"),
         "http://x/a http://x/r \"\\t\\n\\r\\\"\\\\ \xc3\xa4\"\n", 0},
        {KG_TURTLE,
         TEXT_FIELD("@prefix x: <http://x/> . x:a x:r '5'^^x:int , \"\"\"a\n\"b\"\"\" ."),
         "http://x/a http://x/r \"5\"^^<http://x/int>\nhttp://x/a http://x/r \"a\\n\\\"b\"\n", 0},
        {KG_TURTLE, TEXT_FIELD(A " " R " 42 , true ."),
         "http://x/a http://x/r \"42\"^^<http://www.w3.org/2001/XMLSchema#integer>\n"
         "http://x/a http://x/r \"true\"^^<http://www.w3.org/2001/XMLSchema#boolean>\n",
         0},
    };
    assert_accepted(cases, COUNT_OF(cases), true);
}

/* A blank node is the same throughout a file, and another one in the next; those without a label
 * differ from all that have one. */
static void test_blank_nodes(void **state) {
    (void)state;
    static const text files[] = {TEXT_FIELD("_:n " R " _:m .\n_:m " R " _:n .\n"),
                                 TEXT_FIELD("_:n " R " " A " .\n"),
                                 TEXT_FIELD("_:n " R " _:n .\n")};
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        kg_reader reader = {.dataset = &dataset, .file_number = i + 1};
        assert_ok(read_text(&reader, files[i], KG_NTRIPLES, &error), &error);
    }
    assert_facts(&dataset, KG_TRAIN,
                 "_:n http://x/r _:m\n_:m http://x/r _:n\n_:n#2 http://x/r http://x/a\n"
                 "_:n#3 http://x/r _:n#3\n");
    kg__dataset_close(&dataset);
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    kg_reader reader = {.dataset = &dataset};
    text mixed = TEXT("[] " R " [ " R " _:b1 , _:b2 ] . " A " " R " ( " B " ) .");
    assert_ok(read_text(&reader, mixed, KG_TURTLE, &error), &error);
    assert_int_equal(dataset.parts[KG_TRAIN].count, 6);
    assert_int_equal(dataset.entities.count, 4 + 1 + 3); /* blank, of the list, and A, B, nil */
    kg__dataset_close(&dataset);
}

/* Where the mistake is; serd tells it when it has read up to a word further. */
struct refused {
    kg_rdf_syntax syntax;
    text content;
    uint64_t line, column;
};

static void assert_refused(const struct refused *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        kg_reader reader = {.dataset = &dataset};
        kg_status status = read_text(&reader, cases[i].content, cases[i].syntax, &error);
        if (status == KG_OK)
            print_error("case %zu\n", i);
        assert_status(status, KG_BAD_INPUT, &error);
        assert_string_equal(error.source, "in");
        uint64_t slack = cases[i].line == 0 ? 0 : 6;
        if (error.line != cases[i].line || error.column < cases[i].column ||
            error.column > cases[i].column + slack)
            fail_msg("case %zu: expected %ju:%ju, found %ju:%ju: %s", i, (uintmax_t)cases[i].line,
                     (uintmax_t)cases[i].column, (uintmax_t)error.line, (uintmax_t)error.column,
                     error.message);
        assert_null(strchr(error.message, '\n'));
        assert_status(read_text(&reader, cases[i].content, cases[i].syntax, NULL), KG_BAD_INPUT,
                      NULL);
        kg__dataset_close(&dataset);
    }
}

static void test_refused(void **state) {
    (void)state;
    static const struct refused cases[] = {
        {KG_NTRIPLES, TEXT_FIELD(""), 0, 0}, /* expected facts */
        {KG_NTRIPLES, TEXT_FIELD("# nothing\n"), 0, 0},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " .\n"), 1, 27},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " " B " .\n" A " oops " B " .\n"), 2, 14},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " " B " .\n\n" A " " R " <http://x/ > .\n"), 3, 37},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " " B), 1, 39},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " <http://x/\xff> .\n"), 1, 37},
        {KG_NTRIPLES, TEXT_FIELD(A " " R " <word> .\n"), 1, 29},
        {KG_NTRIPLES, TEXT_FIELD("@prefix x: <http://x/> .\nx:a x:r x:b ."), 1, 1},
        {KG_NTRIPLES, TEXT_FIELD(A " \"no\" " B " .\n"), 1, 14},
        {KG_NTRIPLES, TEXT_FIELD("a\tr\tb\n"), 1, 1},
        {KG_TURTLE, TEXT_FIELD("@prefix x: <http://x/> .\nx:a x:r\n\"open .\n"), 3, 5},
        {KG_TRIG, TEXT_FIELD("<http://x/g> { " A " " R " " B " . "), 1, 57},
        {KG_NQUADS, TEXT_FIELD(A " " R " " B " .\n" A " " R " oops .\n"), 2, 26},
    };
    assert_refused(cases, COUNT_OF(cases));
}

/* What serd itself would let pass, with the line where it stands. */
static const struct {
    kg_rdf_syntax syntax;
    text content;
    uint64_t line;
} overlooked[] = {
    /* A prefix that nobody declared: its names would mean nothing. */
    {KG_TURTLE, TEXT_FIELD("x:a " R " " B " ."), 1},
    {KG_TURTLE, TEXT_FIELD(A " " R " " B " .\n" A " x:r " B " ."), 2},
    {KG_TURTLE, TEXT_FIELD("\n\n" A " " R " x:b .\n"), 3},
    {KG_TRIG, TEXT_FIELD("\n<http://x/g> { x:a " R " " B " . }"), 2},
    /* A NUL byte, which is no end of the file. */
    {KG_NTRIPLES, TEXT_FIELD(A " " R " " B " .\n\0" B " " R " " A " .\n"), 2},
    {KG_TURTLE, TEXT_FIELD(A " " R " " B " .\n\0" B " " R " " A " .\n"), 2},
    {KG_NQUADS, TEXT_FIELD(A " " R " " B " .\n\0" B " " R " " A " .\n"), 2},
    {KG_NTRIPLES, TEXT_FIELD(A " " R " " B " .\n" B " \0" R " " A " .\n"), 2},
    {KG_TURTLE, TEXT_FIELD(A " " R " <http://x/\0> .\n"), 1},
    {KG_TURTLE, TEXT_FIELD("\0" A " " R " " B " .\n"), 1},
    {KG_NQUADS, TEXT_FIELD("\0"), 1},
};

static void test_overlooked_by_serd(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(overlooked); i++) {
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        kg_reader reader = {.dataset = &dataset};
        kg_status status = read_text(&reader, overlooked[i].content, overlooked[i].syntax, &error);
        if (status == KG_OK || error.line != overlooked[i].line)
            print_error("case %zu\n", i);
        assert_status(status, KG_BAD_INPUT, &error);
        assert_string_equal(error.source, "in");
        assert_int_equal(error.line, overlooked[i].line);
        kg__dataset_close(&dataset);
    }
}

/* Nobody should be able to exhaust the stack. */
static void test_deep_nesting(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    static const char *const openings[] = {"[ " R " ", "( "};
    for (size_t i = 0; i < COUNT_OF(openings); i++) {
        size_t step = strlen(openings[i]);
        char *content = must_allocate(DEPTH + 50, step);
        size_t length = (size_t)sprintf(content, A " " R " ");
        for (int j = 0; j < DEPTH; j++, length += step)
            memcpy(content + length, openings[i], step);
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        kg_reader reader = {.dataset = &dataset};
        assert_status(read_text(&reader, (text){content, length}, KG_TURTLE, &error), KG_BAD_INPUT,
                      &error);
        assert_string_equal(error.source, "in");
        kg__dataset_close(&dataset);
        free(content);
    }
}

/* What the data set refuses gets its place, too. */
static void test_refused_by_data_set(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    kg_reader reader = {.dataset = &dataset};
    assert_ok(read_text(&reader, TEXT(A " " R " " B " .\n"), KG_NTRIPLES, &error), &error);
    assert_ok(kg__dataset_enter(&dataset, KG_UNSEEN_TEST, &error), &error);
    text unseen = TEXT("<http://x/u> " R " " B " .\n\n" B " " R " " A " .\n");
    assert_status(read_text(&reader, unseen, KG_NTRIPLES, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "in:3: expected one unseen entity, found that 'http://x/b' and "
                              "'http://x/a' both are in train");
    kg__dataset_close(&dataset);
}

/* Over many pages, with a mistake at the end or not, and stopped in between. */
static bool stop_later(void *payload, const kg_progress_report *report) {
    (void)report;
    int *left = payload;
    return (*left)-- > 0;
}

static void test_large(void **state) {
    (void)state;
    enum { FACTS = 20000 };
    char *content = must_allocate(FACTS, 80);
    size_t length = 0;
    for (int i = 0; i < FACTS; i++)
        length +=
            (size_t)snprintf(content + length, 80, "<http://x/%d> <http://x/r%d> <http://x/%d> .\n",
                             i, i % 7, i * 3 % FACTS);
    int patience[] = {INT32_MAX, 5};
    for (size_t i = 0; i < COUNT_OF(patience); i++) {
        bool stops = patience[i] == 5;
        kg_dataset dataset;
        kg_error error = {0};
        kg_progress progress = {stop_later, &patience[i]};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        kg_reader reader = {.dataset = &dataset, .progress = &progress};
        assert_status(read_text(&reader, (text){content, length}, KG_NTRIPLES, &error),
                      stops ? KG_CANCELLED : KG_OK, &error);
        if (stops)
            assert_error_text(&error, "stopped while reading in");
        else
            assert_int_equal(dataset.parts[KG_TRAIN].count, FACTS);
        for (size_t j = 0; j < dataset.parts[KG_TRAIN].count; j++) {
            char name[32];
            snprintf(name, sizeof name, "http://x/%zu", j * 3 % FACTS);
            assert_name(&dataset.entities, dataset.parts[KG_TRAIN].items[j].tail, name);
        }
        kg__dataset_close(&dataset);
    }
    memcpy(content + length - 2, "!", 1);
    const struct refused bad[] = {{KG_NTRIPLES, {content, length}, FACTS, 47}};
    assert_refused(bad, 1);
    free(content);
}

/* Prefixes are kept for names to be shown by: the first of a name, and no more than 1000. */
static void test_prefixes(void **state) {
    (void)state;
    enum { COUNT = 1100, LENGTH = 64 };
    char *content = must_allocate(COUNT + 2, LENGTH);
    size_t size = 0;
    for (int i = 0; i < COUNT; i++)
        size += (size_t)snprintf(content + size, LENGTH, "@prefix p%d: <http://x/%d/> .\n", i, i);
    size += (size_t)snprintf(content + size, (size_t)2 * LENGTH,
                             "@prefix p1: <http://y/> .\np1:a p1:r p1099:b .\n");
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    kg_reader reader = {.dataset = &dataset};
    assert_ok(read_text(&reader, (text){content, size}, KG_TURTLE, &error), &error);
    assert_facts(&dataset, KG_TRAIN, "http://y/a http://y/r http://x/1099/b\n");
    const json_t *kept = json_object_get(dataset.history, "prefixes");
    assert_int_equal(json_object_size(kept), 1000);
    assert_string_equal(json_string_value(json_object_get(kept, "p1")), "http://x/1/");
    kg__dataset_close(&dataset);
    free(content);
}

static void test_damaged_gzip(void **state) {
    (void)state;
    text packed = compress_text(TEXT(A " " R " " B " .\n"));
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    kg_reader reader = {.dataset = &dataset};
    assert_status(read_text(&reader, (text){packed.bytes, packed.length - 1}, KG_NTRIPLES, &error),
                  KG_BAD_INPUT, &error);
    assert_error_text(&error, "in: expected intact gzip data, found that the file ends too early");
    kg__dataset_close(&dataset);
    free((void *)packed.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triples),      cmocka_unit_test(test_quads),
        cmocka_unit_test(test_literals),     cmocka_unit_test(test_blank_nodes),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_overlooked_by_serd),
        cmocka_unit_test(test_deep_nesting), cmocka_unit_test(test_refused_by_data_set),
        cmocka_unit_test(test_large),        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_damaged_gzip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
