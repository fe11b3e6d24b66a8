/* Readers of changes: each format gives the same facts, a patch its operations and transactions;
 * bad lines end reading or are reported with their number and left out. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/change_reader.h"

/* What was received, as lines. */
struct received {
    FILE *stream;
    const char *refused; /* a name that the receiver refuses */
};

static kg_status on_change(void *payload, kg_operation operation, const kg_text fact[3],
                           kg_error *error) {
    struct received *received = payload;
    for (int i = 0; i < 3; i++)
        if (received->refused != NULL && fact[i].length == strlen(received->refused) &&
            memcmp(fact[i].bytes, received->refused, fact[i].length) == 0)
            return kg_fail(error, KG_BAD_INPUT, "refused");
    fprintf(received->stream, "%c %.*s %.*s %.*s\n", (char)operation, (int)fact[0].length,
            fact[0].bytes, (int)fact[1].length, fact[1].bytes, (int)fact[2].length, fact[2].bytes);
    return KG_OK;
}

static void on_mark(void *payload, kg_patch_mark mark) {
    static const char *const names[] = {"begin", "commit", "abort"};
    const struct received *received = payload;
    fprintf(received->stream, "%s\n", names[mark]);
}

static void on_bad(void *payload, const kg_error *problem) {
    const struct received *received = payload;
    char shown[KG_ERROR_TEXT_MAX];
    fprintf(received->stream, "! %s\n", kg__error_text(shown, sizeof shown, problem));
}

static kg_status read_changes(char **out, kg_change_reader *reader, text content, kg_error *error) {
    size_t size = 0;
    struct received received = {open_memstream(out, &size), "http://x/refused"};
    reader->on_change = on_change;
    reader->on_mark = on_mark;
    reader->on_bad = on_bad;
    reader->payload = &received;
    kg_input *input = open_text(content, "in");
    kg_status status = kg__changes_read_input(reader, input, error);
    kg__input_close(input);
    fclose(received.stream);
    return status;
}

#define A "<http://x/a>"
#define R "<http://x/r>"
#define B "<http://x/b>"
#define ARB "http://x/a http://x/r http://x/b\n"

struct read_case {
    const char *format;
    text content;
    const char *expected;
    uint64_t literals;
};

static void assert_read(const struct read_case *cases, size_t count, kg_change_reader like) {
    for (size_t i = 0; i < count; i++) {
        kg_change_reader reader = like;
        kg_error error = {0};
        char *found = NULL;
        reader.format = cases[i].format;
        assert_ok(read_changes(&found, &reader, cases[i].content, &error), &error);
        assert_string_equal(found, cases[i].expected);
        assert_int_equal(reader.literals, cases[i].literals);
        free(found);
    }
}

static void test_facts(void **state) {
    (void)state;
    static const struct read_case cases[] = {
        {"tsv", TEXT_FIELD("a\tr\tb\nc\tr\t d \r\n"), "D a r b\nD c r  d \n", 0},
        {"tsv", TEXT_FIELD(""), "", 0},
        {"nt", TEXT_FIELD("# c\n\n" A " " R " " B " .\n" A R "\"l\" . # c\n"), "D " ARB, 1},
        {"nq", TEXT_FIELD(A " " R " " B " <http://x/g> .\n" A " " R " " A " ."),
         "D " ARB "D http://x/a http://x/r http://x/a\n", 0},
        {"ttl", TEXT_FIELD("@prefix x: <http://x/> .\nx:a x:r x:b ,\n x:a ."),
         "D " ARB "D http://x/a http://x/r http://x/a\n", 0},
        {"trig", TEXT_FIELD("<http://x/g> { " A " " R " " B " . }"), "D " ARB, 0},
        {"rdfp", TEXT_FIELD("A " A " " R " " B " ."), "A " ARB, 0},
    };
    assert_read(cases, COUNT_OF(cases), (kg_change_reader){.operation = KG_REMOVE});
}

static void test_patch(void **state) {
    (void)state;
    static const struct read_case cases[] = {
        {"rdfp",
         TEXT_FIELD("H id <uuid:1> .\r\nTX .\n# c\n\nPA \"x\" \"http://x/\" .\n  A " A " " R " " B
                    " .\nD " A "\t" R " " B " <http://x/g> .  \nPD \"x\" .\nTC.\n"),
         "begin\nA " ARB "D " ARB "commit\n", 0},
        {"rdfp", TEXT_FIELD("TX .\nA " A " " R " " B " .\nTA .\nTX .\nTC ."),
         "begin\nA " ARB "abort\nbegin\ncommit\n", 0},
        {"rdfp", TEXT_FIELD("A _:b " R " <_:b> .\nA <_:c:1> " R " \"<_:\\\"<_:\" ."),
         "A _:b http://x/r _:b\nA _:c:1 http://x/r \"<_:\\\"<_:\"\n", 0},
    };
    assert_read(cases, COUNT_OF(cases), (kg_change_reader){.keep_literals = true});
}

static void test_blank(void **state) {
    (void)state;
    static const struct read_case cases[] = {
        {"nt", TEXT_FIELD("_:n " R " " B " ."), "A _:n#s@7 http://x/r http://x/b\n", 0},
        {"ttl", TEXT_FIELD("_:n " R " " B " ."), "A _:n#s@7 http://x/r http://x/b\n", 0},
        {"rdfp", TEXT_FIELD("A _:n " R " " B " ."), "A _:n http://x/r http://x/b\n", 0},
    };
    assert_read(cases, COUNT_OF(cases), (kg_change_reader){.operation = KG_ADD, .scope = "s@7"});
}

static const struct read_case bad[] = {
    {"tsv", TEXT_FIELD("a\tr\tb\na b\nc\tr\td\n\ne\t\tf\ng\tr\th"),
     "A a r b\n! in:2: expected head, relation and tail separated by tabs, found 1 column: 'a b'\n"
     "A c r d\n! in:4: expected head, relation and tail, found an empty line\n"
     "! in:5:3: expected a name, found an empty column\nA g r h\n",
     0},
    {"tsv", TEXT_FIELD("a\thttp://x/refused\tb\na\tr\tb"), "! in:1: refused\nA a r b\n", 0},
    {"nt",
     TEXT_FIELD(A " " R " " B " .\n" A " " R " .\nx\n" A " " R "\n" B " .\n_:n " R " " B " .\n" A
                  " <http://x/refused> " B " .\n" A " " R " " B " <http://x/g> .\n" A " " R " " B
                  " . " A " " R " " B " .\n" A " " R " " B " ."),
     "A " ARB "! in:2:27: not valid RDF: 'expected: ':', '<', or '_''\n"
     "! in:3:2: not valid RDF: expected a statement\n"
     "! in:4:26: not valid RDF: 'unexpected end'\n"
     "! in:5:14: not valid RDF: 'expected `<', not `.''\n"
     "! in:6: expected an IRI, found a blank node, which has no name outside of its file (`source` "
     "gives it one)\n"
     "! in:7: refused\n"
     "! in:8: expected facts outside of graphs, found one in 'http://x/g' (is it TriG or "
     "N-Quads?)\n"
     "! in:9: expected one statement in a line, found 2\n"
     "A " ARB,
     0},
    {"nt", TEXT_FIELD(A " a " B " .\n" A " x:r " B " .\n" A " " R " " B " ; " R " " A " ."),
     "! in:1:14: not valid RDF: 'expected `<', not `a''\n"
     "! in:2:14: not valid RDF: 'expected `<', not `x''\n"
     "! in:3:40: not valid RDF: 'expected `<', not `;''\n",
     0},
    {"nq",
     TEXT_FIELD("xx\nxx yy zz\nfoo .\n.\n\"lit\"\nA " A " " R " " B " .\n \t\n# c\n  # c\n" A " " R
                " " B " . xx\n" A " " R " " B " . # c\n" A " " R " " B),
     "! in:1:3: not valid RDF: expected a statement\n! in:2:3: not valid RDF: expected a "
     "statement\n"
     "! in:3:4: not valid RDF: expected a statement\n! in:4:1: not valid RDF: expected a "
     "statement\n"
     "! in:5:1: not valid RDF: expected a statement\n! in:6:2: not valid RDF: expected a "
     "statement\n"
     "! in:10:44: not valid RDF: expected a statement\nA " ARB
     "! in:12:39: not valid RDF: 'unexpected end'\n",
     0},
    {"rdfp",
     TEXT_FIELD("A " A " " R " .\nX .\nTX .\nA " A " " R " " B " . " A " " R " " B " .\nD " A " " R
                " " B "\nA .\nPA\nD " A " " R " " B " ."),
     "! in:1: not valid RDF: 'expected: ':', '<', or '_''\n"
     "! in:2: expected a row that starts with A, D, H, PA, PD, TX, TC or TA, found 'X'\n"
     "begin\n! in:4: expected one statement in a line, found 2\n"
     "! in:5: expected a dot at the end of the row\n"
     "! in:6: not valid RDF: expected a statement\n"
     "! in:7: expected a dot at the end of the row\nD " ARB
     "! in:8: expected TC or TA of the last transaction, found the end\nabort\n",
     0},
};

/* Each bad line is reported with its number, and the lines around it are read. */
static void test_skipped(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        kg_change_reader reader = {.format = bad[i].format, .operation = KG_ADD, .skip_bad = true};
        kg_error error = {0};
        char *found = NULL;
        assert_ok(read_changes(&found, &reader, bad[i].content, &error), &error);
        assert_string_equal(found, bad[i].expected);
        free(found);
    }
}

/* Without skipping, the first bad line ends it. */
static void test_stopped(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        kg_change_reader reader = {.format = bad[i].format, .operation = KG_ADD};
        kg_error error = {0};
        char *found = NULL;
        assert_status(read_changes(&found, &reader, bad[i].content, &error), KG_BAD_INPUT, &error);
        const char *first = strstr(bad[i].expected, "! ");
        char shown[KG_ERROR_TEXT_MAX];
        kg__error_text(shown, sizeof shown, &error);
        assert_non_null(first);
        assert_memory_equal(found, bad[i].expected, strlen(found));
        assert_int_equal(strlen(found), first - bad[i].expected);
        assert_memory_equal(shown, first + 2, strlen(shown));
        free(found);
    }
}

/* Lines that are too long to be kept in memory are bad ones like others: the first, one between
 * others and the last. Damage of the input is not. */
static void test_too_long(void **state) {
    (void)state;
    static const size_t lengths[] = {KG_LINE_MAX + (9 << 20), (size_t)70 << 20};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        size_t size = 0;
        char *content = NULL;
        char *line = must_allocate(lengths[i] + 1, 1);
        memset(line, 'l', lengths[i]);
        FILE *stream = open_memstream(&content, &size);
        fprintf(stream, "%s\na\tr\tb\n%s\n%s\nx\nc\tr\td\n%s", line, line, line, line);
        fclose(stream);
        kg_change_reader reader = {.format = "tsv", .operation = KG_ADD, .skip_bad = true};
        kg_error error = {0};
        char *found = NULL;
        assert_ok(read_changes(&found, &reader, (text){content, size}, &error), &error);
#define TOO_LONG ": expected lines of at most 16777216 bytes\n"
        assert_string_equal(found, "! in:1" TOO_LONG "A a r b\n! in:3" TOO_LONG "! in:4" TOO_LONG
                                   "! in:5: expected head, relation and tail separated by tabs, "
                                   "found 1 column: 'x'\nA c r d\n! in:7" TOO_LONG);
#undef TOO_LONG
        assert_int_equal(reader.bad_lines, 5);
        free(found);
        reader.skip_bad = false;
        assert_int_equal(read_changes(&found, &reader, (text){content, size}, &error),
                         KG_BAD_INPUT);
        free(found);
        free(content);
        free(line);
    }
    kg_change_reader reader = {.format = "tsv", .operation = KG_ADD, .skip_bad = true};
    kg_error error = {0};
    char *found = NULL;
    text damaged = TEXT("\x1f\x8b\x08\0\0\0\0\0\0\x03 not deflated");
    assert_int_equal(read_changes(&found, &reader, damaged, &error), KG_BAD_INPUT);
    free(found);
}

/* The row of a transaction is never skipped: what the patch gave up would count. */
static void test_bad_marks(void **state) {
    (void)state;
#define FACT "\nA " A " " R " " B " .\n"
    static const struct {
        text content;
        const char *message;
    } cases[] = {
        {TEXT_FIELD("TX <id> ." FACT "TA ."), "in:1: expected nothing before the dot"},
        {TEXT_FIELD("TX ." FACT "TA"), "in:3: expected a dot at the end of the row"},
        {TEXT_FIELD("x" FACT "TA ."), "in:3: expected TX before TC and TA, found none"},
        {TEXT_FIELD("TX ." FACT "x\nTX ." FACT "TC ."),
         "in:4: expected TC or TA of the transaction before, found TX"},
        {TEXT_FIELD("tx ." FACT "ta ."), "in:1: expected a row that starts with A, D, H, PA, PD, "
                                         "TX, TC or TA, found 'tx'"},
    };
#undef FACT
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int skips = 0; skips < 2; skips++) {
            kg_change_reader reader = {.format = "rdfp", .skip_bad = skips == 1};
            kg_error error = {0};
            char *found = NULL;
            kg_status status = read_changes(&found, &reader, cases[i].content, &error);
            assert_int_equal(status, KG_BAD_INPUT);
            if (skips == 1)
                assert_error_text(&error, cases[i].message);
            free(found);
        }
}

static void test_no_lines(void **state) {
    (void)state;
    kg_change_reader reader = {.format = "ttl", .operation = KG_ADD, .skip_bad = true};
    kg_error error = {0};
    char *found = NULL;
    assert_status(read_changes(&found, &reader, TEXT(A " " R " " B " ."), &error), KG_BAD_INPUT,
                  &error);
    assert_error_text(&error, "in: expected a format of lines, of which bad ones can be skipped, "
                              "found ttl");
    free(found);
}

static void test_extension(void **state) {
    (void)state;
    static const struct {
        const char *path;
        text content;
    } cases[] = {
        {"facts", TEXT_FIELD("http://x/a\thttp://x/r\thttp://x/b\n")},
        {"facts.nt", TEXT_FIELD(A " " R " " B " .")},
        {"facts.nq", TEXT_FIELD(A " " R " " B " " A " .")},
        {"facts.ttl", TEXT_FIELD("@base <http://x/> . <a> <r> <b> .")},
        {"facts.trig", TEXT_FIELD(A " {" A " " R " " B " }")},
        {"facts.rdfp", TEXT_FIELD("A " A " " R " " B " .")},
        {"facts.rdfp.gz", TEXT_FIELD("A " A " " R " " B " .")},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *found = NULL;
        size_t size = 0;
        struct received received = {open_memstream(&found, &size), NULL};
        kg_change_reader reader = {
            .operation = KG_ADD, .on_change = on_change, .payload = &received};
        kg_error error = {0};
        write_file(cases[i].path, cases[i].content);
        assert_ok(kg__changes_read(&reader, cases[i].path, &error), &error);
        fclose(received.stream);
        assert_string_equal(found, "A " ARB);
        assert_int_equal(reader.changes, 1);
        free(found);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),     cmocka_unit_test(test_patch),
        cmocka_unit_test(test_blank),     cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_stopped),   cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_bad_marks), cmocka_unit_test(test_no_lines),
        test_in_folder(test_extension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
