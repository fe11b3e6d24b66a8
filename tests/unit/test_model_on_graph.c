/* A trained model on a graph that it never saw, by the public interface: its names and facts are
 * the graph's, and answers rank as kg_model_evaluate counts them. */
#include "people_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PEOPLE 20

/* ---- Two graphs of the same kind ---- */

static kg_model *model;

static int set_up(void **state) {
    if (enter_temporary_folder(state) != 0 || mkdir("data", 0777) != 0)
        return -1;
    write_people_data(PEOPLE, 2);
    kg_error error = {0};
    kg_training_options training = KG_TRAINING_OPTIONS_INIT;
    assert_ok(kg_training_options_init(&training, NULL, NULL, &error), &error);
    assert_ok(kg_model_train("model", "data", &training, &error), &error);
    assert_ok(kg_model_open(&model, "model", &error), &error);
    return 0;
}

static int tear_down(void **state) {
    kg_model_close(model);
    return leave_temporary_folder(state);
}

static kg_text text_at(const char *name) {
    return (kg_text){name, strlen(name)};
}

static kg_model *open_on(const char *graph) {
    kg_error error = {0};
    kg_model *out = NULL;
    const kg_graph_options options = KG_GRAPH_OPTIONS_INIT;
    assert_ok(kg_model_open_on_graph(&out, NULL, model, graph, &options, &error), &error);
    return out;
}

/* ---- Tests ---- */

static void test_names_and_facts(void **state) {
    (void)state;
    kg_model_info info = KG_MODEL_INFO_INIT;
    kg_model *moved = open_on("data");
    assert_ok(kg_model_describe(&info, moved, NULL), NULL);
    assert_int_equal(info.entities, PEOPLE);
    assert_int_equal(info.relations, 2);
    assert_int_equal(info.dim, 0);
    assert_true(info.has_facts && info.is_calibrated);
    assert_int_equal(kg_model_find_entity(moved, text_at("t1")), KG_NO_ID);
    kg_id entity = kg_model_find_entity(moved, text_at("n10"));
    assert_true(entity != KG_NO_ID);
    for (kg_id i = 0; i < 2; i++) {
        kg_text own = kg_model_relation_name(model, i);
        kg_text name = kg_model_relation_name(moved, i);
        assert_int_equal(own.length, name.length);
        assert_memory_equal(own.bytes, name.bytes, name.length);
    }
    const kg_link *links = NULL;
    size_t count = 0;
    assert_ok(kg_model_links(&links, &count, moved, entity, NULL), NULL);
    assert_int_equal(count, 4);
    /* Those that are only asked for are entities, too. */
    entity = kg_model_find_entity(moved, text_at("n2"));
    assert_ok(kg_model_links(&links, &count, moved, entity, NULL), NULL);
    assert_int_equal(count, 0);
    kg_model_close(moved);
}

static void test_evaluation(void **state) {
    (void)state;
    kg_metrics test = KG_METRICS_INIT;
    kg_metrics valid = KG_METRICS_INIT;
    kg_evaluation_options options = KG_EVALUATION_OPTIONS_INIT;
    kg_error error = {0};
    assert_ok(kg_model_evaluate(&test, model, "data", &options, &error), &error);
    assert_int_equal(test.queries, 8);
    options.valid = true;
    assert_ok(kg_model_evaluate(&valid, model, "data", &options, &error), &error);
    assert_int_equal(valid.queries, 8);
    options.in_sample = true;
    assert_status(kg_model_evaluate(&valid, model, "data", &options, &error), KG_BAD_INPUT, NULL);
    assert_non_null(strstr(error.message, "facts in valid"));
}

/* The rank among all answers: in each relation, everyone has one. */
static double rank_of(kg_workspace *workspace, kg_id entity, kg_directed asked, kg_id answer) {
    kg_request request = KG_REQUEST_INIT;
    kg_answer answers[PEOPLE];
    size_t found = 0;
    kg_error error = {0};
    request.subject.entity = entity;
    request.relation = asked / 2;
    request.tails = kg_directed_end(asked) == KG_HEAD;
    request.heads = !request.tails;
    request.keep_known = true;
    assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, PEOPLE, &error),
              &error);
    assert_int_equal(found, PEOPLE);
    double score = NAN;
    double rank = 0.5;
    for (size_t i = 0; i < found; i++)
        score = answers[i].entity == answer ? (double)answers[i].score : score;
    for (size_t i = 0; i < found; i++) {
        double other = (double)answers[i].score;
        rank += other > score ? 1 : other == score ? 0.5 : 0;
    }
    return rank;
}

/* Both queries of the four facts of the test. */
static void test_ranks(void **state) {
    (void)state;
    kg_metrics metrics = KG_METRICS_INIT;
    kg_evaluation_options evaluation = KG_EVALUATION_OPTIONS_INIT;
    kg_workspace_options working = KG_WORKSPACE_OPTIONS_INIT;
    kg_workspace *workspace = NULL;
    kg_error error = {0};
    kg_model *moved = open_on("data");
    kg_id likes = kg_model_find_relation(moved, text_at("likes"));
    kg_id ids[PEOPLE];
    for (int i = 0; i < PEOPLE; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        ids[i] = kg_model_find_entity(moved, text_at(name));
    }
    assert_ok(kg_workspace_open(&workspace, moved, &working, &error), &error);
    assert_true(kg_workspace_is_calibrated(workspace));
    double sum = 0;
    for (int i = 2; i < 4; i++) {
        kg_directed liked = kg_direct(likes, KG_HEAD);
        kg_directed follows = kg_direct(1 - likes, KG_HEAD);
        sum += 1 / rank_of(workspace, ids[i], liked, ids[i + 1]);
        sum += 1 / rank_of(workspace, ids[i + 1], liked ^ 1, ids[i]);
        sum += 1 / rank_of(workspace, ids[i + 2], follows, ids[i]);
        sum += 1 / rank_of(workspace, ids[i], follows ^ 1, ids[i + 2]);
    }
    kg_workspace_close(workspace);
    kg_model_close(moved);
    assert_ok(kg_model_evaluate(&metrics, model, "data", &evaluation, &error), &error);
    assert_true(fabs(metrics.mrr - sum / 8) < 1e-12);
}

/* What is predicted of an entity without facts is explained as well, by no fact. */
static void test_without_facts(void **state) {
    (void)state;
    kg_workspace_options working = KG_WORKSPACE_OPTIONS_INIT;
    kg_workspace *workspace = NULL;
    kg_request request = KG_REQUEST_INIT;
    kg_answer answers[PEOPLE];
    kg_score_term terms[3];
    kg_explanation why = KG_EXPLANATION_INIT;
    size_t found = 0;
    kg_error error = {0};
    kg_model *moved = open_on("data");
    request.subject.entity = kg_model_find_entity(moved, text_at("n2"));
    request.relation = 0;
    request.tails = true;
    why.terms = terms;
    why.term_capacity = COUNT_OF(terms);
    assert_ok(kg_workspace_open(&workspace, moved, &working, &error), &error);
    assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, PEOPLE, &error),
              &error);
    assert_int_equal(found, PEOPLE - 1); /* but itself */
    for (size_t i = 0; i < found; i++) {
        double rank = 0.5;
        for (size_t k = 0; k < found; k++)
            rank += answers[k].score > answers[i].score    ? 1
                    : answers[k].score == answers[i].score ? 0.5
                                                           : 0;
        kg_link target = {answers[i].directed, answers[i].entity};
        assert_ok(kg_workspace_explain(&why, workspace, request.subject, target, &error), &error);
        assert_int_equal(why.share_count, 0);
        assert_true(fabs(why.score - (double)answers[i].score) < 1e-6);
        assert_true(why.rank == rank);
        double rests = 0;
        for (size_t k = 0; k < why.term_count; k++)
            rests += terms[k].rest;
        assert_true(why.score == rests);
    }
    kg_workspace_close(workspace);
    kg_model_close(moved);
}

/* Facts of a further entity, linked to the graph. */
static void test_new_entities(void **state) {
    (void)state;
    kg_new_entities_options options = KG_NEW_ENTITIES_OPTIONS_INIT;
    kg_workspace_options working = KG_WORKSPACE_OPTIONS_INIT;
    kg_new_entities *entities = NULL;
    kg_workspace *workspace = NULL;
    kg_request request = KG_REQUEST_INIT;
    kg_answer answers[PEOPLE];
    size_t found = 0;
    kg_error error = {0};
    kg_model *moved = open_on("data/inference.txt");
    assert_ok(kg_new_entities_open(&entities, moved, &options, &error), &error);
    assert_ok(kg_new_entities_add(entities, text_at("late"), text_at("likes"), text_at("n8"), NULL),
              NULL);
    assert_ok(kg_new_entities_finish(NULL, entities, &error), &error);
    assert_ok(kg_workspace_open(&workspace, moved, &working, &error), &error);
    request.subject.links = kg_new_entities_links(&request.subject.count, entities, 0);
    request.heads = request.tails = true;
    assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, PEOPLE, &error),
              &error);
    assert_int_equal(found, PEOPLE);
    for (size_t i = 0; i < found; i++)
        assert_true(answers[i].probability >= 0 && answers[i].probability <= 1);
    kg_workspace_close(workspace);
    kg_new_entities_close(entities);
    kg_model_close(moved);
}

static void test_left_out(void **state) {
    (void)state;
    kg_graph_options options = KG_GRAPH_OPTIONS_INIT;
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    kg_model *moved = NULL;
    kg_error error = {0};
    write_file("g.tsv", TEXT("a\tlikes\tb\nb\tliked\tc\na\tlikes\tb\nb\tlikes\tb\n"));
    assert_status(kg_model_open_on_graph(&moved, &left, model, "g.tsv", &options, &error),
                  KG_BAD_INPUT, NULL);
    assert_null(moved);
    assert_string_equal(error.source, "g.tsv");
    assert_non_null(strstr(error.message, "; for 'liked', did you mean 'likes'"));
    assert_status(kg_model_open_on_graph(&moved, NULL, model, "g.tsv", &options, NULL),
                  KG_BAD_INPUT, NULL);
    options.skip_unknown = true;
    assert_ok(kg_model_open_on_graph(&moved, &left, model, "g.tsv", &options, &error), &error);
    assert_int_equal(left.unknown, 1);
    assert_int_equal(left.repeated, 1);
    assert_int_equal(left.literals, 0);
    assert_int_equal(kg_model_find_entity(moved, text_at("c")), KG_NO_ID);
    const kg_link *links = NULL;
    size_t count = 0;
    kg_id b = kg_model_find_entity(moved, text_at("b"));
    assert_ok(kg_model_links(&links, &count, moved, b, NULL), NULL);
    assert_int_equal(count, 3); /* those of the fact with itself among them */
    kg_model_close(moved);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_facts), cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_ranks),           cmocka_unit_test(test_new_entities),
        cmocka_unit_test(test_left_out),        cmocka_unit_test(test_without_facts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
