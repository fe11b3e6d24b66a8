/* Steps of learning against golden numbers: scores, loss, gradients and parameters after 1, 2 and 5
 * steps; and lazy learning against dense, on any number of threads, to the bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>

#include "base/random.h"
#include "golden.h"
#include "train/step.h"

#ifdef KG_DOUBLE
#define EXACT 1e-9
#else
#define EXACT 1e-4
#endif

static kg_id index_of(json_t *list, const json_t *name) {
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(list, i, item) if (json_equal(item, name)) return (kg_id)i;
    fail_msg("no such name");
    return 0;
}

static double at(json_t *rows, size_t i, size_t columns) {
    return json_number_value(json_array_get(json_array_get(rows, i / columns), i % columns));
}

/* Everything that a golden case learns with. */
struct golden {
    json_t *root;
    json_t *training;
    kg_triples facts;
    kg_adjacency adjacency;
    kg_item items[64];
    size_t item_count;
    kg_table entities;
    kg_table relations;
    kg_optimizer optimizer;
    kg_stepper *stepper;
};

static kg_triple triple_of(const struct golden *golden, const json_t *head, const json_t *relation,
                           const json_t *tail) {
    json_t *entities = json_object_get(golden->root, "entities");
    return (kg_triple){index_of(entities, head),
                       index_of(json_object_get(golden->root, "relations"), relation),
                       index_of(entities, tail)};
}

static void load_facts(struct golden *golden) {
    size_t i = 0;
    json_t *fact = NULL;
    json_array_foreach(json_object_get(golden->root, "train"), i, fact) {
        kg_triple triple = triple_of(golden, json_array_get(fact, 0), json_array_get(fact, 1),
                                     json_array_get(fact, 2));
        assert_int_equal(kg__triples_push(&golden->facts, triple, NULL), KG_OK);
    }
    assert_int_equal(
        kg__adjacency_make(&golden->adjacency, &golden->facts, 12, KG_WITHOUT_REFLEXIVE, NULL),
        KG_OK);
    static const kg_unseen masks[] = {KG_UNSEEN_HEAD, KG_UNSEEN_NONE, KG_UNSEEN_TAIL};
    json_array_foreach(json_object_get(golden->training, "batch"), i, fact) {
        golden->items[i] =
            (kg_item){triple_of(golden, json_object_get(fact, "h"), json_object_get(fact, "r"),
                                json_object_get(fact, "t")),
                      (int8_t)json_number_value(json_object_get(fact, "label")),
                      (uint8_t)masks[json_integer_value(json_object_get(fact, "mask"))]};
        golden->item_count++;
    }
}

static void fill(kg_table *table, json_t *rows) {
    for (size_t i = 0; i < table->rows * table->dim; i++)
        table->values[i] = (real)at(rows, i, table->dim);
}

static void start(struct golden *golden, json_t *wanted, kg_method method) {
    double l2 = json_number_value(json_object_get(golden->training, "l2_lambda")) /
                json_number_value(json_object_get(golden->training, "num_batches"));
    json_t *lambda = json_object_get(wanted, "ls_lambda");
    kg_stepper_options options = {
        .scoring = kg__scoring_find("distmult"),
        .aggregate = {.aggregator = kg__aggregator_find(
                          json_string_value(json_object_get(wanted, "aggregate"))),
                      .ls_lambda = json_is_number(lambda) ? json_number_value(lambda) : 1,
                      .ls_rows = KG_LS_NORMALIZED},
        .exclude = strcmp(json_string_value(json_object_get(wanted, "exclude")), "pair") == 0
                       ? KG_EXCLUDE_PAIR
                       : KG_EXCLUDE_TRIPLE,
        .trained_entities = 12,
        .trained_relations = 4,
        .threads = 2};
    assert_int_equal(kg__table_open(&golden->entities, 12, 8, method, NULL), KG_OK);
    assert_int_equal(kg__table_open(&golden->relations, 4, 8, method, NULL), KG_OK);
    fill(&golden->entities, json_object_get(golden->root, "entity_embeddings"));
    fill(&golden->relations, json_object_get(golden->root, "relation_embeddings"));
    double rate = method == KG_ADAM ? 0.01 : 0.1;
    assert_int_equal(
        kg__optimizer_open(&golden->optimizer, method, (kg_rates){rate, rate}, l2, 5, NULL), KG_OK);
    assert_int_equal(kg__stepper_open(&golden->stepper, &options, &golden->adjacency,
                                      &golden->entities, &golden->relations, &golden->optimizer,
                                      NULL),
                     KG_OK);
}

static void stop(struct golden *golden) {
    kg__stepper_close(golden->stepper);
    kg__optimizer_close(&golden->optimizer);
    kg__table_close(&golden->entities);
    kg__table_close(&golden->relations);
}

static void assert_close(double value, double expected) {
    if (!(fabs(value - expected) <= EXACT * (1 + fabs(expected))))
        fail_msg("%.12g where %.12g was expected", value, expected);
}

static void check_table(const kg_table *table, json_t *expected) {
    for (size_t i = 0; i < table->rows * table->dim; i++)
        assert_close((double)table->values[i], at(expected, i, table->dim));
}

/* AdaGrad's first step leaves the squares of the gradients, and moves against them. */
static void check_gradient(const kg_table *table, json_t *before, json_t *gradient) {
    for (size_t i = 0; i < table->rows * table->dim; i++) {
        double moved = (double)table->values[i] - at(before, i, table->dim);
        assert_close(-copysign(sqrt((double)table->first[i]), moved), at(gradient, i, table->dim));
    }
}

static void check_case(struct golden *golden, json_t *wanted, kg_method method) {
    start(golden, wanted, method);
    for (uint64_t step = 1; step <= 5; step++) {
        double loss = 0;
        assert_int_equal(
            kg__stepper_step(golden->stepper, golden->items, golden->item_count, step, &loss, NULL),
            KG_OK);
        if (step == 1) {
            assert_close(loss, json_number_value(json_object_get(wanted, "prediction_loss")));
            for (size_t i = 0; i < golden->item_count; i++)
                assert_close(
                    kg__stepper_scores(golden->stepper)[i],
                    json_number_value(json_array_get(json_object_get(wanted, "scores"), i)));
        }
        if (step == 1 && method == KG_ADAGRAD) {
            kg__stepper_catch_up(golden->stepper, step);
            check_gradient(&golden->entities, json_object_get(golden->root, "entity_embeddings"),
                           json_object_get(wanted, "grad_entities"));
            check_gradient(&golden->relations, json_object_get(golden->root, "relation_embeddings"),
                           json_object_get(wanted, "grad_relations"));
        }
        char name[32];
        snprintf(name, sizeof name, "%s_%d", method == KG_ADAM ? "adam" : "adagrad", (int)step);
        json_t *expected = json_object_get(json_object_get(wanted, "steps"), name);
        if (expected == NULL)
            continue;
        kg__stepper_catch_up(golden->stepper, step);
        check_table(&golden->entities, json_object_get(expected, "entities"));
        check_table(&golden->relations, json_object_get(expected, "relations"));
    }
    stop(golden);
}

static void test_golden(void **state) {
    (void)state;
    struct golden golden = {.root = load_golden()};
    if (golden.root == NULL)
        skip();
    golden.training = json_object_get(golden.root, "training");
    load_facts(&golden);
    size_t i = 0;
    json_t *wanted = NULL;
    json_array_foreach(json_object_get(golden.training, "cases"), i, wanted) {
        check_case(&golden, wanted, KG_ADAGRAD);
        check_case(&golden, wanted, KG_ADAM);
    }
    assert_true(i >= 10);
    kg__adjacency_free(&golden.adjacency);
    kg__triples_free(&golden.facts);
    json_decref(golden.root);
}

#define ENTITIES 300
#define RELATIONS 7
#define DIM 20
#define FACTS 1500

/* Twenty batches of a random graph with hubs; returns all parameters. */
static real *learn(const char *aggregator, kg_method method, bool dense, int threads,
                   double dropout) {
    kg_triples facts = {0};
    for (uint64_t i = 0; i < FACTS; i++) {
        kg_triple fact = {
            (kg_id)(kg__random_below(ENTITIES, 1, KG_STREAM_GENERATE_HEAD, i) % (1 + i % ENTITIES)),
            (kg_id)kg__random_below(RELATIONS, 1, KG_STREAM_GENERATE_RELATION, i),
            (kg_id)kg__random_below(ENTITIES, 1, KG_STREAM_GENERATE_TAIL, i)};
        assert_int_equal(kg__triples_push(&facts, fact, NULL), KG_OK);
    }
    size_t dropped = 0;
    assert_int_equal(kg__triples_unique(&facts, &dropped, NULL), KG_OK);
    kg_adjacency adjacency;
    assert_int_equal(kg__adjacency_make(&adjacency, &facts, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL),
                     KG_OK);
    kg_table entities;
    kg_table relations;
    kg_optimizer optimizer;
    assert_int_equal(kg__table_open(&entities, ENTITIES, DIM, method, NULL), KG_OK);
    assert_int_equal(kg__table_open(&relations, RELATIONS, DIM, method, NULL), KG_OK);
    for (size_t i = 0; i < ENTITIES * DIM; i++)
        entities.values[i] = (real)kg__random_unit(2, KG_STREAM_INIT_ENTITIES, i) - (real)0.5;
    for (size_t i = 0; i < RELATIONS * DIM; i++)
        relations.values[i] = (real)kg__random_unit(2, KG_STREAM_INIT_RELATIONS, i) - (real)0.5;
    assert_int_equal(
        kg__optimizer_open(&optimizer, method, (kg_rates){0.05, 0.05}, 0.01, 100, NULL), KG_OK);
    kg_stepper_options options = {.scoring = kg__scoring_find("complex"),
                                  .aggregate = {.aggregator = kg__aggregator_find(aggregator),
                                                .ls_lambda = (real)0.1,
                                                .ls_rows = KG_LS_NORMALIZED},
                                  .exclude = KG_EXCLUDE_TRIPLE,
                                  .dropout = dropout,
                                  .trained_entities = ENTITIES,
                                  .trained_relations = RELATIONS,
                                  .threads = threads,
                                  .dense = dense};
    kg_stepper *stepper = NULL;
    assert_int_equal(
        kg__stepper_open(&stepper, &options, &adjacency, &entities, &relations, &optimizer, NULL),
        KG_OK);
    kg_batches batches = {&facts, ENTITIES, 50, 2, 0.7, true, 5};
    kg_item *items = calloc(kg__batches_items(&batches), sizeof *items);
    uint64_t step = 0;
    for (uint64_t i = 0; i < 20; i++) {
        double loss = 0;
        size_t count = kg__batches_make(&batches, items, 0, i);
        assert_int_equal(kg__stepper_step(stepper, items, count, ++step, &loss, NULL), KG_OK);
    }
    kg__stepper_catch_up(stepper, step);
    real *out = calloc((ENTITIES + RELATIONS) * DIM, sizeof *out);
    memcpy(out, entities.values, ENTITIES * DIM * sizeof *out);
    memcpy(out + ENTITIES * DIM, relations.values, RELATIONS * DIM * sizeof *out);
    free(items);
    kg__stepper_close(stepper);
    kg__optimizer_close(&optimizer);
    kg__table_close(&entities);
    kg__table_close(&relations);
    kg__adjacency_free(&adjacency);
    kg__triples_free(&facts);
    return out;
}

static void test_same_bits(void **state) {
    (void)state;
    static const char *const aggregators[] = {"eavg", "eravg", "ls"};
    for (size_t a = 0; a < 3; a++)
        for (int method = 0; method < 2; method++) {
            real *expected = learn(aggregators[a], (kg_method)method, false, 1, 0.3);
            for (int variant = 0; variant < 3; variant++) {
                real *other = learn(aggregators[a], (kg_method)method, variant == 0,
                                    variant == 0   ? 1
                                    : variant == 1 ? 2
                                                   : 7,
                                    0.3);
                assert_memory_equal(expected, other,
                                    (ENTITIES + RELATIONS) * DIM * sizeof *expected);
                free(other);
            }
            free(expected);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
