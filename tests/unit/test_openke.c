/* The reader of OpenKE's numbered files: names in any order, facts as head, tail and relation,
 * spaces and tabs, and each mistake with its line. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

#define ENTITIES "3\nadam\t0\nbo b\t1\ncy\t2\n"
#define RELATIONS "2\nlikes\t0\nknows\t1\n"

static kg_status read_texts(kg_dataset *dataset, text entities, text relations, text facts,
                            kg_error *error) {
    kg_input *inputs[3] = {open_text(entities, "entity2id.txt"),
                           open_text(relations, "relation2id.txt"),
                           open_text(facts, "train2id.txt")};
    kg_openke *openke = NULL;
    kg_reader reader = {.dataset = dataset};
    assert_ok(kg__dataset_open(dataset, error), error);
    kg_status status = kg__openke_open(&openke, inputs[0], inputs[1], error);
    if (status == KG_OK)
        status = kg__openke_read(openke, &reader, inputs[2], error);
    kg__openke_close(openke);
    for (size_t i = 0; i < 3; i++)
        kg__input_close(inputs[i]);
    return status;
}

static void test_accepted(void **state) {
    (void)state;
    static const struct {
        text entities, relations, facts;
        const char *expected;
    } cases[] = {
        {TEXT_FIELD(ENTITIES), TEXT_FIELD(RELATIONS), TEXT_FIELD("2\n2\t1\t0\n0\t2\t1\n"),
         "cy likes bo b\nadam knows cy\n"},
        {TEXT_FIELD("3\r\ncy 2\r\nadam\t0\r\nbo b 1\r\n"), TEXT_FIELD("2\nknows 1\nlikes  0 \n"),
         TEXT_FIELD("2 \r\n2 1 0\r\n 0\t 2 1 \r\n"), "cy likes bo b\nadam knows cy\n"},
        {TEXT_FIELD("1\n7 8 0"), TEXT_FIELD("1\nr 0"), TEXT_FIELD("1\n0 0 0"), "7 8 r 7 8\n"},
        {TEXT_FIELD(ENTITIES), TEXT_FIELD(RELATIONS), TEXT_FIELD("2\n0 1 0\n0 1 0\n"),
         "adam likes bo b\nadam likes bo b\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset dataset;
        kg_error error = {0};
        assert_ok(
            read_texts(&dataset, cases[i].entities, cases[i].relations, cases[i].facts, &error),
            &error);
        assert_facts(&dataset, KG_TRAIN, cases[i].expected);
        kg__dataset_close(&dataset);
    }
}

/* Ids follow the facts, not OpenKE's numbers. */
static void test_ids_and_names(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(read_texts(&dataset, TEXT(ENTITIES), TEXT(RELATIONS), TEXT("1\n2 0 1\n"), &error),
              &error);
    assert_int_equal(dataset.entities.count, 2);
    assert_int_equal(dataset.relations.count, 1);
    assert_name(&dataset.entities, 0, "cy");
    assert_name(&dataset.entities, 1, "adam");
    assert_name(&dataset.relations, 0, "knows");
    kg__dataset_close(&dataset);
    kg_input *entities = open_text(TEXT(ENTITIES), "e");
    kg_input *relations = open_text(TEXT(RELATIONS), "r");
    kg_openke *openke = NULL;
    assert_ok(kg__openke_open(&openke, entities, relations, &error), &error);
    assert_int_equal(kg__openke_names(openke), 5);
    kg__openke_close(openke);
    kg__openke_close(NULL);
    kg__input_close(entities);
    kg__input_close(relations);
}

/* Many names in an order of their own: fact i says that name i knows name i + 1. */
static void test_many_names(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    char *texts[3] = {must_allocate(COUNT + 1, 32), must_allocate(COUNT + 1, 32),
                      must_allocate(COUNT + 1, 32)};
    size_t used[2] = {(size_t)sprintf(texts[0], "%d\n", COUNT),
                      (size_t)sprintf(texts[1], "%d\n", COUNT - 1)};
    size_t expected = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned number = i * 7 % COUNT;
        used[0] += (size_t)sprintf(texts[0] + used[0], "name %u\t%u\n", number, number);
        if (i + 1 == COUNT)
            break;
        used[1] += (size_t)sprintf(texts[1] + used[1], "%u %u %u\n", i, i + 1, i % 2);
        expected += (size_t)sprintf(texts[2] + expected, "name %u %s name %u\n", i,
                                    i % 2 == 0 ? "likes" : "knows", i + 1);
    }
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(read_texts(&dataset, text_of(texts[0]), TEXT(RELATIONS), text_of(texts[1]), &error),
              &error);
    assert_facts(&dataset, KG_TRAIN, texts[2]);
    kg__dataset_close(&dataset);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        free(texts[i]);
}

static void assert_refused(text entities, text relations, text facts, const char *expected) {
    kg_dataset dataset;
    kg_error error = {0};
    assert_status(read_texts(&dataset, entities, relations, facts, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, expected);
    kg__dataset_close(&dataset);
}

static void test_refused_names(void **state) {
    (void)state;
    static const struct {
        text entities;
        const char *expected;
    } cases[] = {
        {TEXT_FIELD(""), "entity2id.txt:1: expected the number of lines that follow, a number, "
                         "found ''"},
        {TEXT_FIELD("many\n"), "entity2id.txt:1: expected the number of lines that follow, a "
                               "number, found 'many'"},
        {TEXT_FIELD("-1\n"), "entity2id.txt:1: expected the number of lines that follow, a "
                             "number, found '-1'"},
        {TEXT_FIELD("1 2\n"), "entity2id.txt:1: expected only the number of lines that follow, "
                              "found more on the line"},
        {TEXT_FIELD("4294967295\na 0\n"), "entity2id.txt:1: expected the number of lines that "
                                          "follow below 4294967295, found 4294967295"},
        {TEXT_FIELD("99999999999999999999\na 0\n"),
         "entity2id.txt:1: expected the number of lines that follow, a number, found "
         "'99999999999999999999'"},
        {TEXT_FIELD("3\na 0\nb 1\n"), "entity2id.txt:1: expected 3 lines to follow, as the first "
                                      "line says, found fewer"},
        {TEXT_FIELD("1\na 0\nb 1\n"), "entity2id.txt:1: expected 1 lines to follow, as the first "
                                      "line says, found more"},
        {TEXT_FIELD("2\na 0\nb\n"),
         "entity2id.txt:3: expected a name and its id, a number, found 'b'"},
        {TEXT_FIELD("2\na 0\n1\n"), "entity2id.txt:3: expected a name and its id, found '1'"},
        {TEXT_FIELD("2\na 0\n\n"), "entity2id.txt:3: expected a name and its id, a number, found "
                                   "''"},
        {TEXT_FIELD("2\na 0\nb 2\n"), "entity2id.txt:3: expected a name and its id below 2, "
                                      "found 2"},
        {TEXT_FIELD("2\na 0\na 1\n"), "entity2id.txt:3: expected each name once, found 'a' again"},
        {TEXT_FIELD("2\na 0\nb 0\n"), "entity2id.txt:3: expected each id once, found 0 again"},
        {TEXT_FIELD("2\na 0\nb\tc 1\n"),
         "entity2id.txt:3: expected a name and its id, found 'b\\x09c 1'"},
        {TEXT_FIELD("2\na 0\nb\0c 1\n"), "entity2id.txt:3: expected text, found a NUL byte"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_refused(cases[i].entities, TEXT(RELATIONS), TEXT("1\n0 0 0\n"), cases[i].expected);
    assert_refused(TEXT(ENTITIES), TEXT("2\nlikes 0\n"), TEXT("1\n0 0 0\n"),
                   "relation2id.txt:1: expected 2 lines to follow, as the first line says, found "
                   "fewer");
}

static void test_refused_facts(void **state) {
    (void)state;
    static const struct {
        text facts;
        const char *expected;
    } cases[] = {
        {TEXT_FIELD("0\n"), "train2id.txt:1: expected facts, found none"},
        {TEXT_FIELD("1\n"), "train2id.txt:1: expected 1 lines to follow, as the first line says, "
                            "found fewer"},
        {TEXT_FIELD("1\n0 1 0\n0 2 0\n"), "train2id.txt:1: expected 1 lines to follow, as the "
                                          "first line says, found more"},
        {TEXT_FIELD("2\n0 1 0\n3 0 0\n"), "train2id.txt:3: expected a head id below 3, found 3"},
        {TEXT_FIELD("2\n0 1 0\n0 3 0\n"), "train2id.txt:3: expected a tail id below 3, found 3"},
        {TEXT_FIELD("1\n0 1 2\n"), "train2id.txt:2: expected a relation id below 2, found 2"},
        {TEXT_FIELD("1\n0 x 0\n"), "train2id.txt:2: expected a tail id, a number, found 'x'"},
        {TEXT_FIELD("1\n0 1\n"), "train2id.txt:2: expected a relation id, a number, found ''"},
        {TEXT_FIELD("1\n0 1 0 1\n"), "train2id.txt:2: expected head, tail and relation ids, found "
                                     "a fourth column"},
        {TEXT_FIELD("1\n0 18446744073709551616 0\n"),
         "train2id.txt:2: expected a tail id, a number, found '18446744073709551616'"},
        {TEXT_FIELD("1\n0 1\0 0\n"), "train2id.txt:2: expected text, found a NUL byte"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_refused(TEXT(ENTITIES), TEXT(RELATIONS), cases[i].facts, cases[i].expected);
}

/* What the data set refuses gets its line, too. */
static void test_refused_by_data_set(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_error error = {0};
    kg_input *entities = open_text(TEXT(ENTITIES), "e");
    kg_input *relations = open_text(TEXT(RELATIONS), "r");
    kg_input *train = open_text(TEXT("1\n0 1 0\n"), "train");
    kg_input *unseen = open_text(TEXT("2\n2 1 0\n0 1 0\n"), "unseen");
    kg_openke *openke = NULL;
    kg_reader reader = {.dataset = &dataset};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    assert_ok(kg__openke_open(&openke, entities, relations, &error), &error);
    assert_ok(kg__openke_read(openke, &reader, train, &error), &error);
    assert_ok(kg__dataset_enter(&dataset, KG_UNSEEN_TEST, &error), &error);
    assert_status(kg__openke_read(openke, &reader, unseen, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "unseen:3: expected one unseen entity, found that 'adam' and 'bo b' "
                              "both are in train");
    kg__openke_close(openke);
    kg_input *inputs[] = {entities, relations, train, unseen};
    for (size_t i = 0; i < COUNT_OF(inputs); i++)
        kg__input_close(inputs[i]);
    kg__dataset_close(&dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),      cmocka_unit_test(test_ids_and_names),
        cmocka_unit_test(test_many_names),    cmocka_unit_test(test_refused_names),
        cmocka_unit_test(test_refused_facts), cmocka_unit_test(test_refused_by_data_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
