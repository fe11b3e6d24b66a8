/* Graphs that a model was not trained on: from files and data sets, with the ids of the relations
 * that are given; what is refused, and what is left out on request. */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/new_graph.h"

/* Relations of a model: r 0, s 1, x:t 2. */
static void make_relations(kg_names *relations) {
    static const char *const names[] = {"r", "s", "x:t"};
    for (kg_id i = 0; i < COUNT_OF(names); i++) {
        kg_id id = KG_NO_ID;
        kg_error error = {0};
        assert_ok(kg__names_intern(relations, &id, kg__name_of(names[i], strlen(names[i])), &error),
                  &error);
        assert_int_equal(id, i);
    }
}

static kg_status read_graph(kg_dataset *out, const char *source, bool skip_unknown,
                            kg_error *error) {
    kg_names relations = {0};
    kg_reader reader = {.options.skip_unknown = skip_unknown};
    make_relations(&relations);
    kg_status status = kg__new_graph_read(out, &reader, source, &relations, error);
    assert_int_equal(reader.options.skip_unknown, skip_unknown);
    kg__names_free(&relations);
    return status;
}

/* In the order of `entities`, ended by NULL, with facts as they are shown. */
static void check_graph(const kg_dataset *graph, const char *const *entities, const char *facts) {
    size_t count = 0;
    for (; entities[count] != NULL; count++)
        assert_name(&graph->graph_entities, (kg_id)count, entities[count]);
    assert_int_equal(graph->graph_entities.count, count);
    assert_facts(graph, KG_GRAPH, facts);
    assert_int_equal(graph->relations.count, 3);
    assert_int_equal(graph->in_sample_relations, 3);
    assert_int_equal(graph->entities.count, 0);
    for (kg_part part = 0; part < KG_PART_COUNT; part++)
        assert_true(part == KG_GRAPH || graph->parts[part].count == 0);
}

static void test_files(void **state) {
    (void)state;
    kg_dataset graph;
    kg_error error = {0};
    write_file("f.tsv", TEXT("n\tx:t\to\no\tr\to\nn\tx:t\to\na\ts\tn\n"));
    assert_ok(read_graph(&graph, "f.tsv", false, &error), &error);
    check_graph(&graph, (const char *const[]){"n", "o", "a", NULL}, "n x:t o\no r o\na s n\n");
    assert_int_equal(graph.parts[KG_GRAPH].items[0].relation, 2);
    assert_int_equal(graph.parts[KG_GRAPH].items[2].relation, 1);
    assert_int_equal(graph.duplicates[KG_GRAPH], 1);
    assert_int_equal(graph.unknown_facts, 0);
    kg__dataset_close(&graph);
    write_file("f.ttl", TEXT("@prefix x: <x:> . x:n x:t x:o . _:b x:t x:o , \"literal\" ."));
    assert_ok(read_graph(&graph, "f.ttl", false, &error), &error);
    check_graph(&graph, (const char *const[]){"x:n", "x:o", "_:b", NULL},
                "x:n x:t x:o\n_:b x:t x:o\n");
    assert_non_null(json_object_get(graph.history, "prefixes"));
    kg__dataset_close(&graph);
}

/* Of a data set with a new graph that graph, with entities that are only asked for; of another its
 * training facts, without entities that only other parts have. */
static void test_data_sets(void **state) {
    (void)state;
    kg_dataset graph;
    kg_error error = {0};
    assert_int_equal(mkdir("d", 0777), 0);
    write_file("d/train.txt", TEXT("a\ts\tb\nb\tr\tc\n"));
    write_file("d/test.txt", TEXT("a\ts\tx\n"));
    assert_ok(read_graph(&graph, "d", false, &error), &error);
    check_graph(&graph, (const char *const[]){"a", "b", "c", NULL}, "a s b\nb r c\n");
    kg__dataset_close(&graph);
    write_file("d/inference.txt", TEXT("n\tr\to\nb\ts\tn\n"));
    write_file("d/inference_test.txt", TEXT("p\tr\tn\n"));
    assert_ok(read_graph(&graph, "d", false, &error), &error);
    check_graph(&graph, (const char *const[]){"n", "o", "b", "p", NULL}, "n r o\nb s n\n");
    kg__dataset_close(&graph);
}

static const struct {
    const char *facts;
    const char *refused;
    const char *kept; /* with `skip_unknown`; NULL: refused, too */
    size_t unknown_facts, unknown_relations;
} cases[] = {
    {"n\tr\to\nn\tq\tx\nn\tq\to\ny\tp\to\n",
     "f: expected known relations in the new graph, found unknown ones in 3 of its facts: 'q', 'p' "
     "(`skip_unknown` leaves these facts out)",
     "n r o\n", 3, 2},
    {"n\tq\to\n",
     "f: expected known relations in the new graph, found unknown ones in 1 of its facts: 'q' "
     "(`skip_unknown` leaves these facts out)",
     NULL, 1, 1},
    {"n\tR\to\n",
     "f: expected known relations in the new graph, found unknown ones in 1 of its facts: 'R' "
     "(`skip_unknown` leaves these facts out)",
     NULL, 1, 1},
};

static void test_unknown_relations(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int skip = 0; skip < 2; skip++) {
            bool is_kept = skip && cases[i].kept != NULL;
            kg_dataset graph;
            kg_error error = {0};
            write_file("f", text_of(cases[i].facts));
            assert_status(read_graph(&graph, "f", skip, &error), is_kept ? KG_OK : KG_BAD_INPUT,
                          &error);
            if (is_kept)
                check_graph(&graph, (const char *const[]){"n", "o", NULL}, cases[i].kept);
            else
                assert_error_text(&error,
                                  skip ? "f: expected facts of the new graph with known relations, "
                                         "found none"
                                       : cases[i].refused);
            assert_int_equal(graph.unknown_facts, cases[i].unknown_facts);
            assert_int_equal(graph.unknown_relations.count, cases[i].unknown_relations);
            kg__dataset_close(&graph);
        }
}

/* What a source itself leaves out is counted as well. */
static void test_unknown_in_data_sets(void **state) {
    (void)state;
    kg_dataset graph;
    kg_error error = {0};
    assert_int_equal(mkdir("d", 0777), 0);
    write_file("d/train.txt", TEXT("a\ts\tb\na\tq\tb\n"));
    write_file("d/inference.txt", TEXT("n\tv\to\nn\tq\tm\nn\ts\to\n"));
    assert_status(read_graph(&graph, "d", false, &error), KG_BAD_INPUT, &error);
    assert_int_equal(graph.unknown_facts, 2);
    assert_int_equal(graph.unknown_relations.count, 2);
    kg__dataset_close(&graph);
    assert_ok(read_graph(&graph, "d", true, &error), &error);
    check_graph(&graph, (const char *const[]){"n", "o", "m", NULL}, "n s o\n");
    kg__dataset_close(&graph);
}

static void test_bad_sources(void **state) {
    (void)state;
    static const struct {
        const char *source, *content, *expected;
    } bad[] = {
        {"none", NULL, "none: cannot open it: No such file or directory"},
        {"empty", "", "empty: expected facts, found none"},
        {"f", "a\tr\tb\na\tr\n",
         "f:2: expected head, relation and tail separated by tabs, found 2 columns: 'a\\x09r'"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        kg_dataset graph;
        kg_error error = {0};
        if (bad[i].content != NULL)
            write_file(bad[i].source, text_of(bad[i].content));
        assert_status(read_graph(&graph, bad[i].source, true, &error), KG_BAD_INPUT, &error);
        assert_error_text(&error, bad[i].expected);
        kg__dataset_close(&graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_files),
        test_in_folder(test_data_sets),
        test_in_folder(test_unknown_relations),
        test_in_folder(test_unknown_in_data_sets),
        test_in_folder(test_bad_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
