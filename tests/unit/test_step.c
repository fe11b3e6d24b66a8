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
#include "step_bench.h"

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
    step_item items[64];
    size_t item_count;
    step_bench bench;
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
    static const unseen_end masks[] = {UNSEEN_HEAD, UNSEEN_NONE, UNSEEN_TAIL};
    json_array_foreach(json_object_get(golden->training, "batch"), i, fact) {
        golden->items[i] =
            (step_item){triple_of(golden, json_object_get(fact, "h"), json_object_get(fact, "r"),
                                  json_object_get(fact, "t")),
                        (int8_t)json_number_value(json_object_get(fact, "label")),
                        (uint8_t)masks[json_integer_value(json_object_get(fact, "mask"))]};
        golden->item_count++;
    }
}

static void fill(kg_param *param, json_t *rows) {
    for (size_t i = 0; i < param->rows * param->columns; i++)
        param->values[i] = (real)at(rows, i, param->columns);
}

static void start(struct golden *golden, json_t *wanted, kg_method method) {
    double l2 = json_number_value(json_object_get(golden->training, "l2_lambda")) /
                json_number_value(json_object_get(golden->training, "num_batches"));
    json_t *lambda = json_object_get(wanted, "ls_lambda");
    double rate = method == KG_ADAM ? 0.01 : 0.1;
    step_bench_options options = {
        .step = {.aggregate = {.aggregator = kg__aggregator_find(
                                   json_string_value(json_object_get(wanted, "aggregate"))),
                               .ls_lambda = json_is_number(lambda) ? json_number_value(lambda) : 1,
                               .ls_rows = KG_LS_NORMALIZED},
                 .exclude =
                     strcmp(json_string_value(json_object_get(wanted, "exclude")), "pair") == 0
                         ? KG_EXCLUDE_PAIR
                         : KG_EXCLUDE_TRIPLE,
                 .threads = 2},
        .scoring = kg__scoring_find("distmult"),
        .dim = 8,
        .entity_rows = 12,
        .trained_entities = 12,
        .relation_rows = 4,
        .trained_relations = 4,
        .method = method,
        .rates = {.first = rate, .last = rate},
        .l2 = l2,
        .steps = 5,
        .most_items = COUNT_OF(golden->items),
    };
    open_step_bench(&golden->bench, &options, &golden->adjacency);
    fill(bench_entities(&golden->bench), json_object_get(golden->root, "entity_embeddings"));
    fill(bench_relations(&golden->bench), json_object_get(golden->root, "relation_embeddings"));
}

static void assert_close(double value, double expected) {
    if (!(fabs(value - expected) <= EXACT * (1 + fabs(expected))))
        fail_msg("%.12g where %.12g was expected", value, expected);
}

static void check_table(const kg_param *param, json_t *expected) {
    for (size_t i = 0; i < param->rows * param->columns; i++)
        assert_close((double)param->values[i], at(expected, i, param->columns));
}

/* AdaGrad's first step leaves the squares of the gradients, and moves against them. */
static void check_gradient(const kg_param *param, json_t *before, json_t *gradient) {
    for (size_t i = 0; i < param->rows * param->columns; i++) {
        double moved = (double)param->values[i] - at(before, i, param->columns);
        assert_close(-copysign(sqrt((double)param->first[i]), moved),
                     at(gradient, i, param->columns));
    }
}

static void check_case(struct golden *golden, json_t *wanted, kg_method method) {
    start(golden, wanted, method);
    for (uint64_t step = 1; step <= 5; step++) {
        double loss = 0;
        take_item_step(&golden->bench, golden->items, golden->item_count, step, &loss);
        if (step == 1) {
            assert_close(loss, json_number_value(json_object_get(wanted, "prediction_loss")));
            for (size_t i = 0; i < golden->item_count; i++)
                assert_close(
                    kg__step_scores(golden->bench.step)[i],
                    json_number_value(json_array_get(json_object_get(wanted, "scores"), i)));
        }
        if (step == 1 && method == KG_ADAGRAD) {
            assert_ok(kg__step_catch_up(golden->bench.step, step, NULL), NULL);
            check_gradient(bench_entities(&golden->bench),
                           json_object_get(golden->root, "entity_embeddings"),
                           json_object_get(wanted, "grad_entities"));
            check_gradient(bench_relations(&golden->bench),
                           json_object_get(golden->root, "relation_embeddings"),
                           json_object_get(wanted, "grad_relations"));
        }
        char name[32];
        snprintf(name, sizeof name, "%s_%d", method == KG_ADAM ? "adam" : "adagrad", (int)step);
        json_t *expected = json_object_get(json_object_get(wanted, "steps"), name);
        if (expected == NULL)
            continue;
        assert_ok(kg__step_catch_up(golden->bench.step, step, NULL), NULL);
        check_table(bench_entities(&golden->bench), json_object_get(expected, "entities"));
        check_table(bench_relations(&golden->bench), json_object_get(expected, "relations"));
    }
    close_step_bench(&golden->bench);
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
    step_bench bench;
    step_bench_options options = {
        .step = {.aggregate = {.aggregator = kg__aggregator_find(aggregator),
                               .ls_lambda = (real)0.1,
                               .ls_rows = KG_LS_NORMALIZED},
                 .exclude = KG_EXCLUDE_TRIPLE,
                 .dropout = dropout,
                 .threads = threads,
                 .dense = dense},
        .scoring = kg__scoring_find("complex"),
        .dim = DIM,
        .entity_rows = ENTITIES,
        .trained_entities = ENTITIES,
        .relation_rows = RELATIONS,
        .trained_relations = RELATIONS,
        .method = method,
        .rates = {.first = 0.05, .last = 0.05},
        .l2 = 0.01,
        .steps = 100,
        .most_items = 150,
    };
    open_step_bench(&bench, &options, &adjacency);
    real *entities = bench_entities(&bench)->values;
    real *relations = bench_relations(&bench)->values;
    for (size_t i = 0; i < ENTITIES * DIM; i++)
        entities[i] = (real)kg__random_unit(2, KG_STREAM_INIT_ENTITIES, i) - (real)0.5;
    for (size_t i = 0; i < RELATIONS * DIM; i++)
        relations[i] = (real)kg__random_unit(2, KG_STREAM_INIT_RELATIONS, i) - (real)0.5;
    kg_sampler sampler;
    kg_sampler_options sampling = {.facts = &facts,
                                   .graph = &adjacency,
                                   .size = 50,
                                   .negatives = 2,
                                   .psi = 0.7,
                                   .shuffle = true,
                                   .seed = 5};
    assert_ok(kg__triple_sampler_open(&sampler, &sampling, NULL), NULL);
    kg_batch batch = {0};
    uint64_t step = 0;
    for (size_t i = 0; i < 20; i++) {
        double loss = 0;
        assert_ok(kg__sampler_fill(&sampler, &batch, 0, i, NULL), NULL);
        assert_ok(kg__step_take(bench.step, &batch, ++step, &loss, NULL), NULL);
    }
    assert_ok(kg__step_catch_up(bench.step, step, NULL), NULL);
    real *out = calloc((ENTITIES + RELATIONS) * DIM, sizeof *out);
    memcpy(out, entities, ENTITIES * DIM * sizeof *out);
    memcpy(out + ENTITIES * DIM, relations, RELATIONS * DIM * sizeof *out);
    kg__batch_free(&batch);
    kg__sampler_close(&sampler);
    close_step_bench(&bench);
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
