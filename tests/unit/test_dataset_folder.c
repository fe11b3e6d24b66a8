/* Data set folders: the bytes of their files, dataset.json and its checks, that reading and writing
 * again gives the same bytes, and that the number of threads changes nothing. */
#include "support.h"

#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/json.h"
#include "graph/dataset_folder.h"
#include "graph/dataset_source.h"

static kg_status write_folder(const kg_dataset *dataset, const char *path,
                              const kg_progress *progress, kg_error *error) {
    kg_folder *folder = NULL;
    assert_ok(kg__folder_start(&folder, path, true, kg__dataset_files, error), error);
    kg_status status = kg__dataset_write(dataset, folder, progress, error);
    if (status == KG_OK)
        status = kg__folder_commit(folder, error);
    kg__folder_close(folder);
    return status;
}

static kg_status read_source(kg_dataset *dataset, const char *path, kg_error *error) {
    kg_reader reader = {0};
    assert_ok(kg__dataset_open(dataset, error), error);
    return kg__source_read(dataset, &reader, &path, 1, error);
}

/* Both folders hold the same files. */
static void assert_same_folders(const char *one, const char *other) {
    assert_int_equal(count_entries(one), count_entries(other));
    for (const char *const *name = kg__dataset_files; *name != NULL; name++) {
        char paths[2][128];
        snprintf(paths[0], sizeof paths[0], "%s/%s", one, *name);
        snprintf(paths[1], sizeof paths[1], "%s/%s", other, *name);
        assert_int_equal(file_exists(paths[0]), file_exists(paths[1]));
        if (!file_exists(paths[0]))
            continue;
        size_t size = 0;
        char *bytes = read_file(paths[0], &size);
        assert_file(paths[1], ((text){bytes, size}));
        free(bytes);
    }
}

static const char small[] = "a r b\nb s c\nc r a\na r b\n\nc s b\n\n\nx r a\nb s x\n\ny s c\n";

static json_t *read_about(const char *folder) {
    json_t *about = NULL;
    kg_error error = {0};
    assert_ok(kg__dataset_json_read(&about, folder, &error), &error);
    assert_non_null(about);
    return about;
}

static void test_files(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_error error = {0};
    make_dataset(&dataset, small);
    json_object_set_new(dataset.history, "source", json_string("me"));
    assert_ok(write_folder(&dataset, "out", NULL, &error), &error);
    assert_int_equal(count_entries("out"), 5); /* test has no facts, so no file */
    assert_file("out/train.tsv", TEXT("a\tr\tb\nb\ts\tc\nc\tr\ta\n"));
    assert_file("out/valid.tsv", TEXT("c\ts\tb\n"));
    assert_file("out/unseen-valid.tsv", TEXT("x\tr\ta\nb\ts\tx\n"));
    assert_file("out/unseen-test.tsv", TEXT("y\ts\tc\n"));
    json_t *about = read_about("out");
    json_t *expected = json_pack("{s:i, s:s, s:{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}}",
                                 "kgraft_dataset", 1, "source", "me", "counts", "entities", 3,
                                 "relations", 2, "train", 3, "valid", 1, "test", 0, "unseen_valid",
                                 1, "unseen_test", 1, "queries_valid", 2, "queries_test", 1);
    json_t *files = json_object_get(about, "files");
    json_object_set(expected, "files", files);
    assert_ok(kg__json_seal(expected, &error), &error);
    assert_true(json_equal(about, expected));
    assert_int_equal(json_object_size(files), 4);
    kg_hasher *hasher = kg__hasher_new();
    kg__hasher_add(hasher, "c\ts\tb\n", 6);
    const json_t *valid = json_object_get(files, "valid.tsv");
    assert_int_equal(json_integer_value(json_object_get(valid, "facts")), 1);
    assert_int_equal(json_integer_value(json_object_get(valid, "bytes")), 6);
    assert_string_equal(json_string_value(json_object_get(valid, "xxh3")),
                        kg__hasher_checksum(hasher).text);
    kg__hasher_free(hasher);
    json_decref(expected);
    json_decref(about);
    kg__dataset_close(&dataset);
}

/* Names with all that a name may hold, at all three places. */
static void test_read_and_written_again(void **state) {
    (void)state;
    static const char *const names[] = {
        "a",  "\r", "a\r",   "\r\r",  "a\rb",         " ", "#", "\xff\xfe", "\\t", "\xc3\xa4",
        "\"", "'",  "a\x01", "_:n#2", "\xef\xbb\xbf", "0"};
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    for (size_t i = 0; i < COUNT_OF(names) * COUNT_OF(names); i++) {
        const char *head = names[i / COUNT_OF(names)];
        const char *tail = names[i % COUNT_OF(names)];
        const char *relation = names[(i + i / 7) % COUNT_OF(names)];
        assert_ok(kg__dataset_add_one(&dataset, kg__name_of(head, strlen(head)),
                                      kg__name_of(relation, strlen(relation)),
                                      kg__name_of(tail, strlen(tail)), &error),
                  &error);
    }
    assert_ok(kg__dataset_finish(&dataset, &error), &error);
    json_object_set_new(dataset.history, "anything", json_pack("[f, s]", 1.0 / 3, "\xc3\xa4"));
    assert_ok(write_folder(&dataset, "one", NULL, &error), &error);
    kg_dataset again;
    assert_ok(read_source(&again, "one", &error), &error);
    char *shown = show_facts(&dataset, KG_TRAIN);
    assert_facts(&again, KG_TRAIN, shown);
    free(shown);
    assert_ok(write_folder(&again, "two", NULL, &error), &error);
    assert_same_folders("one", "two");
    kg__dataset_close(&again);
    kg__dataset_close(&dataset);
}

static const char with_graph[] = "a r b\nb s c\n\nc s b\n\n\nx r a\n\n\n"
                                 "n r o\no s n\n\nn s p\n\nn r n\na r n\n";

static void test_all_parts_again(void **state) {
    (void)state;
    static const char *const sets[] = {small, with_graph};
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        kg_dataset dataset;
        kg_dataset again;
        kg_error error = {0};
        make_dataset(&dataset, sets[i]);
        assert_ok(write_folder(&dataset, "one", NULL, &error), &error);
        assert_ok(read_source(&again, "one/", &error), &error);
        assert_ok(write_folder(&again, "two", NULL, &error), &error);
        assert_same_folders("one", "two");
        assert_string_equal(kg__dataset_checksum(&dataset).text, kg__dataset_checksum(&again).text);
        kg__dataset_close(&dataset);
        kg__dataset_close(&again);
    }
}

/* The files of a new graph, and what dataset.json says of it. */
static void test_graph_files(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_error error = {0};
    make_dataset(&dataset, with_graph);
    assert_ok(write_folder(&dataset, "out", NULL, &error), &error);
    assert_int_equal(count_entries("out"), 7);
    assert_file("out/graph.tsv", TEXT("n\tr\to\no\ts\tn\n"));
    assert_file("out/graph-valid.tsv", TEXT("n\ts\tp\n"));
    assert_file("out/graph-test.tsv", TEXT("n\tr\tn\na\tr\tn\n"));
    json_t *about = read_about("out");
    const json_t *counts = json_object_get(about, "counts");
    static const struct {
        const char *key;
        int count;
    } expected[] = {{"entities", 3},
                    {"graph_entities", 4},
                    {"graph", 2},
                    {"graph_valid", 1},
                    {"graph_test", 2}};
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(json_integer_value(json_object_get(counts, expected[i].key)),
                         expected[i].count);
    json_decref(about);
    kg__dataset_close(&dataset);
}

/* Checksums are recorded in models: those of data sets without a new graph are what they were
 * before there were any. Of the others every name and fact counts. */
static void test_checksums(void **state) {
    (void)state;
    static const char *const sets[] = {
        small,
        "a r b\n\n\n\n\n\nn r o\n",
        "a r b\n\n\n\n\n\nn r p\n",
        "a r b\n\n\n\n\n\no r n\n",
        "a r b\n\n\n\n\n\nn r o\n\nn r o\n",
        "a r b\n\n\n\n\n\nn r o\n\n\nn r o\n",
    };
    kg_checksum found[COUNT_OF(sets)];
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        kg_dataset dataset;
        make_dataset(&dataset, sets[i]);
        found[i] = kg__dataset_checksum(&dataset);
        kg__dataset_close(&dataset);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(found[i].text, found[j].text);
    }
    assert_string_equal(found[0].text, "225f0bbfa31b2b415e1e02d751ca1eb4");
}

/* Enough facts that several rounds of tiles are needed. What is written is what was read, for none
 * of its lines comes twice. */
enum { FACTS = 300000 };

static void test_threads_do_not_matter(void **state) {
    (void)state;
    char *content = must_allocate(FACTS, 32);
    size_t length = 0;
    uint64_t random = 70;
    for (unsigned i = 0; i < FACTS; i++) /* the head makes them differ */
        length += (size_t)snprintf(content + length, 32, "h%u\tr%u\tt%u\n", i,
                                   (unsigned)next_below(&random, 30),
                                   (unsigned)next_below(&random, 5000));
    write_file("facts.tsv", (text){content, length});
    static const int threads[] = {1, 2, 7};
    static const char *const folders[] = {"by1", "by2", "by7"};
    omp_set_dynamic(0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        omp_set_num_threads(threads[i]);
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(read_source(&dataset, "facts.tsv", &error), &error);
        assert_ok(write_folder(&dataset, folders[i], NULL, &error), &error);
        kg__dataset_close(&dataset);
        assert_same_folders("by1", folders[i]);
    }
    assert_file("by1/train.tsv", ((text){content, length}));
    free(content);
}

/* As many facts as fill one, several or all tiles, one less and one more. */
static void test_numbers_of_facts(void **state) {
    (void)state;
    static const unsigned tile = 1 << 14;
    static const unsigned tiles[] = {1, 3, 16};
    char *content = must_allocate((size_t)16 * tile + 1, 16);
    for (size_t i = 0; i < COUNT_OF(tiles); i++)
        for (unsigned facts = tiles[i] * tile - 1; facts <= tiles[i] * tile + 1; facts++) {
            size_t length = 0;
            kg_dataset dataset;
            kg_error error = {0};
            assert_ok(kg__dataset_open(&dataset, &error), &error);
            for (unsigned j = 0; j < facts; j++) {
                int size = snprintf(content + length, 16, "%x\tr\tt\n", j);
                assert_ok(kg__dataset_add_one(&dataset,
                                              kg__name_of(content + length, (size_t)size - 5),
                                              kg__name_of("r", 1), kg__name_of("t", 1), &error),
                          &error);
                length += (size_t)size;
            }
            assert_ok(kg__dataset_finish(&dataset, &error), &error);
            assert_ok(write_folder(&dataset, "out", NULL, &error), &error);
            assert_file("out/train.tsv", ((text){content, length}));
            kg__dataset_close(&dataset);
        }
    free(content);
}

static bool stop_at(void *payload, const kg_progress_report *report) {
    uint64_t *done = payload;
    assert_string_equal(report->stage, "writing train.tsv");
    assert_string_equal(report->unit, "facts");
    assert_int_equal(report->total, FACTS);
    return report->done < *done;
}

static void test_cancelled(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    for (unsigned i = 0; i < FACTS; i++) {
        char head[16];
        int size = snprintf(head, sizeof head, "%u", i);
        assert_ok(kg__dataset_add_one(&dataset, kg__name_of(head, (size_t)size),
                                      kg__name_of("r", 1), kg__name_of("t", 1), &error),
                  &error);
    }
    assert_ok(kg__dataset_finish(&dataset, &error), &error);
    for (uint64_t done = 0; done < 2; done++) {
        kg_progress progress = {stop_at, &done};
        assert_status(write_folder(&dataset, "out", &progress, &error), KG_CANCELLED, &error);
        assert_error_text(&error, "stopped while writing train.tsv");
        assert_int_equal(count_entries("."), 0);
    }
    kg__dataset_close(&dataset);
}

static void test_no_about(void **state) {
    (void)state;
    json_t *about = json_null();
    kg_error error = {0};
    assert_ok(kg__dataset_json_read(&about, ".", &error), &error);
    assert_null(about);
}

static void test_bad_about(void **state) {
    (void)state;
    static const struct {
        const char *json, *expected;
    } cases[] = {
        {"[]", "./dataset.json: expected an object with \"kgraft_dataset\": 1, found a list"},
        {"{}", "./dataset.json: expected an object with \"kgraft_dataset\": 1, found one without"},
        {"{\"kgraft_dataset\": 2, \"files\": {}}",
         "./dataset.json: expected \"kgraft_dataset\": 1, found 2"},
        {"{\"kgraft_dataset\": \"1\", \"files\": {}}",
         "./dataset.json: expected an object with \"kgraft_dataset\": 1, found one without"},
        {"{\"kgraft_dataset\": 1}", "./dataset.json: expected an object \"files\", found none"},
        {"{\"kgraft_dataset\": 1, \"files\": []}",
         "./dataset.json: expected an object \"files\", found none"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        write_file("dataset.json", text_of(cases[i].json));
        json_t *about = NULL;
        kg_error error = {0};
        assert_status(kg__dataset_json_read(&about, ".", &error), KG_BAD_INPUT, &error);
        assert_error_text(&error, cases[i].expected);
        assert_null(about);
    }
    write_file("dataset.json", TEXT("{"));
    json_t *about = NULL;
    kg_error error = {0};
    assert_status(kg__dataset_json_read(&about, ".", &error), KG_BAD_INPUT, &error);
    assert_int_equal(error.line, 1);
}

/* A file that is not the one that was recorded. */
static void test_changed_files(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_error error = {0};
    make_dataset(&dataset, small);
    assert_ok(write_folder(&dataset, "out", NULL, &error), &error);
    kg__dataset_close(&dataset);
    write_file("out/valid.tsv", TEXT("c\ts\ta\n"));
    assert_status(read_source(&dataset, "out", &error), KG_BAD_INPUT, &error);
    assert_string_equal(error.source, "out/valid.tsv");
    assert_non_null(strstr(error.message, "expected the checksum that dataset.json records"));
    kg__dataset_close(&dataset);
    assert_int_equal(unlink("out/valid.tsv"), 0);
    assert_status(read_source(&dataset, "out", &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "out: expected a file valid.tsv, found none");
    kg__dataset_close(&dataset);
    write_file("out/valid.tsv", TEXT("c\ts\tb\n")); /* as it was */
    write_file("out/test.tsv", TEXT("c\ts\tb\n"));  /* nobody recorded this one */
    assert_status(read_source(&dataset, "out", &error), KG_BAD_INPUT, &error);
    assert_string_equal(error.source, "out/test.tsv");
    kg__dataset_close(&dataset);
    assert_int_equal(unlink("out/dataset.json"), 0); /* on purpose, then */
    assert_ok(read_source(&dataset, "out", &error), &error);
    kg__dataset_close(&dataset);
}

/* Files may not grow beyond a few bytes, as on a full disk. */
static void test_full_disk(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_error error = {0};
    make_dataset(&dataset, small);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit low = {10, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    kg_status status = write_folder(&dataset, "out", NULL, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_status(status, KG_SYSTEM, &error);
    assert_error_text(&error, "out/train.tsv: cannot write to it: File too large");
    assert_int_equal(count_entries("."), 0);
    kg__dataset_close(&dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_files),
        test_in_folder(test_read_and_written_again),
        test_in_folder(test_all_parts_again),
        test_in_folder(test_graph_files),
        cmocka_unit_test(test_checksums),
        test_in_folder(test_threads_do_not_matter),
        test_in_folder(test_numbers_of_facts),
        test_in_folder(test_cancelled),
        test_in_folder(test_no_about),
        test_in_folder(test_bad_about),
        test_in_folder(test_changed_files),
        test_in_folder(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
