/* New entities: who is new in facts by name, what is left out, and what is refused in which words;
 * and random facts against a twin that goes over them again for every query. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/new_entities.h"
#include "model/model.h"

/* A model that knows names, which is all that new entities ask it. */
static void open_names(kg_model *model) {
    static const char *const entities[] = {"dog.n.01", "cat.n.01", "canine.n.02", "feline.n.01"};
    static const char *const relations[] = {"hypernym", "part_of"};
    *model = (kg_model){0};
    kg_id id = 0;
    for (size_t i = 0; i < COUNT_OF(entities); i++)
        assert_ok(kg__names_intern(&model->entities, &id,
                                   kg__name_of(entities[i], strlen(entities[i])), NULL),
                  NULL);
    for (size_t i = 0; i < COUNT_OF(relations); i++)
        assert_ok(kg__names_intern(&model->relations, &id,
                                   kg__name_of(relations[i], strlen(relations[i])), NULL),
                  NULL);
}

static void close_names(kg_model *model) {
    kg__names_free(&model->entities);
    kg__names_free(&model->relations);
}

/* All new entities, as "name: relation>other relation<other; ...". */
static char *show(const kg_new_entities *new_entities, const kg_model *model) {
    char *out = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);
    assert_non_null(stream);
    for (size_t i = 0; i < kg_new_entities_count(new_entities); i++) {
        kg_text name = kg_new_entities_name(new_entities, i);
        size_t count = 0;
        const kg_link *links = kg_new_entities_links(&count, new_entities, i);
        fprintf(stream, "%.*s:", (int)name.length, name.bytes);
        for (size_t k = 0; k < count; k++) {
            kg_name relation =
                kg__names_get(&model->relations, kg_directed_relation(links[k].directed));
            kg_name other = kg__names_get(&model->entities, links[k].other);
            fprintf(stream, " %.*s%c%.*s", (int)relation.length, relation.bytes,
                    kg_directed_end(links[k].directed) == KG_HEAD ? '>' : '<', (int)other.length,
                    other.bytes);
        }
        fprintf(stream, "; ");
        assert_int_equal(kg_new_entities_find(new_entities, name), i);
    }
    fclose(stream);
    return out;
}

static kg_status read_facts(kg_new_entities *new_entities, text facts, kg_left_out_facts *left,
                            kg_error *error) {
    kg_input *input = open_text(facts, "facts.tsv");
    kg_status status = kg__new_entities_read_input(new_entities, input, error);
    kg__input_close(input);
    return status == KG_OK ? kg_new_entities_finish(left, new_entities, error) : status;
}

static void test_taken(void **state) {
    (void)state;
    static const struct {
        text facts;
        bool skip_unknown;
        const char *expected;
        kg_left_out_facts left;
    } cases[] = {
        {TEXT_FIELD("wolf\thypernym\tcanine.n.02\n"), false, "wolf: hypernym>canine.n.02; ", {0}},
        {TEXT_FIELD("dog.n.01\tpart_of\tpack\r\npack\thypernym\tcat.n.01"),
         false,
         "pack: hypernym>cat.n.01 part_of<dog.n.01; ",
         {0}},
        {TEXT_FIELD("b\thypernym\tcanine.n.02\na\thypernym\tcanine.n.02\n"
                    "b\thypernym\tdog.n.01\nb\thypernym\tcanine.n.02\n"),
         false,
         "b: hypernym>dog.n.01 hypernym>canine.n.02; a: hypernym>canine.n.02; ",
         {.repeated = 1}},
        {TEXT_FIELD("x\tpart_of\tx\nx\thypernym\tcat.n.01\n"),
         false,
         "x: hypernym>cat.n.01; ",
         {.reflexive = 1}},
        {TEXT_FIELD("x\thypernym\ty\ny\thypernym\tcat.n.01\nx\tis\tcat.n.01\nz\tpart_of\tz\n"
                    "y\thypernym\tcat.n.01\n"),
         true,
         "y: hypernym>cat.n.01; ",
         {.unknown = 3, .repeated = 1}},
        {TEXT_FIELD("\xff\x1b\thypernym\tcat.n.01\n"), false, "\xff\x1b: hypernym>cat.n.01; ", {0}},
    };
    kg_model model;
    open_names(&model);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_new_entities *new_entities = NULL;
        kg_new_entities_options options = {.size = sizeof options,
                                           .skip_unknown = cases[i].skip_unknown};
        kg_left_out_facts left = {sizeof left, 9, 9, 9, 9, 9};
        kg_left_out_facts expected = cases[i].left;
        kg_error error = {0};
        assert_ok(kg_new_entities_open(&new_entities, &model, &options, &error), &error);
        assert_int_equal(kg_new_entities_count(new_entities), 0);
        assert_ok(read_facts(new_entities, cases[i].facts, &left, &error), &error);
        char *shown = show(new_entities, &model);
        assert_string_equal(shown, cases[i].expected);
        free(shown);
        expected.size = sizeof expected;
        assert_memory_equal(&left, &expected, sizeof left);
        assert_int_equal(kg_new_entities_find(new_entities, (kg_text){"cat.n.01", 8}),
                         kg_new_entities_count(new_entities));
        assert_int_equal(kg_new_entities_find(new_entities, (kg_text){"nobody", 6}),
                         kg_new_entities_count(new_entities));
        kg_new_entities_close(new_entities);
    }
    close_names(&model);
}

#define LEAVE_OUT                                                                    \
    " (a new entity is embedded from facts with known ones: leave this one out, or " \
    "`skip_unknown`)"

static void test_refused(void **state) {
    (void)state;
    static const struct {
        text facts;
        kg_new_entities_options options;
        const char *expected;
    } cases[] = {
        {TEXT_FIELD(""), {0}, "facts.tsv: expected facts, found none"},
        {TEXT_FIELD("x\thypernym\tcat.n.01\n\n"),
         {0},
         "facts.tsv:2: expected head, relation and tail, found an empty line"},
        {TEXT_FIELD("x\thypernym\n"),
         {0},
         "facts.tsv:1: expected head, relation and tail separated by tabs, found 2 columns: "
         "'x\\x09hypernym'"},
        {TEXT_FIELD("x\thypernym\t\n"),
         {0},
         "facts.tsv:1:12: expected a name, found an empty column"},
        {TEXT_FIELD("x\thyper\0nym\tdog.n.01\n"),
         {0},
         "facts.tsv:1:8: expected text, found a NUL byte (is the file binary, or UTF-16?)"},
        {TEXT_FIELD("x\thypernym\tcat.n.01\nx\thyponym\tcat.n.01\n"),
         {0},
         "facts.tsv:2: expected a relation that the model knows, found 'hyponym', did you mean "
         "'hypernym'?"},
        {TEXT_FIELD("x\thypernym\tcat.n.01\ndog.n.01\thypernym\tcat.n.01\n"),
         {.skip_unknown = true},
         "facts.tsv:2: expected a fact of an entity that is new to the model, found 'dog.n.01' and "
         "'cat.n.01', both of which it knows (`entity` without facts asks about known ones)"},
        {TEXT_FIELD("x\thypernym\tcat.n.01\nx\thypernym\tcanine\n"),
         {0},
         "facts.tsv:2: expected an entity that the model knows at the other end, found 'canine', "
         "did you mean 'canine.n.02'?"},
        {TEXT_FIELD("zebra\thypernym\tx\nx\thypernym\tcat.n.01\n"),
         {0},
         "facts.tsv:1: expected an entity that the model knows at the other end, found 'zebra'"},
        {TEXT_FIELD("canine\thypernym\tfeline\n"),
         {.entity = "canine"},
         "facts.tsv:1: expected an entity that the model knows at the other end, found 'feline', "
         "did you mean 'feline.n.01'?"},
        {TEXT_FIELD("x\thypernym\tfeline\n"),
         {0},
         "facts.tsv:1: expected one end that the model knows, found 'x' and 'feline', both "
         "unknown, did you mean 'feline.n.01'?" LEAVE_OUT},
        {TEXT_FIELD("x\thypernym\tdog.n.01\nx\thypernym\tdog\ndog\thypernym\tcat.n.01\n"),
         {0},
         "facts.tsv:2: expected one end that the model knows, found 'x' and 'dog', both "
         "unknown" LEAVE_OUT},
        {TEXT_FIELD("Dog.n.01\thypernym\tDog.n.01\n"),
         {0},
         "facts.tsv:1: expected facts that link 'Dog.n.01' to entities that the model knows, found "
         "one with itself, did you mean 'dog.n.01'?"},
        {TEXT_FIELD("x\thypernym\ty\nx\tis\tdog.n.01\n"),
         {.skip_unknown = true},
         "expected facts that link new entities to known ones, found none that is left (2 with "
         "unknown names, 0 wrong)"},
    };
    kg_model model;
    open_names(&model);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_new_entities *new_entities = NULL;
        kg_error error = {0};
        kg_new_entities_options options = cases[i].options;
        options.size = sizeof options;
        assert_ok(kg_new_entities_open(&new_entities, &model, &options, &error), &error);
        assert_status(read_facts(new_entities, cases[i].facts, NULL, &error), KG_BAD_INPUT, &error);
        assert_error_text(&error, cases[i].expected);
        kg_new_entities_close(new_entities);
    }
    close_names(&model);
}

static kg_text as_text(const char *string) {
    return (kg_text){string, strlen(string)};
}

static kg_status add(kg_new_entities *new_entities, const char *head, const char *relation,
                     const char *tail, kg_error *error) {
    return kg_new_entities_add(new_entities, as_text(head), as_text(relation), as_text(tail),
                               error);
}

static void test_calls(void **state) {
    (void)state;
    kg_model model;
    kg_new_entities *new_entities = NULL;
    kg_new_entities_options options = KG_NEW_ENTITIES_OPTIONS_INIT;
    kg_error error = {0};
    open_names(&model);
    assert_ok(kg_new_entities_open(&new_entities, &model, &options, &error), &error);
    assert_ok(add(new_entities, "x", "hypernym", "cat.n.01", &error), &error);
    assert_status(add(new_entities, "", "hypernym", "cat.n.01", &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "facts:2: expected a name, found an empty one");
    assert_status(add(new_entities, "x\ty", "hypernym", "cat.n.01", &error), KG_BAD_INPUT, &error);
    assert_error_text(&error,
                      "facts:3: expected a name without NUL, tab and newline, found 'x\\x09y'");
    assert_ok(add(new_entities, "x", "hypernim", "cat.n.01", &error), &error);
    assert_status(kg_new_entities_finish(NULL, new_entities, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error,
                      "facts:4: expected a relation that the model knows, found 'hypernim', "
                      "did you mean 'hypernym'?");
    assert_status(add(new_entities, "x", "hypernym", "dog.n.01", &error), KG_BAD_INPUT, &error);
    assert_non_null(strstr(error.message, "finished"));
    kg_new_entities_close(new_entities);

    assert_ok(kg_new_entities_open(&new_entities, &model, &options, &error), &error);
    assert_status(kg_new_entities_finish(NULL, new_entities, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "expected facts about new entities, found none");
    kg_new_entities_close(new_entities);
    kg_new_entities_close(NULL);
    close_names(&model);
}

/* By calls and by reading; those before stay. */
static void test_most_facts(void **state) {
    (void)state;
    static const char expected[] = "expected at most 3 facts about new entities";
    kg_model model;
    kg_new_entities *new_entities = NULL;
    const kg_new_entities_options options = KG_NEW_ENTITIES_OPTIONS_INIT;
    kg_error error = {0};
    open_names(&model);
    assert_ok(kg__new_entities_open(&new_entities, &model, &options, 3, &error), &error);
    assert_ok(add(new_entities, "x", "hypernym", "cat.n.01", &error), &error);
    text lines = TEXT("x\thypernym\tdog.n.01\ny\tpart_of\tcat.n.01\ny\tpart_of\tdog.n.01\n");
    kg_input *input = open_text(lines, "in");
    assert_status(kg__new_entities_read_input(new_entities, input, &error), KG_BAD_INPUT, &error);
    assert_string_equal(error.message, expected);
    kg__input_close(input);
    assert_status(add(new_entities, "z", "hypernym", "cat.n.01", &error), KG_BAD_INPUT, &error);
    assert_string_equal(error.message, expected);
    assert_ok(kg_new_entities_finish(NULL, new_entities, &error), &error);
    char *shown = show(new_entities, &model);
    assert_string_equal(shown, "x: hypernym>dog.n.01 hypernym>cat.n.01; y: part_of>cat.n.01; ");
    free(shown);
    kg_new_entities_close(new_entities);
    close_names(&model);
}

/* A path, standard input, and facts by calls, all together. */
static void test_read(void **state) {
    (void)state;
    kg_model model;
    kg_new_entities *new_entities = NULL;
    kg_new_entities_options options = KG_NEW_ENTITIES_OPTIONS_INIT;
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    kg_error error = {0};
    open_names(&model);
    text packed = compress_text(TEXT("x\thypernym\tcat.n.01\n"));
    write_file("facts.tsv.gz", packed);
    free((void *)packed.bytes);
    assert_ok(kg_new_entities_open(&new_entities, &model, &options, &error), &error);
    assert_ok(kg_new_entities_read(new_entities, "facts.tsv.gz", &error), &error);
    int before = replace_standard_input(TEXT("x\thypernym\tdog.n.01\n"));
    assert_ok(kg_new_entities_read(new_entities, "-", &error), &error);
    restore_standard_input(before);
    assert_ok(add(new_entities, "x", "hypernym", "cat.n.01", &error), &error);
    assert_status(kg_new_entities_read(new_entities, "nothing", &error), KG_BAD_INPUT, &error);
    assert_ok(kg_new_entities_finish(&left, new_entities, &error), &error);
    assert_int_equal(left.repeated, 1);
    char *shown = show(new_entities, &model);
    assert_string_equal(shown, "x: hypernym>dog.n.01 hypernym>cat.n.01; ");
    free(shown);
    kg_new_entities_close(new_entities);
    close_names(&model);
}

/* ---- Random facts ---- */

enum { KNOWN = 4, NAMES = 8, FACTS = 12 };

/* Names 0 to KNOWN - 1 are the model's; relation 2 is not. */
struct random_fact {
    size_t head, relation, tail;
};

static bool has_known_relation(struct random_fact fact) {
    return fact.relation < 2;
}

static bool is_newcomer(const struct random_fact *facts, size_t count, size_t name) {
    for (size_t i = 0; i < count; i++)
        if (has_known_relation(facts[i]) && name >= KNOWN &&
            ((facts[i].head == name && facts[i].tail < KNOWN) ||
             (facts[i].tail == name && facts[i].head < KNOWN)))
            return true;
    return false;
}

static bool has_link(const struct random_fact *facts, size_t count, size_t name, kg_link link) {
    kg_end end = kg_directed_end(link.directed);
    for (size_t i = 0; i < count; i++)
        if (facts[i].relation == kg_directed_relation(link.directed) &&
            (end == KG_HEAD ? facts[i].head : facts[i].tail) == name &&
            (end == KG_HEAD ? facts[i].tail : facts[i].head) == link.other)
            return true;
    return false;
}

static void assert_like_twin(const kg_new_entities *new_entities, const struct random_fact *facts,
                             size_t count) {
    size_t expected = 0;
    for (size_t name = 0; name < NAMES; name++) {
        char shown[8];
        snprintf(shown, sizeof shown, "n%zu", name);
        size_t place = kg_new_entities_find(new_entities, as_text(shown));
        if (!is_newcomer(facts, count, name)) {
            assert_int_equal(place, kg_new_entities_count(new_entities));
            continue;
        }
        expected++;
        size_t link_count = 0;
        const kg_link *links = kg_new_entities_links(&link_count, new_entities, place);
        size_t found = 0;
        for (kg_directed directed = 0; directed < 4; directed++)
            for (kg_id other = 0; other < KNOWN; other++)
                if (has_link(facts, count, name, (kg_link){directed, other})) {
                    assert_true(found < link_count);
                    assert_int_equal(links[found].directed, directed);
                    assert_int_equal(links[found].other, other);
                    found++;
                }
        assert_int_equal(found, link_count);
    }
    assert_int_equal(kg_new_entities_count(new_entities), expected);
}

/* The counts and the links account for every fact. */
static void assert_counted(const kg_new_entities *new_entities, const kg_left_out_facts *left,
                           size_t count) {
    size_t total = left->unknown + left->repeated + left->reflexive;
    for (size_t i = 0; i < kg_new_entities_count(new_entities); i++) {
        size_t links = 0;
        kg_new_entities_links(&links, new_entities, i);
        total += links;
    }
    assert_int_equal(total, count);
}

static void check_random(const kg_model *model, uint64_t *random) {
    struct random_fact facts[FACTS];
    size_t count = 1 + next_below(random, FACTS);
    kg_new_entities *new_entities = NULL;
    kg_new_entities_options options = {.size = sizeof options, .skip_unknown = true};
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    kg_error error = {0};
    bool both_known = false;
    bool any = false;
    assert_ok(kg_new_entities_open(&new_entities, model, &options, &error), &error);
    for (size_t i = 0; i < count; i++) {
        facts[i] = (struct random_fact){next_below(random, NAMES), next_below(random, 3), 0};
        /* Facts of two known ends end a trial: there are few of them. */
        facts[i].tail = facts[i].head < KNOWN && next_below(random, 20) > 0
                            ? KNOWN + next_below(random, NAMES - KNOWN)
                            : next_below(random, NAMES);
        char names[3][8];
        snprintf(names[0], 8, "n%zu", facts[i].head);
        snprintf(names[1], 8, "r%zu", facts[i].relation);
        snprintf(names[2], 8, "n%zu", facts[i].tail);
        assert_ok(add(new_entities, names[0], names[1], names[2], &error), &error);
        both_known = both_known || (has_known_relation(facts[i]) && facts[i].head < KNOWN &&
                                    facts[i].tail < KNOWN);
    }
    for (size_t name = 0; name < NAMES; name++)
        any = any || is_newcomer(facts, count, name);
    kg_status status = kg_new_entities_finish(&left, new_entities, &error);
    assert_int_equal(status, both_known || !any ? KG_BAD_INPUT : KG_OK);
    if (status == KG_OK) {
        assert_like_twin(new_entities, facts, count);
        assert_counted(new_entities, &left, count);
    }
    kg_new_entities_close(new_entities);
}

static void test_random(void **state) {
    (void)state;
    kg_model model = {0};
    uint64_t random = 11;
    for (size_t i = 0; i < KNOWN; i++) {
        char name[8];
        kg_id id = 0;
        int length = snprintf(name, sizeof name, "n%zu", i);
        assert_ok(kg__names_intern(&model.entities, &id, kg__name_of(name, (size_t)length), NULL),
                  NULL);
        if (i < 2) {
            name[0] = 'r';
            assert_ok(
                kg__names_intern(&model.relations, &id, kg__name_of(name, (size_t)length), NULL),
                NULL);
        }
    }
    for (int round = 0; round < 20000; round++)
        check_random(&model, &random);
    close_names(&model);
}

/* Lines of what was reported. */
struct reported {
    uint64_t lines[8];
    size_t count;
};

static void note_problem(void *payload, const kg_error *problem) {
    struct reported *reported = payload;
    assert_true(reported->count < COUNT_OF(reported->lines));
    assert_int_equal(problem->status, KG_BAD_INPUT);
    assert_string_equal(problem->source, "facts.tsv");
    reported->lines[reported->count++] = problem->line;
}

/* Wrong facts are reported, first those that cannot be read, and the others are taken. */
static void test_reported(void **state) {
    (void)state;
    static const text facts = TEXT_FIELD("a\thypernym\tcat.n.01\n"
                                         "a\tis\tcat.n.01\n"
                                         "nothing\n"
                                         "dog.n.01\thypernym\tcat.n.01\n"
                                         "b\thypernym\tc\n"
                                         "b\thypernym\tdog.n.01\n");
    static const uint64_t expected[] = {3, 2, 4, 5};
    struct reported reported = {.count = 0};
    kg_model model;
    kg_new_entities *new_entities = NULL;
    kg_new_entities_options options = {
        .size = sizeof options, .report = note_problem, .payload = &reported};
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    kg_error error = {0};
    open_names(&model);
    assert_ok(kg_new_entities_open(&new_entities, &model, &options, &error), &error);
    assert_ok(read_facts(new_entities, facts, &left, &error), &error);
    char *shown = show(new_entities, &model);
    assert_string_equal(shown, "a: hypernym>cat.n.01; b: hypernym>dog.n.01; ");
    free(shown);
    assert_int_equal(left.wrong, COUNT_OF(expected));
    assert_int_equal(reported.count, COUNT_OF(expected));
    assert_memory_equal(reported.lines, expected, sizeof expected);
    kg_new_entities_close(new_entities);
    close_names(&model);
}

static void test_links_sort(void **state) {
    (void)state;
    kg_link links[] = {{3, 1}, {0, 9}, {3, 0}, {0, 9}, {3, 1}, {0, 2}};
    static const kg_link expected[] = {{0, 2}, {0, 9}, {3, 0}, {3, 1}};
    assert_int_equal(kg_links_sort(links, COUNT_OF(links)), COUNT_OF(expected));
    assert_memory_equal(links, expected, sizeof expected);
    assert_int_equal(kg_links_sort(NULL, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_calls),    test_in_folder(test_read),
        cmocka_unit_test(test_random),   cmocka_unit_test(test_links_sort),
        cmocka_unit_test(test_reported), cmocka_unit_test(test_most_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
