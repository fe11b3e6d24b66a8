/* Data sets: ids in order of first appearance, parts and what they leave behind, duplicates, and
 * every check of what a fact about an unseen entity must be like; at once as one by one. A new
 * graph and what is refused of it. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kg_name name_of(const char *name) {
    return kg__name_of(name, strlen(name));
}

static kg_status add(kg_dataset *dataset, const char *head, const char *relation, const char *tail,
                     kg_error *error) {
    return kg__dataset_add_one(dataset, name_of(head), name_of(relation), name_of(tail), error);
}

/* The head's id comes before the tail's; relations have ids of their own. */
static void test_ids_by_first_appearance(void **state) {
    (void)state;
    kg_dataset dataset;
    make_dataset(&dataset, "b r2 a\n"
                           "c r1 b\n"
                           "\n"
                           "d r2 c\n"
                           "r1 r3 r2\n" /* the names of relations may name entities */
                           "\n"
                           "a r4 e\n"
                           "\n"
                           "x r1 a\n"
                           "\n"
                           "e r3 y\n");
    static const char *const entities[] = {"b", "a", "c", "d", "r1", "r2", "e", "x", "y"};
    static const char *const relations[] = {"r2", "r1", "r3", "r4"};
    assert_int_equal(dataset.entities.count, COUNT_OF(entities));
    assert_int_equal(dataset.relations.count, COUNT_OF(relations));
    for (kg_id i = 0; i < COUNT_OF(entities); i++)
        assert_name(&dataset.entities, i, entities[i]);
    for (kg_id i = 0; i < COUNT_OF(relations); i++)
        assert_name(&dataset.relations, i, relations[i]);
    static const size_t before[KG_GRAPH + 1] = {0, 3, 6, 7, 8, 9, 9, 9};
    assert_memory_equal(dataset.entities_before, before, sizeof before);
    assert_int_equal(kg__dataset_in_sample(&dataset), 7);
    assert_int_equal(dataset.in_sample_relations, 4);
    assert_int_equal(kg__dataset_unseen(&dataset, KG_UNSEEN_VALID), 1);
    assert_int_equal(kg__dataset_unseen(&dataset, KG_UNSEEN_TEST), 1);
    const kg_triple *valid = dataset.parts[KG_VALID].items;
    assert_true(valid[1].head == 4 && valid[1].relation == 2 && valid[1].tail == 5);
    assert_facts(&dataset, KG_TRAIN, "b r2 a\nc r1 b\n");
    assert_facts(&dataset, KG_VALID, "d r2 c\nr1 r3 r2\n");
    assert_facts(&dataset, KG_TEST, "a r4 e\n");
    assert_facts(&dataset, KG_UNSEEN_VALID, "x r1 a\n");
    assert_facts(&dataset, KG_UNSEEN_TEST, "e r3 y\n");
    kg__dataset_close(&dataset);
}

static void test_part_names(void **state) {
    (void)state;
    static const char *const names[] = {
        "train",         "valid",        "test",  "unseen-valid", "unseen-test",
        "between-valid", "between-test", "graph", "graph-valid",  "graph-test"};
    assert_int_equal(KG_PART_COUNT, COUNT_OF(names));
    for (kg_part part = 0; part < KG_PART_COUNT; part++)
        assert_string_equal(kg__part_name(part), names[part]);
}

static void test_duplicates(void **state) {
    (void)state;
    kg_dataset dataset;
    make_dataset(&dataset, "a r b\nb r a\na r b\na s b\na r b\n"
                           "\n"
                           "a r b\nb s a\nb s a\n" /* in another part it is no duplicate */
                           "\n\n"
                           "x r a\nx r a\na r x\n");
    assert_facts(&dataset, KG_TRAIN, "a r b\nb r a\na s b\n");
    assert_facts(&dataset, KG_VALID, "a r b\nb s a\n");
    assert_facts(&dataset, KG_UNSEEN_VALID, "x r a\na r x\n");
    static const size_t dropped[KG_PART_COUNT] = {2, 1, 0, 1, 0, 0, 0, 0};
    assert_memory_equal(dataset.duplicates, dropped, sizeof dropped);
    kg__dataset_close(&dataset);
}

/* However often they are repeated, a few facts take the room of a few million at most. */
static void test_many_duplicates(void **state) {
    (void)state;
    enum { DISTINCT = 500, ROUNDS = 30000 };
    static kg_name ends[2 * DISTINCT];
    static kg_name relations[DISTINCT];
    static char names[DISTINCT][8];
    for (int i = 0; i < DISTINCT; i++) {
        snprintf(names[i], sizeof names[i], "e%d", i);
        ends[2 * i] = name_of(names[i]);
        ends[2 * i + 1] = name_of("hub");
        relations[i] = name_of("r");
    }
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    for (int round = 0; round < ROUNDS; round++) {
        size_t added = 0;
        kg_named_facts facts = {ends, relations, DISTINCT};
        assert_ok(kg__dataset_add(&dataset, facts, &added, &error), &error);
        assert_int_equal(added, DISTINCT);
    }
    assert_true(dataset.parts[KG_TRAIN].capacity < (size_t)DISTINCT * ROUNDS / 2);
    assert_ok(kg__dataset_finish(&dataset, &error), &error);
    assert_int_equal(dataset.parts[KG_TRAIN].count, DISTINCT);
    assert_int_equal(dataset.duplicates[KG_TRAIN], DISTINCT * (ROUNDS - 1));
    for (kg_id i = 0; i < DISTINCT; i++)
        assert_name(&dataset.entities, dataset.parts[KG_TRAIN].items[i].head, names[i]);
    kg__dataset_close(&dataset);
}

/* Parts may be left out, whichever they are. */
static void test_parts_left_out(void **state) {
    (void)state;
    static const kg_part parts[] = {KG_VALID, KG_TEST, KG_UNSEEN_VALID, KG_UNSEEN_TEST, KG_GRAPH};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        kg_part part = parts[i];
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        assert_ok(add(&dataset, "a", "r", "b", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, part, &error), &error);
        assert_ok(kg__dataset_enter(&dataset, part, &error), &error); /* it is there already */
        assert_ok(add(&dataset, "new", "r", "b", &error), &error);
        assert_ok(kg__dataset_finish(&dataset, &error), &error);
        for (kg_part other = 0; other < KG_PART_COUNT; other++)
            assert_int_equal(dataset.parts[other].count, other == KG_TRAIN || other == part);
        assert_int_equal(kg__dataset_in_sample(&dataset), part < KG_UNSEEN_VALID ? 3 : 2);
        assert_int_equal(kg__dataset_unseen(&dataset, KG_UNSEEN_VALID), part == KG_UNSEEN_VALID);
        assert_int_equal(kg__dataset_unseen(&dataset, KG_UNSEEN_TEST), part == KG_UNSEEN_TEST);
        assert_int_equal(kg__dataset_has_graph(&dataset), part == KG_GRAPH);
        assert_int_equal(dataset.graph_entities.count, part == KG_GRAPH ? 2 : 0);
        kg__dataset_close(&dataset);
    }
}

static void test_nothing_to_train_on(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    assert_ok(kg__dataset_enter(&dataset, KG_VALID, &error), &error);
    assert_ok(add(&dataset, "a", "r", "b", &error), &error);
    assert_status(kg__dataset_finish(&dataset, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "expected facts to train on, found none");
    kg__dataset_close(&dataset);
    kg__dataset_close(&dataset); /* once more does no harm */
}

/* Each thing that a fact of an unseen part must not be, added to
 *     train: a r b    unseen-valid: v r a    unseen-test: t r b and then the fact. */
static void test_unseen_checks(void **state) {
    (void)state;
    static const struct {
        const char *fact[3];
        const char *expected; /* NULL: it is fine */
    } cases[] = {
        {{"t", "r", "a"}, NULL},
        {{"b", "r", "t"}, NULL},
        {{"u", "r", "b"}, NULL},
        {{"t", "s", "a"}, "expected a relation of train, found 's'"},
        {{"u", "x\ty", "a"}, "expected a relation of train, found 'x\\x09y'"},
        {{"a", "r", "b"}, "expected one unseen entity, found that 'a' and 'b' both are in train"},
        {{"a", "r", "a"}, "expected one unseen entity, found that 'a' and 'a' both are in train"},
        {{"t", "r", "u"},
         "expected one entity that is in train, found that neither 't' nor 'u' is"},
        {{"t", "r", "t"},
         "expected one entity that is in train, found that neither 't' nor 't' is"},
        {{"v", "r", "t"},
         "expected one entity that is in train, found that neither 'v' nor 't' is"},
        {{"v", "r", "b"},
         "expected an unseen entity of its own, found that 'v' is in unseen-valid too"},
        {{"a", "r", "v"},
         "expected an unseen entity of its own, found that 'v' is in unseen-valid too"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset dataset;
        kg_error error = {0};
        const char *const *fact = cases[i].fact;
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        assert_ok(add(&dataset, "a", "r", "b", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, KG_UNSEEN_VALID, &error), &error);
        assert_ok(add(&dataset, "v", "r", "a", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, KG_UNSEEN_TEST, &error), &error);
        assert_ok(add(&dataset, "t", "r", "b", &error), &error);
        kg_status status = add(&dataset, fact[0], fact[1], fact[2], &error);
        assert_status(status, cases[i].expected == NULL ? KG_OK : KG_BAD_INPUT, &error);
        if (cases[i].expected != NULL)
            assert_error_text(&error, cases[i].expected);
        assert_int_equal(dataset.parts[KG_UNSEEN_TEST].count, cases[i].expected == NULL ? 2 : 1);
        kg__dataset_close(&dataset);
    }
}

/* The same holds for the other unseen part, before which there is none. */
static void test_unseen_valid_checks(void **state) {
    (void)state;
    static const struct {
        const char *fact[3];
        const char *expected;
    } cases[] = {
        {{"a", "r", "b"}, "expected one unseen entity, found that 'a' and 'b' both are in train"},
        {{"u", "r", "v"},
         "expected one entity that is in train, found that neither 'u' nor 'v' is"},
        {{"u", "s", "a"}, "expected a relation of train, found 's'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset dataset;
        kg_error error = {0};
        const char *const *fact = cases[i].fact;
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        assert_ok(add(&dataset, "a", "r", "b", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, KG_UNSEEN_VALID, &error), &error);
        assert_status(add(&dataset, fact[0], fact[1], fact[2], &error), KG_BAD_INPUT, &error);
        assert_error_text(&error, cases[i].expected);
        kg__dataset_close(&dataset);
    }
}

/* Each thing that a fact between unseen entities must not be, added to
 *     train: a r b    unseen-valid: v r a    unseen-test: t r b, u r b    between-test. */
static void test_between_checks(void **state) {
    (void)state;
    static const struct {
        const char *fact[3];
        const char *expected; /* NULL: it is fine */
    } cases[] = {
        {{"t", "r", "u"}, NULL},
        {{"u", "r", "t"}, NULL},
        {{"t", "s", "u"}, "expected a relation of train, found 's'"},
        {{"t", "r", "t"}, "expected two entities of unseen-test, found 't' twice"},
        {{"a", "r", "t"}, "expected two entities of unseen-test, found 'a'"},
        {{"t", "r", "v"}, "expected two entities of unseen-test, found 'v'"},
        {{"t", "r", "new"}, "expected two entities of unseen-test, found 'new'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset dataset;
        kg_error error = {0};
        const char *const *fact = cases[i].fact;
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        assert_ok(add(&dataset, "a", "r", "b", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, KG_UNSEEN_VALID, &error), &error);
        assert_ok(add(&dataset, "v", "r", "a", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, KG_UNSEEN_TEST, &error), &error);
        assert_ok(add(&dataset, "t", "r", "b", &error), &error);
        assert_ok(add(&dataset, "u", "r", "b", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, KG_BETWEEN_TEST, &error), &error);
        kg_status status = add(&dataset, fact[0], fact[1], fact[2], &error);
        assert_status(status, cases[i].expected == NULL ? KG_OK : KG_BAD_INPUT, &error);
        if (cases[i].expected != NULL)
            assert_error_text(&error, cases[i].expected);
        assert_int_equal(dataset.parts[KG_BETWEEN_TEST].count, cases[i].expected == NULL);
        kg__dataset_close(&dataset);
    }
}

/* The in-sample parts are all known ground: a relation or entity of `test` will do. */
static void test_valid_and_test_are_in_sample(void **state) {
    (void)state;
    kg_dataset dataset;
    make_dataset(&dataset, "a r b\n\nc s a\n\nd q a\n\nx q d\nc s x\n");
    assert_int_equal(dataset.parts[KG_UNSEEN_VALID].count, 2);
    kg__dataset_close(&dataset);
}

/* Random facts in lists of all lengths around the size of a chunk, against one by one. */
static void test_many_at_once(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 1, 255, 256, 257, 512, 1000};
    uint64_t random = 10;
    char names[300][8];
    for (size_t i = 0; i < COUNT_OF(names); i++)
        snprintf(names[i], sizeof names[i], "n%zu", i);
    kg_dataset together;
    kg_dataset single;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&together, &error), &error);
    assert_ok(kg__dataset_open(&single, &error), &error);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        kg_name ends[2000];
        kg_name relations[1000];
        for (size_t j = 0; j < 2 * lengths[i]; j++)
            ends[j] = name_of(names[next_below(&random, COUNT_OF(names))]);
        for (size_t j = 0; j < lengths[i]; j++)
            relations[j] = name_of(names[next_below(&random, 20)]);
        size_t added = SIZE_MAX;
        kg_named_facts facts = {ends, relations, lengths[i]};
        assert_ok(kg__dataset_add(&together, facts, &added, &error), &error);
        assert_int_equal(added, lengths[i]);
        for (size_t j = 0; j < lengths[i]; j++)
            assert_ok(
                kg__dataset_add_one(&single, ends[2 * j], relations[j], ends[2 * j + 1], &error),
                &error);
    }
    assert_ok(kg__dataset_finish(&together, &error), &error);
    assert_ok(kg__dataset_finish(&single, &error), &error);
    char *one = show_facts(&together, KG_TRAIN);
    char *other = show_facts(&single, KG_TRAIN);
    assert_string_equal(one, other);
    free(one);
    free(other);
    assert_int_equal(together.parts[KG_TRAIN].count, single.parts[KG_TRAIN].count);
    assert_memory_equal(together.parts[KG_TRAIN].items, single.parts[KG_TRAIN].items,
                        single.parts[KG_TRAIN].count * sizeof(kg_triple));
    kg__dataset_close(&together);
    kg__dataset_close(&single);
}

/* The entities of a new graph have ids of their own, whatever their names; of those that are only
 * asked for, too. */
static void test_new_graph(void **state) {
    (void)state;
    kg_dataset dataset;
    make_dataset(&dataset, "a r b\nb s c\n\n\n\n\n\n"
                           "n r a\na s a\nn r a\n"
                           "\n"
                           "n s o\n"
                           "\n"
                           "a r n\np r n\n");
    static const char *const entities[] = {"n", "a", "o", "p"};
    assert_int_equal(dataset.graph_entities.count, COUNT_OF(entities));
    for (kg_id i = 0; i < COUNT_OF(entities); i++)
        assert_name(&dataset.graph_entities, i, entities[i]);
    assert_int_equal(dataset.entities.count, 3);
    assert_int_equal(dataset.entities_before[KG_GRAPH], 3);
    assert_int_equal(dataset.relations.count, 2);
    assert_facts(&dataset, KG_GRAPH, "n r a\na s a\n");
    assert_facts(&dataset, KG_GRAPH_VALID, "n s o\n");
    assert_facts(&dataset, KG_GRAPH_TEST, "a r n\np r n\n");
    assert_int_equal(dataset.duplicates[KG_GRAPH], 1);
    const kg_triple *test = dataset.parts[KG_GRAPH_TEST].items;
    assert_true(test[0].head == 1 && test[0].relation == 0 && test[0].tail == 0);
    kg__dataset_close(&dataset);
}

/* Facts with relations that train lacks: refused by name, or left out with the entities that
 * nothing else is known of. */
static void test_unknown_relations(void **state) {
    (void)state;
    for (int skip = 0; skip < 2; skip++) {
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        dataset.skip_unknown = skip;
        assert_ok(add(&dataset, "a", "r", "b", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, KG_GRAPH, &error), &error);
        assert_ok(add(&dataset, "n", "s", "m", &error), &error);
        assert_ok(add(&dataset, "n", "r", "o", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, KG_GRAPH_TEST, &error), &error);
        assert_ok(add(&dataset, "n", "t\t", "o", &error), &error);
        assert_ok(add(&dataset, "n", "s", "o", &error), &error);
        assert_status(kg__dataset_finish(&dataset, &error), skip ? KG_OK : KG_BAD_INPUT, &error);
        if (!skip)
            assert_error_text(&error,
                              "expected known relations in the new graph, found unknown ones in 3 "
                              "of its facts: 's', 't\\x09' (kgraft import leaves these facts out "
                              "by `skip_unknown`)");
        assert_int_equal(dataset.unknown_facts, 3);
        assert_int_equal(dataset.unknown_relations.count, 2);
        assert_name(&dataset.unknown_relations, 0, "s");
        assert_int_equal(dataset.relations.count, 1);
        assert_int_equal(dataset.graph_entities.count, 2);
        assert_facts(&dataset, KG_GRAPH, "n r o\n");
        assert_int_equal(dataset.parts[KG_GRAPH_TEST].count, 0);
        kg__dataset_close(&dataset);
    }
}

/* A message names some of them, however long their names are. */
static void test_many_unknown_relations(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_error error = {0};
    char name[300];
    memset(name, 'x', sizeof name);
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    assert_ok(add(&dataset, "a", "r", "b", &error), &error);
    assert_ok(kg__dataset_enter(&dataset, KG_GRAPH, &error), &error);
    for (size_t length = 200; length < sizeof name; length++)
        assert_ok(kg__dataset_add_one(&dataset, name_of("n"), kg__name_of(name, length),
                                      name_of("o"), &error),
                  &error);
    assert_status(kg__dataset_finish(&dataset, &error), KG_BAD_INPUT, &error);
    const char *rest = strstr(error.message, " more (kgraft import leaves");
    assert_non_null(strstr(error.message, "found unknown ones in 100 of its facts: 'xxx"));
    assert_non_null(rest);
    assert_int_equal(strtoul(strstr(error.message, "' and ") + 6, NULL, 10), 95);
    kg__dataset_close(&dataset);
}

/* Nothing can be asked of a graph of which nothing is known. */
static void test_empty_new_graph(void **state) {
    (void)state;
    static const struct {
        kg_part part;
        const char *relation;
    } cases[] = {{KG_GRAPH_VALID, "r"}, {KG_GRAPH_TEST, "r"}, {KG_GRAPH, "s"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        dataset.skip_unknown = true;
        assert_ok(add(&dataset, "a", "r", "b", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, cases[i].part, &error), &error);
        assert_ok(add(&dataset, "n", cases[i].relation, "o", &error), &error);
        assert_status(kg__dataset_finish(&dataset, &error), KG_BAD_INPUT, &error);
        assert_error_text(&error,
                          "expected facts of the new graph with known relations, found none");
        kg__dataset_close(&dataset);
    }
}

/* Parts are train, valid, test, the two of unseen entities, and the three of the new graph. */
static void test_parts_that_are_asked_about(void **state) {
    (void)state;
    static const struct {
        const char *facts;
        kg_part validation;
        kg_part without_moving;
        kg_part evaluated;
    } rows[] = {
        {"a r b\n", KG_VALID, KG_VALID, KG_UNSEEN_TEST},
        {"a r b\n\na r a\n\n\nx r a\n", KG_UNSEEN_VALID, KG_UNSEEN_VALID, KG_UNSEEN_TEST},
        {"a r b\n\na r a\n\n\n\n\nn r o\n", KG_VALID, KG_VALID, KG_GRAPH_TEST},
        {"a r b\n\n\n\nx r a\n\ny r a\n\nn r o\n\no r n\n", KG_GRAPH_VALID, KG_UNSEEN_VALID,
         KG_GRAPH_TEST},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        kg_dataset dataset;
        make_dataset(&dataset, rows[i].facts);
        assert_int_equal(kg__dataset_validation(&dataset, true), rows[i].validation);
        assert_int_equal(kg__dataset_validation(&dataset, false), rows[i].without_moving);
        assert_int_equal(kg__dataset_evaluated(&dataset, false, false), rows[i].evaluated);
        assert_int_equal(kg__dataset_evaluated(&dataset, false, true), rows[i].evaluated - 1);
        assert_int_equal(kg__dataset_evaluated(&dataset, true, false), KG_TEST);
        assert_int_equal(kg__dataset_evaluated(&dataset, true, true), KG_VALID);
        kg__dataset_close(&dataset);
    }
}

/* Other ids of relations and in-sample entities change nothing about the new graph. */
static void test_new_graph_renumbered(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_dataset other;
    kg_dataset out;
    kg_error error = {0};
    make_dataset(&dataset, "a r b\nb s c\n\n\n\n\n\nn r a\na s o\n\no s n\n\nn r p\n");
    make_dataset(&other, "c q b\nb s a\na r c\n");
    assert_ok(kg__dataset_renumber(&out, &dataset, &other.entities, &other.relations, &error),
              &error);
    assert_facts(&out, KG_TRAIN, "a r b\nb s c\n");
    assert_facts(&out, KG_GRAPH, "n r a\na s o\n");
    assert_facts(&out, KG_GRAPH_VALID, "o s n\n");
    assert_facts(&out, KG_GRAPH_TEST, "n r p\n");
    for (kg_id i = 0; i < 4; i++)
        assert_name(&out.graph_entities, i, (const char *[]){"n", "a", "o", "p"}[i]);
    assert_int_equal(out.parts[KG_GRAPH].items[0].relation, 2);
    assert_int_equal(out.entities_before[KG_GRAPH], 3);
    kg__dataset_close(&out);
    kg__dataset_close(&other);
    kg__dataset_close(&dataset);
}

/* How many came before the bad one is told exactly, wherever it stands. */
static void test_added_before_the_bad_one(void **state) {
    (void)state;
    static const size_t places[] = {0, 1, 254, 255, 256, 257, 511, 512, 599};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        kg_name ends[1200];
        kg_name relations[600];
        for (size_t j = 0; j < 600; j++) {
            ends[2 * j] = name_of(j == places[i] ? "b" : "x");
            ends[2 * j + 1] = name_of("a");
            relations[j] = name_of("r");
        }
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(kg__dataset_open(&dataset, &error), &error);
        assert_ok(add(&dataset, "a", "r", "b", &error), &error);
        assert_ok(kg__dataset_enter(&dataset, KG_UNSEEN_TEST, &error), &error);
        size_t added = SIZE_MAX;
        kg_named_facts facts = {ends, relations, 600};
        assert_status(kg__dataset_add(&dataset, facts, &added, &error), KG_BAD_INPUT, &error);
        assert_int_equal(added, places[i]);
        assert_int_equal(dataset.parts[KG_UNSEEN_TEST].count, places[i]);
        kg__dataset_close(&dataset);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_by_first_appearance),
        cmocka_unit_test(test_part_names),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_many_duplicates),
        cmocka_unit_test(test_parts_left_out),
        cmocka_unit_test(test_nothing_to_train_on),
        cmocka_unit_test(test_unseen_checks),
        cmocka_unit_test(test_unseen_valid_checks),
        cmocka_unit_test(test_between_checks),
        cmocka_unit_test(test_valid_and_test_are_in_sample),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_new_graph),
        cmocka_unit_test(test_unknown_relations),
        cmocka_unit_test(test_many_unknown_relations),
        cmocka_unit_test(test_empty_new_graph),
        cmocka_unit_test(test_new_graph_renumbered),
        cmocka_unit_test(test_parts_that_are_asked_about),
        cmocka_unit_test(test_added_before_the_bad_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
