/* Sources: which reader a file or a directory gets, by its name, its files or what was asked for;
 * what is recorded about it; and each way in which a source can be none. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/dataset_source.h"

#define NT "<http://x/a> <http://x/r> <http://x/b> .\n"
#define NT_FACT "http://x/a http://x/r http://x/b\n"

/* A file to be made; compressed if its name ends so. */
struct file {
    const char *path, *content;
};

static void make_files(const struct file *files, size_t count) {
    for (size_t i = 0; i < count && files[i].path != NULL; i++) {
        char folder[64];
        snprintf(folder, sizeof folder, "%s", files[i].path);
        char *slash = strrchr(folder, '/');
        if (slash != NULL) {
            *slash = '\0';
            mkdir(folder, 0777); /* it may be there */
        }
        text content = text_of(files[i].content);
        if (strstr(files[i].path, ".gz") == NULL) {
            write_file(files[i].path, content);
            continue;
        }
        text packed = compress_text(content);
        write_file(files[i].path, packed);
        free((void *)packed.bytes);
    }
}

#define TSV "a\tr\tb\n"
#define TSV_FACT "a r b\n"
#define NAMES(name)                                  \
    {name "/entity2id.txt", "3\na 0\nb 1\nc 2\n"}, { \
        name "/relation2id.txt", "1\nr 0\n"          \
    }

static const struct {
    struct file files[8];
    const char *source, *format;
    const char *facts[KG_PART_COUNT]; /* NULL for none */
    const char *recorded_format, *recorded_name;
} recognised[] = {
    {{{"f.tsv", TSV}}, "f.tsv", NULL, {TSV_FACT}, "tsv", "f.tsv"},
    {{{"f.any", TSV}}, "f.any", NULL, {TSV_FACT}, "tsv", "f.any"},
    {{{"f", TSV}}, "f", NULL, {TSV_FACT}, "tsv", "f"},
    {{{"nt", TSV}}, "nt", NULL, {TSV_FACT}, "tsv", "nt"},
    {{{"f.tsv.gz", TSV}}, "f.tsv.gz", NULL, {TSV_FACT}, "tsv", "f.tsv.gz"},
    {{{"in/f.nt", NT}}, "in/f.nt", NULL, {NT_FACT}, "nt", "f.nt"},
    {{{"f.ttl", "@base <http://x/> .\n<a> <r> <b> ."}}, "f.ttl", NULL, {NT_FACT}, "ttl", "f.ttl"},
    {{{"f.trig", "<http://x/g> { " NT " }"}}, "f.trig", NULL, {NT_FACT}, "trig", "f.trig"},
    {{{"f.nq", NT}}, "f.nq", NULL, {NT_FACT}, "nq", "f.nq"},
    {{{"f.nt.gz", NT}}, "f.nt.gz", NULL, {NT_FACT}, "nt", "f.nt.gz"},
    {{{"f.txt", NT}}, "f.txt", "nt", {NT_FACT}, "nt", "f.txt"},
    {{{"f.nt", TSV}}, "f.nt", "tsv", {TSV_FACT}, "tsv", "f.nt"},
    {{{"d/train.tsv", TSV}}, "d", NULL, {TSV_FACT}, "tsv", "d"},
    {{{"d/train.tsv", TSV},
      {"d/valid.tsv", "b\tr\tc\n"},
      {"d/test.tsv", "b\tr\td\n"},
      {"d/unseen-valid.tsv", "x\tr\ta\n"},
      {"d/unseen-test.tsv", "y\tr\ta\n"}},
     "d",
     NULL,
     {TSV_FACT, "b r c\n", "b r d\n", "x r a\n", "y r a\n"},
     "tsv",
     "d"},
    {{{"d/train.tsv", TSV},
      {"d/unseen-test.tsv", "x\tr\ta\nb\tr\ty\n"},
      {"d/between-test.tsv", "y\tr\tx\n"}},
     "d",
     NULL,
     {[KG_TRAIN] = TSV_FACT, [KG_UNSEEN_TEST] = "x r a\nb r y\n", [KG_BETWEEN_TEST] = "y r x\n"},
     "tsv",
     "d"},
    {{{"d/train.txt", TSV}, {"d/valid.txt", TSV}, {"d/test.txt.gz", "b\tr\ta\n"}},
     "d",
     NULL,
     {TSV_FACT, TSV_FACT, "b r a\n"},
     "tsv",
     "d"},
    {{{"d/train.txt", TSV}, {"d/test.txt", "b\tr\ta\n"}},
     "d",
     NULL,
     {TSV_FACT, NULL, "b r a\n"},
     "tsv",
     "d"},
    {{{"d/train.txt", TSV},
      {"d/valid.json", "{\"x\": [[\"x\", \"r\", \"a\"]]}"},
      {"d/test.json.gz", "{\"y\": [[\"b\", \"r\", \"y\"]]}"}},
     "./d",
     NULL,
     {TSV_FACT, NULL, NULL, "x r a\n", "b r y\n"},
     "oos-json",
     "d"},
    {{{"d/train2id.txt", "1\n0 1 0\n"}, {"d/test2id.txt", "1\n1 0 0\n"}, NAMES("d")},
     "d",
     NULL,
     {TSV_FACT, NULL, "b r a\n"},
     "openke",
     "d"},
    {{{"d/train.txt", TSV},
      {"d/inference.txt", "n\tr\to\n"},
      {"d/inference_validation.txt", "o\tr\tn\n"},
      {"d/inference_test.txt.gz", "p\tr\ta\n"}},
     "d",
     NULL,
     {[KG_TRAIN] = TSV_FACT, [KG_GRAPH] = "n r o\n", "o r n\n", "p r a\n"},
     "ilpc",
     "d"},
    {{{"d/train.txt", TSV},
      {"d/valid.txt", "b\tr\tc\n"},
      {"d/test.txt", "b\tr\td\n"},
      {"d/inference.txt", "n\tr\to\n"}},
     "d",
     NULL,
     {TSV_FACT, "b r c\n", "b r d\n", [KG_GRAPH] = "n r o\n"},
     "ilpc",
     "d"},
    {{{"d/train.txt", TSV}, {"d/inference.txt", "n\tr\to\n"}}, "d", "tsv", {TSV_FACT}, "tsv", "d"},
    {{{"d/train.tsv", TSV}, {"d/graph.tsv", "n\tr\to\n"}, {"d/graph-test.tsv", "o\tr\tn\n"}},
     "d",
     NULL,
     {[KG_TRAIN] = TSV_FACT, [KG_GRAPH] = "n r o\n", NULL, "o r n\n"},
     "tsv",
     "d"},
    /* Beside X there is X_ind, but X or X_ind is no data set of a pair, or tsv is asked for. */
    {{{"d/train.txt", TSV}, {"d_ind/train.txt", "n\tr\to\n"}}, "d", "tsv", {TSV_FACT}, "tsv", "d"},
    {{{"d/train.txt", TSV}, {"d_ind/test.txt", "n\tr\to\n"}}, "d", NULL, {TSV_FACT}, "tsv", "d"},
    {{{"d/train.txt", TSV}, {"d_ind", "n\tr\to\n"}}, "d", NULL, {TSV_FACT}, "tsv", "d"},
    {{{"d/train.tsv", TSV}, {"d_ind/train.txt", "n\tr\to\n"}}, "d", NULL, {TSV_FACT}, "tsv", "d"},
    {{{"d/train.txt", TSV}, {"d_ind/train.txt", "n\tr\to\n"}},
     "d_ind",
     NULL,
     {"n r o\n"},
     "tsv",
     "d_ind"},
    /* Of two data sets in one directory, the one that is asked for. */
    {{{"d/train2id.txt", "1\n0 1 0\n"}, NAMES("d"), {"d/train.txt", "x\ty\tz\n"}},
     "d",
     "openke",
     {TSV_FACT},
     "openke",
     "d"},
    {{{"d/train2id.txt", "1\n0 1 0\n"}, NAMES("d"), {"d/train.txt", "x\ty\tz\n"}},
     "d",
     "tsv",
     {"x y z\n"},
     "tsv",
     "d"},
};

static kg_status read_sources(kg_dataset *dataset, kg_reader *reader, const char *const *sources,
                              size_t count, kg_error *error) {
    assert_ok(kg__dataset_open(dataset, error), error);
    return kg__source_read(dataset, reader, sources, count, error);
}

/* The sources on record are these, of which the reference is taken. */
static void assert_history(const kg_dataset *dataset, json_t *sources) {
    json_t *expected = json_pack("{s:o}", "sources", sources);
    char *shown[2] = {json_dumps(dataset->history, 0), json_dumps(expected, 0)};
    bool same = json_equal(dataset->history, expected);
    if (!same)
        print_error("expected: %s\nfound:    %s\n", shown[1], shown[0]);
    free(shown[0]);
    free(shown[1]);
    json_decref(expected);
    assert_true(same);
}

/* The next case starts with nothing. */
static void renew_folder(void **state) {
    assert_int_equal(leave_temporary_folder(state), 0);
    assert_int_equal(enter_temporary_folder(state), 0);
}

static void test_recognised(void **state) {
    for (size_t i = 0; i < COUNT_OF(recognised); i++) {
        make_files(recognised[i].files, COUNT_OF(recognised[i].files));
        kg_dataset dataset;
        kg_reader reader = {.options.format = recognised[i].format};
        kg_error error = {0};
        assert_ok(read_sources(&dataset, &reader, &recognised[i].source, 1, &error), &error);
        for (kg_part part = 0; part < KG_PART_COUNT; part++)
            assert_facts(&dataset, part,
                         recognised[i].facts[part] == NULL ? "" : recognised[i].facts[part]);
        assert_history(&dataset, json_pack("[{s:s, s:s}]", "format", recognised[i].recorded_format,
                                           "name", recognised[i].recorded_name));
        kg__dataset_close(&dataset);
        renew_folder(state);
    }
}

static const struct {
    struct file files[8];
    const char *sources[3], *format;
    const char *expected;
} refused[] = {
    {{{NULL, NULL}}, {"no.tsv"}, NULL, "no.tsv: cannot open it: No such file or directory"},
    {{{"d/readme", ""}},
     {"d"},
     NULL,
     "d: expected a directory with train.tsv, train.txt or train2id.txt, found none"},
    {{{"d/train.tsv", TSV}},
     {"d"},
     "openke",
     "d: expected a directory with train2id.txt, as for format openke, found none"},
    {{{"d/train2id.txt", "1\n0 0 0\n"}},
     {"d"},
     "tsv",
     "d: expected a directory with train.tsv or train.txt, as for format tsv, found none"},
    {{{"d/train.tsv", TSV}}, {"d"}, "nt", "d: expected a file for format nt, found a directory"},
    {{{"d/valid.txt", TSV}, {"d/test.txt", TSV}},
     {"d"},
     NULL,
     "d: expected a directory with train.tsv, train.txt or train2id.txt, found none"},
    {{{"d/train.txt", TSV}},
     {"d"},
     "oos-json",
     "d: expected a directory with train.txt and valid.json or test.json, as for format oos-json, "
     "found none"},
    {{{"d/train.tsv", TSV}, {"d/train.txt", TSV}},
     {"d"},
     NULL,
     "d: expected one data set, found files of several forms: train.tsv and train.txt (kgraft "
     "import takes that of `format`, if it tells them apart)"},
    {{{"d/train2id.txt", "1\n0 1 0\n"}, NAMES("d"), {"d/train.txt", TSV}, {"d/valid.txt", TSV}},
     {"d"},
     NULL,
     "d: expected one data set, found files of several forms: train.txt and train2id.txt (kgraft "
     "import takes that of `format`, if it tells them apart)"},
    {{{"d/train.txt", TSV}, {"d/valid.txt", TSV}, {"d/test.txt", TSV}, {"d/test.json", "{}"}},
     {"d"},
     NULL,
     "d: expected one data set, found files of several forms: train.txt and test.json (kgraft "
     "import takes that of `format`, if it tells them apart)"},
    {{{"d/train2id.txt", "1\n0 0 0\n"}},
     {"d"},
     NULL,
     "d: expected a file entity2id.txt, found none"},
    {{{"f", TSV}}, {"f"}, "openke", "f: expected a directory for format openke, found a file"},
    {{{"f", TSV}}, {"f"}, "oos-json", "f: expected a directory for format oos-json, found a file"},
    {{{"f", TSV}, {"d/train.tsv", TSV}},
     {"f", "d"},
     NULL,
     "d: expected a file, as one of several sources, found a directory"},
    {{{"f", TSV}}, {"f", "no"}, NULL, "no: cannot open it: No such file or directory"},
    {{{"f", TSV}}, {"f"}, "grail", "f: expected a directory for format grail, found a file"},
    {{{"d/train.txt", TSV}},
     {"d"},
     "ilpc",
     "d: expected a directory with train.txt and inference.txt, as for format ilpc, found none"},
    {{{"d/train.txt", TSV}},
     {"d"},
     "grail",
     "d_ind: expected a directory with train.txt, as for format grail, found none"},
    {{{"d_ind/train.txt", TSV}, {"d/test.txt", TSV}},
     {"d"},
     "grail",
     "d: expected a directory with train.txt, as for format grail, found none"},
    {{{"d/train.txt", TSV}, {"e/test.txt", TSV}},
     {"d", "e"},
     NULL,
     "e: expected a directory with train.txt, as for format grail, found none"},
    {{{"d/train.txt", TSV}, {"e/train.txt", TSV}},
     {"d", "e"},
     "tsv",
     "d: expected a file, as one of several sources, found a directory"},
    {{{"d/train.txt", TSV}, {"e/train.txt", "n\ts\to\nn\tq\to\n"}},
     {"d", "e"},
     NULL,
     "d: expected known relations in the new graph, found unknown ones in 2 of its facts: 's', 'q' "
     "(kgraft import leaves these facts out by `skip_unknown`)"},
    {{{"d/train.txt", TSV}, {"d/inference_test.txt", "n\tr\to\n"}},
     {"d"},
     NULL,
     "d: expected facts of the new graph with known relations, found none"},
    {{{"d/train.txt", TSV}, {"d/inference.txt", TSV}, {"d/valid.json", "{}"}},
     {"d"},
     NULL,
     "d: expected one data set, found files of several forms: train.txt and inference.txt (kgraft "
     "import takes that of `format`, if it tells them apart)"},
    {{{"d/train.txt", TSV}, {"d/inference.txt", "n\tr\n"}},
     {"d"},
     NULL,
     "d/inference.txt:1: expected head, relation and tail separated by tabs, found 2 columns: "
     "'n\\x09r'"},
    {{{"d/train.tsv", TSV}, {"d/valid.tsv", "a\tr\n"}},
     {"d"},
     NULL,
     "d/valid.tsv:1: expected head, relation and tail separated by tabs, found 2 columns: "
     "'a\\x09r'"},
    {{{"f.nt", "<http://x/a> <http://x/r> \"only literals\" .\n"}},
     {"f.nt"},
     NULL,
     "f.nt: expected facts to train on, found only some about literals, which are left out (kgraft "
     "import takes them with `literals` keep)"},
    {{{"d/x", ""}}, {"wordnet:d"}, NULL, "d: expected a file index.noun, found none"},
};

static void test_refused(void **state) {
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        make_files(refused[i].files, COUNT_OF(refused[i].files));
        size_t count = refused[i].sources[1] == NULL ? 1 : 2;
        kg_dataset dataset;
        kg_reader reader = {.options.format = refused[i].format};
        kg_error error = {0};
        assert_status(read_sources(&dataset, &reader, refused[i].sources, count, &error),
                      KG_BAD_INPUT, &error);
        assert_error_text(&error, refused[i].expected);
        kg__dataset_close(&dataset);
        renew_folder(state);
    }
}

/* Their facts together, their blank nodes apart, and all of them on record. */
static void test_several_files(void **state) {
    (void)state;
    static const struct file files[] = {{"one.nt", "_:n <http://x/r> _:m .\n"},
                                        {"two.tsv", "a\tr\tb\na\tr\tb\n"},
                                        {"three.ttl", "_:n <http://x/r> <http://x/a> ."}};
    make_files(files, COUNT_OF(files));
    static const char *const sources[] = {"one.nt", "two.tsv", "three.ttl"};
    kg_dataset dataset;
    kg_reader reader = {0};
    kg_error error = {0};
    assert_ok(read_sources(&dataset, &reader, sources, COUNT_OF(sources), &error), &error);
    assert_facts(&dataset, KG_TRAIN, "_:n http://x/r _:m\na r b\n_:n#3 http://x/r http://x/a\n");
    assert_int_equal(dataset.duplicates[KG_TRAIN], 1);
    assert_history(&dataset, json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "format", "nt",
                                       "name", "one.nt", "format", "tsv", "name", "two.tsv",
                                       "format", "ttl", "name", "three.ttl"));
    kg__dataset_close(&dataset);
}

/* A pair of directories: both are given, in either form or with the slash of a shell's completion,
 * or the first alone. */
static void test_pair(void **state) {
    (void)state;
    static const struct file files[] = {{"d/train.txt", TSV},
                                        {"d/valid.txt", "b\tr\tc\n"},
                                        {"d/test.txt", "b\tr\td\n"},
                                        {"d_ind/train.txt.gz", "n\tr\ta\nn\ts\tm\n"},
                                        {"d_ind/test.txt", "a\tr\tn\n"}};
    static const struct {
        const char *sources[2], *format;
    } cases[] = {{{"d"}, NULL},
                 {{"./d/"}, NULL},
                 {{"d"}, "grail"},
                 {{"d", "d_ind"}, NULL},
                 {{"d/", "d_ind/"}, "grail"}};
    make_files(files, COUNT_OF(files));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset dataset;
        kg_reader reader = {.options = {.format = cases[i].format, .skip_unknown = true}};
        kg_error error = {0};
        size_t count = cases[i].sources[1] == NULL ? 1 : 2;
        assert_ok(read_sources(&dataset, &reader, cases[i].sources, count, &error), &error);
        assert_facts(&dataset, KG_TRAIN, TSV_FACT);
        assert_facts(&dataset, KG_VALID, "b r c\n");
        assert_facts(&dataset, KG_TEST, "b r d\n");
        assert_facts(&dataset, KG_GRAPH, "n r a\n");
        assert_facts(&dataset, KG_GRAPH_VALID, "");
        assert_facts(&dataset, KG_GRAPH_TEST, "a r n\n");
        assert_int_equal(dataset.unknown_facts, 1);
        assert_history(&dataset, json_pack("[{s:s, s:s}, {s:s, s:s}]", "format", "grail", "name",
                                           "d", "format", "grail", "name", "d_ind"));
        kg__dataset_close(&dataset);
    }
}

/* A slash behind a directory does not change its name. */
static void test_trailing_slash(void **state) {
    (void)state;
    static const struct file files[] = {{"in/d/train.tsv", TSV}};
    assert_int_equal(mkdir("in", 0777), 0);
    make_files(files, COUNT_OF(files));
    const char *source = "in/d/";
    kg_dataset dataset;
    kg_reader reader = {0};
    kg_error error = {0};
    assert_ok(read_sources(&dataset, &reader, &source, 1, &error), &error);
    assert_history(&dataset, json_pack("[{s:s, s:s}]", "format", "tsv", "name", "d"));
    kg__dataset_close(&dataset);
}

static void test_unused_names(void **state) {
    (void)state;
    static const struct file files[] = {{"d/train2id.txt", "1\n0 1 0\n"}, NAMES("d")};
    make_files(files, COUNT_OF(files));
    const char *source = "d";
    kg_dataset dataset;
    kg_reader reader = {0};
    kg_error error = {0};
    assert_ok(read_sources(&dataset, &reader, &source, 1, &error), &error);
    assert_int_equal(reader.counts.unused_names, 1);
    kg__dataset_close(&dataset);
}

static void test_standard_input(void **state) {
    (void)state;
    int before = replace_standard_input(TEXT(TSV));
    const char *source = "-";
    kg_dataset dataset;
    kg_reader reader = {0};
    kg_error error = {0};
    assert_ok(read_sources(&dataset, &reader, &source, 1, &error), &error);
    assert_facts(&dataset, KG_TRAIN, TSV_FACT);
    kg__dataset_close(&dataset);
    restore_standard_input(before);
}

/* WordNet by its own name is the one that is installed. */
static void test_wordnet(void **state) {
    (void)state;
    if (access("/usr/share/wordnet/index.noun", R_OK) != 0)
        skip();
    static const char *const sources[] = {"wordnet", "wordnet:/usr/share/wordnet"};
    size_t counts[2];
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        kg_dataset dataset;
        kg_reader reader = {0};
        kg_error error = {0};
        assert_ok(read_sources(&dataset, &reader, &sources[i], 1, &error), &error);
        assert_history(&dataset, json_pack("[{s:s, s:s}]", "format", "wordnet", "name", "wordnet"));
        counts[i] = dataset.parts[KG_TRAIN].count;
        kg__dataset_close(&dataset);
    }
    assert_true(counts[0] > 0 && counts[0] == counts[1]);
}

/* Whoever asks for a format gets a name from this list. */
static void test_formats(void **state) {
    (void)state;
    static const char *const expected[] = {"tsv",    "nt",       "ttl",  "nq",    "trig",
                                           "openke", "oos-json", "ilpc", "grail", NULL};
    for (size_t i = 0; i < COUNT_OF(expected) - 1; i++)
        assert_string_equal(kg__formats[i], expected[i]);
    assert_null(kg__formats[COUNT_OF(expected) - 1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_recognised),       test_in_folder(test_refused),
        test_in_folder(test_several_files),    test_in_folder(test_pair),
        test_in_folder(test_trailing_slash),   test_in_folder(test_unused_names),
        cmocka_unit_test(test_standard_input), cmocka_unit_test(test_wordnet),
        cmocka_unit_test(test_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
