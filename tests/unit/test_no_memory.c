/* Running out of memory in what reads, splits, generates and writes data sets. */
#include "fail_each.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "counted_memory.h"
#include "graph/dataset_folder.h"
#include "graph/dataset_source.h"
#include "graph/generate.h"
#include "graph/new_graph.h"
#include "graph/split.h"
#include "graph/stats.h"
#include "infer/new_entities.h"
#include "model/model.h"

static void note_dataset(const kg_dataset *dataset) {
    note_json(dataset->history);
    if (dataset->entities.count > 0)
        note(dataset->entities.bytes, dataset->entities.starts[dataset->entities.count]);
    note(dataset->relations.bytes, dataset->relations.starts[dataset->relations.count]);
    if (kg__dataset_has_graph(dataset))
        note(dataset->graph_entities.bytes,
             dataset->graph_entities.starts[dataset->graph_entities.count]);
    for (kg_part part = 0; part < KG_PART_COUNT; part++)
        note(dataset->parts[part].items, dataset->parts[part].count * sizeof(kg_triple));
    note(dataset->duplicates, sizeof dataset->duplicates);
}

static void note_out(void) {
    for (const char *const *name = kg__dataset_files; *name != NULL; name++) {
        char path[64];
        snprintf(path, sizeof path, "out/%s", *name);
        note_file(path);
    }
}

static kg_status read_and(kg_dataset *dataset, const char *const *sources, size_t count,
                          kg_error *error) {
    kg_reader reader = {.options = {.keep_literals = true, .skip_unknown = true}};
    KG_TRY(kg__dataset_open(dataset, error));
    KG_TRY(kg__source_read(dataset, &reader, sources, count, error));
    note_dataset(dataset);
    note(&reader.counts, sizeof reader.counts);
    return KG_OK;
}

static kg_status read_source(const void *setting, kg_error *error) {
    const char *source = setting;
    kg_dataset dataset = {0};
    kg_status status = read_and(&dataset, &source, 1, error);
    kg__dataset_close(&dataset);
    return status;
}

static kg_status read_several(const void *setting, kg_error *error) {
    (void)setting;
    static const char *const sources[] = {"in.ttl", "in.tsv.gz"};
    kg_dataset dataset = {0};
    kg_status status = read_and(&dataset, sources, COUNT_OF(sources), error);
    kg__dataset_close(&dataset);
    return status;
}

/* With two relations that are known, and others. */
static kg_status read_graph(const void *setting, kg_error *error) {
    static const char *const known[] = {"s", "r"};
    kg_names relations = {0};
    kg_dataset graph = {0};
    kg_reader reader = {.options.skip_unknown = true};
    kg_status status = KG_OK;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        kg_id id = 0;
        KG_CHECK(kg__names_intern(&relations, &id, kg__name_of(known[i], 1), error));
    }
    KG_CHECK(kg__new_graph_read(&graph, &reader, setting, &relations, error));
    note_dataset(&graph);
done:
    kg__dataset_close(&graph);
    kg__names_free(&relations);
    return status;
}

static kg_status write_folder(const kg_dataset *dataset, kg_error *error) {
    kg_folder *folder = NULL;
    KG_TRY(kg__folder_start(&folder, "out", true, kg__dataset_files, error));
    kg_status status = kg__dataset_write(dataset, folder, NULL, error);
    if (status == KG_OK)
        status = kg__folder_commit(folder, error);
    kg__folder_close(folder);
    return status;
}

static kg_status split_and_write(const void *setting, kg_error *error) {
    const char *source = setting;
    kg_dataset from = {0};
    kg_dataset to = {0};
    kg_stats stats = {0};
    kg_split_report report;
    static const kg_split_options options = {0.4, 0.5, 2, 1, 0, false, true};
    kg_status status = KG_OK;
    KG_CHECK(read_and(&from, &source, 1, error));
    KG_CHECK(kg__dataset_open(&to, error));
    KG_CHECK(kg__split(&to, &report, &from, &options, error));
    KG_CHECK(kg__stats_make(&stats, &to, error));
    note(&report, sizeof report);
    note(stats.degrees.counts, stats.degrees.size * sizeof(uint64_t));
    KG_CHECK(write_folder(&to, error));
    note_out();
done:
    kg__stats_free(&stats);
    kg__dataset_close(&from);
    kg__dataset_close(&to);
    return status;
}

static kg_status generate_file(const void *setting, kg_error *error) {
    static const kg_generate_options options = {100, 20, 3, 1, 1};
    const char *path = setting;
    kg_output *output = NULL;
    KG_TRY(kg__output_open(&output, path, path, error));
    kg_status status = kg__generate(output, &options, NULL, error);
    if (status == KG_OK)
        status = kg__output_commit(output, error);
    kg__output_close(output);
    if (status == KG_OK)
        note_file(path);
    return status;
}

static kg_status generate_planted(const void *setting, kg_error *error) {
    static const kg_generate_options options = {2000, 400, 20, 1, 1};
    kg_folder *folder = NULL;
    KG_TRY(kg__folder_start(&folder, setting, true, kg__dataset_files, error));
    kg_status status = kg__generate_planted(folder, &options, NULL, error);
    if (status == KG_OK)
        status = kg__folder_commit(folder, error);
    kg__folder_close(folder);
    if (status == KG_OK)
        note_out();
    return status;
}

/* Facts about new entities: those of a file, and one more. */
static kg_status add_new_entities(kg_new_entities *entities, const char *path, kg_error *error) {
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    KG_TRY(kg_new_entities_read(entities, path, error));
    KG_TRY(kg_new_entities_add(entities, (kg_text){"y", 1}, (kg_text){"s", 1}, (kg_text){"a", 1},
                               error));
    KG_TRY(kg_new_entities_finish(&left, entities, error));
    note(&left, sizeof left);
    for (size_t i = 0; i < kg_new_entities_count(entities); i++) {
        size_t count = 0;
        const kg_link *links = kg_new_entities_links(&count, entities, i);
        note(links, count * sizeof *links);
        note(kg_new_entities_name(entities, i).bytes, kg_new_entities_name(entities, i).length);
    }
    return KG_OK;
}

static kg_status read_new_entities(const void *setting, kg_error *error) {
    static const kg_new_entities_options options = {
        .size = sizeof options, .skip_unknown = true, .entity = "y"};
    static const char *const known[] = {"a", "b", "r", "s"};
    kg_model model = {0};
    kg_new_entities *entities = NULL;
    kg_status status = KG_OK;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        kg_id id = 0;
        KG_CHECK(kg__names_intern(i < 2 ? &model.entities : &model.relations, &id,
                                  kg__name_of(known[i], 1), error));
    }
    KG_CHECK(kg_new_entities_open(&entities, &model, &options, error));
    KG_CHECK(add_new_entities(entities, setting, error));
done:
    kg_new_entities_close(entities);
    kg__names_free(&model.entities);
    kg__names_free(&model.relations);
    return status;
}

/* More than one buffer of it. */
static kg_status read_whole(const void *setting, kg_error *error) {
    kg_input *input = NULL;
    size_t got = 1;
    kg_status status = KG_OK;
    KG_CHECK(kg__input_open(&input, setting, KG_ANY_CODING, error));
    while (got > 0) {
        char bytes[1000];
        KG_CHECK(kg__input_read(input, bytes, sizeof bytes, &got, error));
        note(bytes, got);
    }
done:
    kg__input_close(input);
    return status;
}

static const struct {
    const char *path, *content;
} inputs[] = {
    {"tsv/train.tsv", "a\tr\tb\nb\ts\tc\na\tr\tb\nc\tr\ta\nd\ts\ta\n"},
    {"tsv/valid.tsv", "c\tr\tb\n"},
    {"tsv/unseen-test.tsv", "x\tr\ta\nx\ts\tc\n"},
    {"tsv/graph.tsv", "n\tr\to\na\ts\to\n"},
    {"tsv/graph-test.tsv", "o\tr\tn\n"},
    {"oos/train.txt", "a\tr\tb\nb\ts\tc\n"},
    {"oos/valid.json", "{\"x\": [[\"x\", \"r\", \"a\"], [\"b\", \"s\", \"x\"]]}"},
    {"oos/test.json", "{\"y\": [[\"y\", \"r\", \"a\"], [\"b\", \"s\", \"y\"]]}"},
    {"pair/train.txt", "a\tr\tb\nb\ts\tc\n"},
    {"pair_ind/train.txt", "n\tr\to\no\ts\tn\nn\tq\to\n"},
    {"pair_ind/test.txt", "n\tr\tp\n"},
    {"openke/entity2id.txt", "3\na 0\nb 1\nc 2\n"},
    {"openke/relation2id.txt", "1\nr 0\n"},
    {"openke/train2id.txt", "2\n0 1 0\n1 2 0\n"},
    {"openke/test2id.txt", "1\n2 1 0\n"},
    {"wordnet/index.noun", "dog n 1 1 @ 1 1 00000002  \ncanine n 1 1 ~ 1 0 00000001  \n"},
    {"wordnet/data.noun", "00000001 05 n 01 canine 0 001 ~ 00000002 n 0000 | x\n"
                          "00000002 05 n 01 dog 0 001 @ 00000001 n 0000 | y\n"},
    {"wordnet/index.verb", ""},
    {"wordnet/data.verb", ""},
    {"wordnet/index.adj", ""},
    {"wordnet/data.adj", ""},
    {"wordnet/index.adv", ""},
    {"wordnet/data.adv", ""},
    {"in.tsv", "a\tr\tb\nb\tr\tc\nc\tr\ta\na\ts\tc\nb\ts\ta\nc\ts\tb\nd\tr\ta\nd\tr\tb\nd\tr\tc\n"
               "e\tr\ta\ne\tr\tb\ne\tr\tc\nd\ts\te\nf\tr\ta\nf\ts\tb\ng\tr\ta\ng\ts\tb\n"},
    {"new.tsv", "x\tr\ta\nb\ts\tx\nx\tr\tz\nx\tr\tx\nz\tq\tx\nx\tr\ta\n"},
    {"in.ttl", "@prefix x: <http://x/> . x:a x:r x:b , [ x:s \"5\"^^x:int ] ."},
};

static int set_up(void **state) {
    static const char *const folders[] = {"tsv", "oos", "pair", "pair_ind", "openke", "wordnet"};
    if (enter_failing_folder(state) != 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        if (mkdir(folders[i], 0777) != 0)
            return -1;
    for (size_t i = 0; i < COUNT_OF(inputs); i++)
        write_file(inputs[i].path, text_of(inputs[i].content));
    text packed = compress_text(TEXT("a\tr\tb\n"));
    write_file("in.tsv.gz", packed);
    free((void *)packed.bytes);
    return 0;
}

static void test_tsv_folder(void **state) {
    (void)state;
    fail_each(read_source, "tsv", 30);
}

/* With a dataset.json, which is made here, so that its checksums are right. */
static void test_own_folder(void **state) {
    (void)state;
    const char *source = "tsv";
    kg_dataset dataset = {0};
    kg_error error = {0};
    assert_ok(read_and(&dataset, &source, 1, &error), &error);
    assert_ok(write_folder(&dataset, &error), &error);
    kg__dataset_close(&dataset);
    assert_int_equal(rename("out", "own"), 0);
    spare_jansson = true;
    fail_each(read_source, "own", 30);
    spare_jansson = false;
}

static void test_oos_json(void **state) {
    (void)state;
    fail_each(read_source, "oos", 50);
}

static void test_pair(void **state) {
    (void)state;
    fail_each(read_source, "pair", 40);
}

static void test_new_graph(void **state) {
    (void)state;
    fail_each(read_graph, "tsv", 30);
    fail_each(read_graph, "new.tsv", 30);
}

static void test_openke(void **state) {
    (void)state;
    fail_each(read_source, "openke", 40);
}

static void test_wordnet(void **state) {
    (void)state;
    fail_each(read_source, "wordnet:wordnet", 40);
}

static void test_several_files(void **state) {
    (void)state;
    fail_each(read_several, NULL, 30);
}

static void test_split(void **state) {
    (void)state;
    fail_each(split_and_write, "in.tsv", 150);
}

/* In place of an older one: that stays where the new one fails. */
static void test_split_over_another(void **state) {
    (void)state;
    kg_error error = {0};
    long total = 0;
    for (long n = 1; n == 1 || n <= total; n++) {
        atomic_store(&failing, 0);
        assert_ok(split_and_write("in.tsv", &error), &error);
        write_file("out/valid.tsv", TEXT("the old one has this file"));
        atomic_store(&allocations, 0);
        atomic_store(&failing, n);
        kg_status status = split_and_write("in.tsv", &error);
        atomic_store(&failing, 0);
        total = atomic_load(&allocations) > total ? atomic_load(&allocations) : total;
        assert_int_equal(file_exists("out/valid.tsv"), status != KG_OK);
        assert_true(file_exists("out/train.tsv") && file_exists("out/dataset.json"));
        assert_int_equal(atomic_load(&allocated), 0);
        remove_out();
    }
}

static void test_read_whole(void **state) {
    (void)state;
    enum { SIZE = 600000 };
    char *bytes = must_allocate(SIZE, 1);
    write_file("long", (text){bytes, SIZE});
    free(bytes);
    fail_each(read_whole, "long", 3);
}

static void test_new_entities(void **state) {
    (void)state;
    fail_each(read_new_entities, "new.tsv", 20);
}

static void test_generate(void **state) {
    (void)state;
    fail_each(generate_file, "out", 5);
    fail_each(generate_planted, "out", 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tsv_folder),   cmocka_unit_test(test_own_folder),
        cmocka_unit_test(test_oos_json),     cmocka_unit_test(test_pair),
        cmocka_unit_test(test_new_graph),    cmocka_unit_test(test_openke),
        cmocka_unit_test(test_wordnet),      cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_split),        cmocka_unit_test(test_split_over_another),
        cmocka_unit_test(test_generate),     cmocka_unit_test(test_read_whole),
        cmocka_unit_test(test_new_entities),
    };
    return cmocka_run_group_tests(tests, set_up, leave_temporary_folder);
}
