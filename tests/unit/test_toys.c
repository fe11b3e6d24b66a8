/* An aggregator, a term and a loss are each one file (toys/) and one row of a table, and a setting
 * is one row (of a field that is there: all that is compiled has the struct). This program has such
 * a row more in each table; nothing else of the library knows. Each alone, then models that are
 * trained with them, written, opened, asked and explained. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/embedder.h"
#include "give_term.h"
#include "kgraft.h"
#include "model/model.h"
#include "step_bench.h"
#include "train/training_run.h"

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
    const real factor = 2;
    kg_embedder embedder;
    real z[DIM];
    params.terms[KG_TERM_EMBEDDING].values[0] = &factor;
    kg__embedder_open(&embedder, kg__aggregate_defaults(kg__aggregator_find("toy")), params);
    assert_ok(kg__embedder_load(&embedder, links, 2, NULL), NULL);
    kg__embedder_embed(&embedder, z, KG_NOTHING);
    assert_true(z[0] == 6 && z[1] == 8);
    kg__embedder_embed(&embedder, z, 0);
    assert_true(z[0] == 20 && z[1] == 24);
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
    kg_param about = {.name = "factor", .rows = 1, .columns = 1, .trained_rows = 1, .rate = 1};
    size_t factor = bench.list.count;
    assert_ok(kg__param_list_add(&bench.list, &about, (kg_param_start){.value = 1}, NULL), NULL);
    assert_ok(kg__param_list_open_optimizers(&bench.list, options.rates, 0, options.steps, NULL),
              NULL);
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
    parts.params.terms[KG_TERM_EMBEDDING] =
        (kg_term_view){.values = {bench.list.items[factor].values}, .param = factor};
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
    assert_true(bench.list.items[factor].values[0] < 1); /* the second score was too large */
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
    kg_param about = {.name = "toy", .rows = 1, .columns = 1, .trained_rows = 1, .rate = 1};
    size_t param = bench.list.count;
    assert_ok(kg__param_list_add(&bench.list, &about, (kg_param_start){.value = log(3)}, NULL),
              NULL);
    assert_ok(kg__param_list_open_optimizers(&bench.list, options.rates, 0, 1, NULL), NULL);
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
    give_term(&parts.params, kg__term_find("toy"), &parts, bench.list.items[param].values, param);
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
    assert_int_equal(kg__settings_complete(&settings).toy_patience, 5);
    assert_ok(kg__settings_set(&settings, toy, "7", &error), &error);
    assert_int_equal(kg__settings_complete(&settings).toy_patience, 7);
    assert_int_equal(kg__settings_complete(&settings).patience, 0);
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

/* ---- Models ---- */

/* Rings of 60, in which each likes the next and knows one further on. */
static char *write_ring(char *lines, size_t size) {
    size_t length = 0;
    for (int i = 0; i < 60; i++)
        length += (size_t)snprintf(lines + length, size - length, "e%d likes e%d\ne%d knows e%d\n",
                                   i, (i + 1) % 60, i, (i + 7) % 60);
    return lines;
}

struct given {
    const char *setting;
    const char *value;
};

/* Trains a model on the ring with these settings, which end with one without a name. */
static kg_status train(const struct given *given, kg_error *error) {
    char lines[8192];
    kg_settings settings = {0};
    kg_dataset dataset;
    kg_training_run_result result;
    const kg_train_watcher watcher = {0};
    for (; given->setting != NULL; given++)
        assert_ok(
            kg__settings_set(&settings, kg__setting_find(given->setting), given->value, error),
            error);
    kg_train_options options = kg__settings_complete(&settings);
    make_dataset(&dataset, write_ring(lines, sizeof lines));
    kg_training_run_options run = {.options = &options,
                                   .dataset = &dataset,
                                   .path = "model",
                                   .resume = true,
                                   .watcher = &watcher};
    kg_status status = kg__training_run(&result, &run, error);
    kg__dataset_close(&dataset);
    return status;
}

/* What is asked of a model: about an entity that is linked with e1 and e2. */
struct asked {
    kg_model *model;
    kg_workspace *workspace;
    kg_link links[2];
    kg_subject subject;
    kg_answer best;
    kg_share shares[2];
    kg_score_term terms[4];
    double parts[8];
    kg_explanation explanation;
};

static void open_asked(struct asked *a) {
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    kg_request request = KG_REQUEST_INIT;
    kg_error error = {0};
    size_t found = 0;
    *a = (struct asked){0};
    assert_ok(kg_model_open(&a->model, "model", &error), &error);
    assert_ok(kg_workspace_open(&a->workspace, a->model, &options, &error), &error);
    a->links[0] = (kg_link){0, kg_model_find_entity(a->model, (kg_text){"e1", 2})};
    a->links[1] = (kg_link){0, kg_model_find_entity(a->model, (kg_text){"e2", 2})};
    a->subject = (kg_subject){KG_NO_ID, a->links, 2};
    a->explanation = (kg_explanation){.size = sizeof a->explanation,
                                      .shares = a->shares,
                                      .share_capacity = COUNT_OF(a->shares),
                                      .terms = a->terms,
                                      .term_capacity = COUNT_OF(a->terms),
                                      .parts = a->parts,
                                      .part_capacity = COUNT_OF(a->parts)};
    request.subject = a->subject;
    request.relation = 1;
    request.tails = true;
    assert_ok(kg_workspace_predict(&a->best, &found, a->workspace, &request, 1, 1, &error), &error);
    assert_int_equal(found, 1);
}

static void close_asked(const struct asked *a) {
    kg_workspace_close(a->workspace);
    kg_model_close(a->model);
}

/* What the aggregator has learned is in the model; settings of others are not. An aggregate that is
 * no sum over facts cannot be explained by them. Batches have more blocks than other losses have
 * parts. */
static void test_trained_by_loss(void **state) {
    (void)state;
    static const struct given given[] = {
        {"preset", "paper"}, {"aggregate", "toy"},  {"loss", "toy"}, {"dim", "4"},
        {"epochs", "2"},     {"toy-patience", "1"}, {NULL, NULL}};
    struct asked asked;
    kg_error error = {0};
    assert_ok(train(given, &error), &error);
    open_asked(&asked);
    double factor = (double)asked.model->params.terms[KG_TERM_EMBEDDING].values[0][0];
    assert_true(isfinite(factor) && fabs(factor - 1) > 0.001);
    const json_t *settings = json_object_get(asked.model->config, "settings");
    assert_null(json_object_get(settings, "graft_power"));
    assert_null(json_object_get(settings, "graft_weights"));
    assert_status(kg_workspace_explain(&asked.explanation, asked.workspace, asked.subject,
                                       (kg_link){2, asked.best.entity}, &error),
                  KG_BAD_INPUT, &error);
    assert_error_text(&error,
                      "expected a model whose vectors are sums over facts, found toy, whose are "
                      "not");
    close_asked(&asked);
}

/* The term has learned its number; a score has it as a part, and the same sum whether it is
 * predicted or explained. */
static void test_trained_term(void **state) {
    (void)state;
    static const struct given given[] = {{"terms", "embedding+toy"},
                                         {"aggregate", "eravg"},
                                         {"dim", "4"},
                                         {"epochs", "2"},
                                         {NULL, NULL}};
    size_t number = kg__term_number(kg__term_find("toy"));
    struct asked asked;
    kg_error error = {0};
    assert_ok(train(given, &error), &error);
    open_asked(&asked);
    const json_t *settings = json_object_get(asked.model->config, "settings");
    const json_t *terms = json_object_get(settings, "terms");
    assert_int_equal(json_array_size(terms), 2);
    assert_string_equal(json_string_value(json_array_get(terms, 1)), "toy");
    double learned = (double)asked.model->params.terms[number].values[0][0];
    assert_true(learned > 0 && fabs(learned - log(3)) > 0.01);
    for (size_t i = 0; i < 2; i++) {
        kg_id answer = asked.links[i].other;
        kg_link target = {2, answer};
        assert_ok(kg_workspace_explain(&asked.explanation, asked.workspace, asked.subject, target,
                                       &error),
                  &error);
        assert_int_equal(asked.explanation.term_count, 3);
        assert_string_equal(asked.terms[2].name, "toy");
        assert_true(asked.terms[2].part == (answer % 2 == 0 ? learned : 0));
        assert_true(asked.terms[0].part + asked.terms[2].part == asked.explanation.score);
        if (asked.best.entity == answer)
            assert_true(fabs(asked.explanation.score - (double)asked.best.score) < 1e-5);
    }
    close_asked(&asked);
}

/* A loss of single candidates trains the embedding alone. */
static void test_refused_term(void **state) {
    (void)state;
    static const struct given given[] = {
        {"preset", "paper"}, {"terms", "embedding+toy"}, {"dim", "4"}, {NULL, NULL}};
    kg_error error = {0};
    assert_status(train(given, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error,
                      "`loss`: expected softmax for toy among `terms`, which cannot score single "
                      "candidates, found softplus (preset graft: softmax, preset paper: softplus)");
    assert_false(file_exists("model.training"));
}

/* A setting is in config.json, is read from there, and a run that has another value of it is not
 * resumed. */
static void test_trained_setting(void **state) {
    (void)state;
    struct given given[] = {
        {"preset", "paper"}, {"dim", "4"}, {"epochs", "1"}, {"toy-patience", "7"}, {NULL, NULL}};
    struct asked asked;
    kg_train_options found;
    kg_error error = {0};
    assert_ok(train(given, &error), &error);
    open_asked(&asked);
    assert_ok(kg__train_read(&found, asked.model->config, "model", &error), &error);
    assert_int_equal(found.toy_patience, 7);
    close_asked(&asked);
    given[3].value = "8";
    assert_status(train(given, &error), KG_BAD_INPUT, &error);
    assert_non_null(strstr(error.message, "toy_patience"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aggregator),    cmocka_unit_test(test_loss),
        cmocka_unit_test(test_term),          cmocka_unit_test(test_setting),
        cmocka_unit_test(test_choices),       test_in_folder(test_trained_by_loss),
        test_in_folder(test_trained_term),    test_in_folder(test_refused_term),
        test_in_folder(test_trained_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
