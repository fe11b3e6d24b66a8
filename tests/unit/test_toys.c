/* An aggregator, a term and a loss are each one file (toys/) and one row of a table, and a setting
 * is one row. This program has such a row more in each table; nothing else of the library knows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/embedder.h"
#include "kgraft.h"
#include "step_bench.h"
#include "train/settings.h"

#define DIM 2
#define ENTITIES 5
#define RELATIONS 2

/* Entity 0 is linked to 1 and 2 by one relation, to 3 and 4 by another. */
static const kg_triple facts[] = {{0, 0, 1}, {0, 0, 2}, {0, 1, 3}, {0, 1, 4}};

static void open_graph(kg_triples *list, kg_adjacency *graph) {
    *list = (kg_triples){0};
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        assert_ok(kg__triples_push(list, facts[i], NULL), NULL);
    assert_ok(kg__adjacency_make(graph, list, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL), NULL);
}

static step_bench_options make_options(const char *aggregate) {
    return (step_bench_options){
        .step = {.aggregate = {.aggregator = kg__aggregator_find(aggregate)}, .threads = 1},
        .scoring = kg__scoring_find("distmult"),
        .dim = DIM,
        .entity_rows = ENTITIES,
        .trained_entities = ENTITIES,
        .relation_rows = RELATIONS,
        .trained_relations = RELATIONS,
        .method = KG_ADAGRAD,
        .rates = {.first = 0.1, .last = 0.1},
        .steps = 100,
        .most_items = 64,
    };
}

static void fill(step_bench *bench) {
    for (size_t i = 0; i < ENTITIES * DIM; i++)
        bench_entities(bench)->values[i] = (real)0.1 * (real)(i + 1);
    for (size_t i = 0; i < RELATIONS * DIM; i++)
        bench_relations(bench)->values[i] = (real)(i + 1);
}

static void test_aggregator(void **state) {
    (void)state;
    real entities[] = {1, 2, 3, 4, 5, 6};
    real relations[] = {1, 1, 2, 2};
    const kg_link links[] = {{0, 1}, {2, 2}};
    kg_params params = {.scoring = kg__scoring_find("distmult"),
                        .entities = entities,
                        .relations = relations,
                        .dim = DIM};
    kg_embedder embedder;
    real z[DIM];
    kg__embedder_open(&embedder, kg__aggregate_usual(kg__aggregator_find("toy")), params);
    assert_ok(kg__embedder_load(&embedder, links, 2, NULL), NULL);
    kg__embedder_embed(&embedder, z, KG_NOTHING);
    assert_true(z[0] == 3 && z[1] == 4);
    kg__embedder_embed(&embedder, z, 0);
    assert_true(z[0] == 10 && z[1] == 12);
    kg__embedder_close(&embedder);
}

/* The loss of a step is known, and steps make it less, through the aggregator, too. */
static void test_loss(void **state) {
    (void)state;
    static const step_item items[] = {{{0, 0, 1}, 1, UNSEEN_NONE}, {{0, 1, 3}, 1, UNSEEN_HEAD}};
    kg_triples list;
    kg_adjacency graph;
    step_bench bench;
    step_bench_options options = make_options("toy");
    open_graph(&list, &graph);
    open_bench_params(&bench, &options);
    assert_ok(kg__params_open_optimizers(&bench.list, options.rates, 0, options.steps, NULL), NULL);
    fill(&bench);
    options.step.loss = NULL;
    for (size_t i = 0; kg__losses[i] != NULL; i++)
        if (strcmp(kg__losses[i]->name, "toy") == 0)
            options.step.loss = kg__losses[i];
    assert_non_null(options.step.loss);
    kg_step_parts parts = {.list = &bench.list,
                           .params = {.scoring = options.scoring,
                                      .entities = bench_entities(&bench)->values,
                                      .relations = bench_relations(&bench)->values,
                                      .dim = DIM},
                           .graph = &graph,
                           .most_queries = 64};
    assert_ok(kg__step_open(&bench.step, &options.step, &parts, NULL), NULL);
    /* 0.1 1 0.3 + 0.2 2 0.4, by rows; q(0, 1) = (0.3, 0.8) in place of entity 0: 0.3 3 0.7 + 0.8 4
     * 0.8. */
    double expected = (0.19 - 1) * (0.19 - 1) + (3.19 - 1) * (3.19 - 1);
    double loss = 0;
    double last = 0;
    for (uint64_t step = 1; step <= 20; step++) {
        take_item_step(&bench, items, COUNT_OF(items), step, &last);
        loss = step == 1 ? last : loss;
    }
    assert_true(fabs(loss - expected) < 1e-5);
    assert_true(last < expected / 2);
    close_step_bench(&bench);
    kg__adjacency_free(&graph);
    kg__triples_free(&list);
}

/* Where all parameters are 0, only the toy tells candidates apart: of the queries for 1 and 3 the
 * candidates are the answer, one with an odd and one with an even id; of those for 2 and 4 the
 * answer's is even. */
static void test_term(void **state) {
    (void)state;
    kg_triples list;
    kg_adjacency graph;
    step_bench bench;
    step_bench_options options = make_options("eravg");
    kg_sampler sampler;
    kg_batch batch = {0};
    double loss = 0;
    open_graph(&list, &graph);
    open_bench_params(&bench, &options);
    assert_ok(kg__params_open_optimizers(&bench.list, options.rates, 0, 1, NULL), NULL);
    kg_sampler_options sampling = {.facts = &list, .graph = &graph, .size = 64, .psi = 1};
    assert_ok(kg__entity_sampler_open(&sampler, &sampling, NULL), NULL);
    assert_ok(kg__sampler_fill(&sampler, &batch, 0, 0, NULL), NULL);
    options.step.loss = &kg__loss_softmax;
    options.step.psi = 1;
    options.step.negatives = ENTITIES;
    kg_step_parts parts = {.list = &bench.list,
                           .params = {.scoring = options.scoring,
                                      .entities = bench_entities(&bench)->values,
                                      .relations = bench_relations(&bench)->values,
                                      .dim = DIM},
                           .graph = &graph,
                           .most_queries = sampler.most_queries};
    assert_ok(kg__step_open(&bench.step, &options.step, &parts, NULL), NULL);
    assert_ok(kg__step_take(bench.step, &batch, 1, &loss, NULL), NULL);
    assert_true(fabs(loss - (2 * log(5) + 2 * log(7.0 / 3))) < 1e-5);
    kg__batch_free(&batch);
    kg__sampler_close(&sampler);
    close_step_bench(&bench);
    kg__adjacency_free(&graph);
    kg__triples_free(&list);
}

static void test_setting(void **state) {
    (void)state;
    const kg_setting *toy = kg__setting_find("toy-patience");
    kg_settings settings = {0};
    kg_error error = {0};
    assert_non_null(toy);
    assert_ok(kg__settings_set(&settings, toy, "7", &error), &error);
    assert_int_equal(kg__settings_complete(&settings).patience, 7);
    assert_status(kg__settings_set(&settings, toy, "few", &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "`toy_patience`: expected a whole number, 0 or more, found 'few'");
}

/* The tables are what settings choose from. */
static void test_choices(void **state) {
    (void)state;
    kg_settings settings = {0};
    kg_error error = {0};
    assert_ok(kg__settings_set(&settings, kg__setting_find("aggregate"), "toy", &error), &error);
    assert_ok(kg__settings_set(&settings, kg__setting_find("loss"), "toy", &error), &error);
    kg_train_options options = kg__settings_complete(&settings);
    assert_string_equal(options.aggregate.aggregator->name, "toy");
    assert_string_equal(options.loss->name, "toy");
}

/* A ring, in which each likes the next. */
static void write_ring(void) {
    char lines[4096] = "";
    size_t length = 0;
    for (int i = 0; i < 30; i++)
        length += (size_t)snprintf(lines + length, sizeof lines - length, "e%d\tlikes\te%d\n", i,
                                   (i + 1) % 30);
    write_file("g.tsv", text_of(lines));
}

/* An aggregate that is no sum over facts cannot be explained by them. */
static void test_unexplained(void **state) {
    (void)state;
    kg_training_options training = KG_TRAINING_OPTIONS_INIT;
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    kg_explanation explanation = KG_EXPLANATION_INIT;
    kg_model *model = NULL;
    kg_workspace *workspace = NULL;
    kg_error error = {0};
    const kg_link link = {0, 1};
    kg_share shares[1];
    kg_score_term terms[2];
    write_ring();
    assert_ok(kg_training_options_init(&training, "paper", NULL, &error), &error);
    training.aggregate = "toy";
    training.dim = 4;
    training.epochs = 1;
    assert_ok(kg_model_train("model", "g.tsv", &training, &error), &error);
    assert_ok(kg_model_open(&model, "model", &error), &error);
    assert_ok(kg_workspace_open(&workspace, model, &options, &error), &error);
    explanation.shares = shares;
    explanation.share_capacity = COUNT_OF(shares);
    explanation.terms = terms;
    explanation.term_capacity = COUNT_OF(terms);
    assert_status(kg_workspace_explain(&explanation, workspace, (kg_subject){KG_NO_ID, &link, 1},
                                       (kg_link){0, 2}, &error),
                  KG_BAD_INPUT, &error);
    assert_error_text(&error,
                      "expected a model whose vectors are sums over facts, found toy, whose are "
                      "not");
    kg_workspace_close(workspace);
    kg_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aggregator), cmocka_unit_test(test_loss),
        cmocka_unit_test(test_term),       cmocka_unit_test(test_setting),
        cmocka_unit_test(test_choices),    test_in_folder(test_unexplained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
