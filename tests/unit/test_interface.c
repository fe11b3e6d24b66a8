/* The public interface, with arguments that nobody should pass: each NULL, each number that is
 * none, ids that are not there. Nothing crashes; what can fail says which argument is wrong, and
 * what cannot gives something empty. */
#include "interface_world.h"

#include <math.h>
#include <string.h>

static void test_errors(void **state) {
    (void)state;
    char out[4] = "???";
    kg_error error = {.message = "message"};
    assert_null(kg_error_text(NULL, 10, &error));
    assert_ptr_equal(kg_error_text(out, 0, &error), out);
    assert_string_equal(out, "???");
    assert_string_equal(kg_error_text(out, sizeof out, &error), "mes");
    assert_string_equal(kg_error_text(out, sizeof out, NULL), "");
    assert_int_equal(kg_links_sort(NULL, 0), 0);
    assert_int_equal(kg_links_sort(NULL, 3), 0);
}

static void test_models(void **state) {
    (void)state;
    kg_model *other = NULL;
    const kg_link *links = NULL;
    size_t count = 7;
    REFUSED("out: expected one, found NULL", kg_model_open(NULL, "model", error));
    REFUSED("path: expected one, found NULL", kg_model_open(&other, NULL, error));
    kg_model_close(NULL);
    kg_model_info info = KG_MODEL_INFO_INIT;
    REFUSED("out: expected", kg_model_describe(NULL, model, error));
    REFUSED("model: expected", kg_model_describe(&info, NULL, error));
    assert_int_equal(kg_model_find_entity(NULL, e1), KG_NO_ID);
    assert_int_equal(kg_model_find_entity(model, (kg_text){NULL, 0}), KG_NO_ID);
    assert_int_equal(kg_model_find_entity(model, (kg_text){NULL, 3}), KG_NO_ID);
    assert_int_equal(kg_model_find_relation(NULL, likes), KG_NO_ID);
    assert_int_equal(kg_model_find_relation(model, (kg_text){NULL, 3}), KG_NO_ID);
    assert_int_equal(kg_model_entity_name(NULL, 0).length, 0);
    assert_int_equal(kg_model_entity_name(model, 30).length, 0);
    assert_int_equal(kg_model_entity_name(model, KG_NO_ID).length, 0);
    assert_int_equal(kg_model_relation_name(model, 1).length, 0);
    assert_null(kg_model_entity_vectors(NULL));
    assert_null(kg_model_relation_vectors(NULL));
    REFUSED("model: expected", kg_model_links(&links, &count, NULL, 0, error));
    REFUSED("out: expected", kg_model_links(NULL, &count, model, 0, error));
    REFUSED("count: expected", kg_model_links(&links, NULL, model, 0, error));
    assert_ok(kg_model_links(&links, &count, model, KG_NO_ID, NULL), NULL);
    assert_int_equal(count, 0);
}

static void test_newcomers(void **state) {
    (void)state;
    kg_new_entities *new_entities = NULL;
    kg_new_entities_options options = KG_NEW_ENTITIES_OPTIONS_INIT;
    size_t count = 7;
    REFUSED("out: expected", kg_new_entities_open(NULL, model, &options, error));
    REFUSED("model: expected", kg_new_entities_open(&new_entities, NULL, &options, error));
    REFUSED("options: expected", kg_new_entities_open(&new_entities, model, NULL, error));
    assert_ok(kg_new_entities_open(&new_entities, model, &options, NULL), NULL);
    REFUSED("entities: expected", kg_new_entities_add(NULL, rex, likes, e1, error));
    REFUSED("expected a name",
            kg_new_entities_add(new_entities, (kg_text){NULL, 3}, likes, e1, error));
    REFUSED("expected a name",
            kg_new_entities_add(new_entities, rex, (kg_text){NULL, 0}, e1, error));
    REFUSED("entities: expected", kg_new_entities_read(NULL, "g.tsv", error));
    REFUSED("path: expected", kg_new_entities_read(new_entities, NULL, error));
    REFUSED("entities: expected", kg_new_entities_finish(NULL, NULL, error));
    assert_null(kg_new_entities_links(&count, new_entities, 0)); /* not finished */
    assert_int_equal(count, 0);
    assert_ok(kg_new_entities_add(new_entities, rex, likes, e1, NULL), NULL);
    assert_ok(kg_new_entities_finish(NULL, new_entities, NULL), NULL);
    assert_int_equal(kg_new_entities_count(NULL), 0);
    assert_int_equal(kg_new_entities_name(new_entities, 1).length, 0);
    assert_int_equal(kg_new_entities_name(NULL, 0).length, 0);
    assert_null(kg_new_entities_links(&count, new_entities, 1));
    assert_non_null(kg_new_entities_links(NULL, new_entities, 0));
    assert_int_equal(kg_new_entities_find(new_entities, (kg_text){NULL, 3}), 1);
    assert_int_equal(kg_new_entities_find(NULL, rex), 0);
    kg_new_entities_close(new_entities);
    kg_new_entities_close(NULL);
}

static void test_workspaces(void **state) {
    (void)state;
    kg_workspace *other = NULL;
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    REFUSED("out: expected", kg_workspace_open(NULL, model, &options, error));
    REFUSED("model: expected", kg_workspace_open(&other, NULL, &options, error));
    REFUSED("options: expected", kg_workspace_open(&other, model, NULL, error));
    double *const numbers[] = {&options.ls_lambda, &options.ials_alpha, &options.ials_lambda};
    const char *const names[] = {"`ls_lambda`", "`ials_alpha`", "`ials_lambda`"};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        *numbers[i] = (double)NAN;
        REFUSED(names[i], kg_workspace_open(&other, model, &options, error));
        *numbers[i] = -1;
        REFUSED("", kg_workspace_open(&other, model, &options, error));
        *numbers[i] = (double)INFINITY;
        REFUSED("", kg_workspace_open(&other, model, &options, error));
        *numbers[i] = 0;
    }
    options.threads = 0;
    REFUSED("`threads`: expected", kg_workspace_open(&other, model, &options, error));
    options.threads = 1;
    options.answers = SIZE_MAX;
    assert_status(kg_workspace_open(&other, model, &options, NULL), KG_NO_MEMORY, NULL);
    options.answers = 0;
    options.facts = SIZE_MAX;
    assert_status(kg_workspace_open(&other, model, &options, NULL), KG_NO_MEMORY, NULL);
    options.facts = 0;
    assert_ok(kg_workspace_open(&other, model, &options, NULL), NULL);
    kg_workspace_close(other);
    kg_workspace_close(NULL);
    assert_false(kg_workspace_is_calibrated(NULL));
}

static void test_queries(void **state) {
    (void)state;
    static const kg_link link = {0, 1};
    kg_subject subject = {KG_NO_ID, &link, 1};
    static const kg_subject wrong[] = {{KG_NO_ID, NULL, 0}, {KG_NO_ID, NULL, 3}, {30, NULL, 0}};
    kg_request request = {.size = sizeof request, .subject = subject, .tails = true};
    kg_answer answers[2];
    size_t found = 0;
    float vector[4];
    kg_share shares[1];
    kg_score_term terms[2];
    kg_explanation explanation = {.size = sizeof explanation,
                                  .shares = shares,
                                  .share_capacity = 1,
                                  .terms = terms,
                                  .term_capacity = 2};
    kg_link asked = {0, 2};
    REFUSED("workspace: expected", kg_workspace_embed(vector, NULL, subject, KG_NO_QUERY, error));
    REFUSED("out: expected", kg_workspace_embed(NULL, workspace, subject, KG_NO_QUERY, error));
    REFUSED("workspace: expected",
            kg_workspace_predict(answers, &found, NULL, &request, 1, 2, error));
    REFUSED("out: expected", kg_workspace_predict(NULL, &found, workspace, &request, 1, 2, error));
    REFUSED("found: expected",
            kg_workspace_predict(answers, NULL, workspace, &request, 1, 2, error));
    REFUSED("requests: expected",
            kg_workspace_predict(answers, &found, workspace, NULL, 1, 2, error));
    REFUSED("expected at least one",
            kg_workspace_predict(answers, &found, workspace, &request, 1, 0, error));
    assert_ok(kg_workspace_predict(NULL, NULL, workspace, NULL, 0, 2, NULL),
              NULL); /* nothing is asked */
    REFUSED("workspace: expected",
            kg_workspace_neighbors(answers, &found, NULL, subject, 2, error));
    REFUSED("out: expected", kg_workspace_neighbors(NULL, &found, workspace, subject, 2, error));
    REFUSED("found: expected", kg_workspace_neighbors(answers, NULL, workspace, subject, 2, error));
    REFUSED("out: expected", kg_workspace_explain(NULL, workspace, subject, asked, error));
    REFUSED("workspace: expected", kg_workspace_explain(&explanation, NULL, subject, asked, error));
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        request.subject = wrong[i];
        REFUSED("", kg_workspace_embed(vector, workspace, wrong[i], KG_NO_QUERY, error));
        REFUSED("", kg_workspace_predict(answers, &found, workspace, &request, 1, 2, error));
        REFUSED("", kg_workspace_neighbors(answers, &found, workspace, wrong[i], 2, error));
        REFUSED("", kg_workspace_explain(&explanation, workspace, wrong[i], asked, error));
    }
    REFUSED("", kg_workspace_embed(vector, workspace, subject, 2, error));
    REFUSED("", kg_workspace_explain(&explanation, workspace, subject, (kg_link){2, 2}, error));
    REFUSED("", kg_workspace_explain(&explanation, workspace, subject, (kg_link){0, 30}, error));
}

/* An array that is too short, or not there. Parts and reasons need not be. */
static void test_explanations(void **state) {
    (void)state;
    static const kg_link link = {0, 1};
    kg_subject subject = {KG_NO_ID, &link, 1};
    kg_link asked = {0, 2};
    kg_share shares[1];
    kg_score_term terms[2];
    double parts[2];
    const kg_explanation good = {.size = sizeof good,
                                 .shares = shares,
                                 .share_capacity = 1,
                                 .terms = terms,
                                 .term_capacity = 2};
    kg_explanation out = good;
    out.shares = NULL;
    REFUSED("shares: expected an array of 1, found 0",
            kg_workspace_explain(&out, workspace, subject, asked, error));
    out = good;
    out.term_capacity = 1;
    REFUSED("terms: expected an array of 2, found 1",
            kg_workspace_explain(&out, workspace, subject, asked, error));
    out = good;
    out.parts = parts;
    REFUSED("parts: expected an array of 2, found 0",
            kg_workspace_explain(&out, workspace, subject, asked, error));
    out = good;
    assert_ok(kg_workspace_explain(&out, workspace, subject, asked, NULL), NULL);
    assert_true(out.share_count == 1 && out.term_count == 2 && out.reason_count == 0);
    assert_null(shares[0].parts);
    assert_string_equal(terms[0].name, "embedding");
    assert_string_equal(terms[1].name, "echo");
    out.parts = parts;
    out.part_capacity = 2;
    assert_ok(kg_workspace_explain(&out, workspace, subject, asked, NULL), NULL);
    assert_ptr_equal(shares[0].parts, parts);
    assert_true(parts[0] == terms[0].part && parts[0] == out.score && parts[1] == 0);
}

static void test_training(void **state) {
    (void)state;
    const kg_training_options defaults = usual(NULL, NULL);
    kg_training_options training = defaults;
    REFUSED("path: expected", kg_model_train(NULL, "g.tsv", &training, error));
    REFUSED("expected the path of a model", kg_model_train("", "g.tsv", &training, error));
    REFUSED("dataset: expected", kg_model_train("m", NULL, &training, error));
    REFUSED("options: expected", kg_model_train("m", "g.tsv", NULL, error));
    const char **const words[] = {&training.model, &training.aggregate, &training.optimizer};
    const char *const names[] = {"`model`: ", "`aggregate`: ", "`optimizer`: "};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        training = defaults;
        *words[i] = NULL;
        REFUSED(names[i], kg_model_train("m", "g.tsv", &training, error));
    }
    double *const numbers[] = {&training.psi, &training.lr, &training.l2, &training.dropout,
                               &training.hold_out};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        training = defaults;
        *numbers[i] = (double)NAN;
        REFUSED("", kg_model_train("m", "g.tsv", &training, error));
        *numbers[i] = (double)INFINITY;
        REFUSED("", kg_model_train("m", "g.tsv", &training, error));
    }
    uint64_t *const counts[] = {&training.dim, &training.batch, &training.negatives,
                                &training.threads};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        training = defaults;
        *counts[i] = 0;
        REFUSED("", kg_model_train("m", "g.tsv", &training, error));
    }
    memset(&training, 0, sizeof training);
    REFUSED("options: expected `size`", kg_model_train("m", "g.tsv", &training, error));
    training.size = sizeof training;
    REFUSED("`model`: ", kg_model_train("m", "g.tsv", &training, error));
    assert_false(file_exists("m"));
}

static void test_evaluation(void **state) {
    (void)state;
    kg_metrics metrics = KG_METRICS_INIT;
    kg_evaluation_options evaluation = KG_EVALUATION_OPTIONS_INIT;
    REFUSED("out: expected", kg_model_evaluate(NULL, model, "g.tsv", &evaluation, error));
    REFUSED("model: expected", kg_model_evaluate(&metrics, NULL, "g.tsv", &evaluation, error));
    REFUSED("dataset: expected", kg_model_evaluate(&metrics, model, NULL, &evaluation, error));
    REFUSED("options: expected", kg_model_evaluate(&metrics, model, "g.tsv", NULL, error));
    evaluation.ls_lambda = (double)NAN;
    REFUSED("`ls_lambda`: expected",
            kg_model_evaluate(&metrics, model, "g.tsv", &evaluation, error));
    evaluation.ls_lambda = 0;
    evaluation.threads = 0;
    REFUSED("`threads`: expected", kg_model_evaluate(&metrics, model, "g.tsv", &evaluation, error));
}

static void test_graphs(void **state) {
    (void)state;
    kg_model *moved = NULL;
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    kg_graph_options options = KG_GRAPH_OPTIONS_INIT;
    REFUSED("out: expected", kg_model_open_on_graph(NULL, &left, model, "g.tsv", &options, error));
    REFUSED("model: expected",
            kg_model_open_on_graph(&moved, &left, NULL, "g.tsv", &options, error));
    REFUSED("graph: expected", kg_model_open_on_graph(&moved, &left, model, NULL, &options, error));
    REFUSED("options: expected",
            kg_model_open_on_graph(&moved, &left, model, "g.tsv", NULL, error));
    REFUSED("expected a model with a term that needs no vectors of entities",
            kg_model_open_on_graph(&moved, NULL, model, "g.tsv", &options, error));
    left.size = 0;
    REFUSED("left: expected `size`",
            kg_model_open_on_graph(&moved, &left, model, "g.tsv", &options, error));
    assert_null(moved);
}

static void test_live(void **state) {
    (void)state;
    kg_live *live = NULL;
    kg_model *snapshot = NULL;
    kg_changes *changes = NULL;
    kg_live_options options = KG_LIVE_OPTIONS_INIT;
    kg_commit counts = KG_COMMIT_INIT;
    kg_text nothing = {NULL, 0};
    REFUSED("out: expected", kg_live_open(NULL, model, &options, error));
    REFUSED("model: expected", kg_live_open(&live, NULL, &options, error));
    REFUSED("options: expected", kg_live_open(&live, model, NULL, error));
    assert_null(live);
    assert_ok(kg_live_open(&live, model, &options, NULL), NULL);
    REFUSED("out: expected", kg_live_snapshot(NULL, live, error));
    REFUSED("live: expected", kg_live_snapshot(&snapshot, NULL, error));
    REFUSED("out: expected", kg_changes_open(NULL, live, error));
    REFUSED("live: expected", kg_changes_open(&changes, NULL, error));
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    REFUSED("changes: expected", kg_changes_add(NULL, rex, likes, e1, error));
    REFUSED("head.bytes: expected", kg_changes_add(changes, nothing, likes, e1, error));
    REFUSED("relation.bytes: expected", kg_changes_add(changes, rex, nothing, e1, error));
    REFUSED("tail.bytes: expected", kg_changes_remove(changes, rex, likes, nothing, error));
    REFUSED("changes: expected", kg_changes_commit(&counts, NULL, error));
    counts.size = 0;
    REFUSED("out: expected `size`", kg_changes_commit(&counts, changes, error));
    assert_ok(kg_changes_add(changes, rex, likes, e1, NULL), NULL);
    assert_ok(kg_changes_commit(NULL, changes, NULL), NULL);
    assert_ok(kg_live_snapshot(&snapshot, live, NULL), NULL);
    REFUSED("workspace: expected", kg_workspace_move(NULL, snapshot, error));
    kg_model_info info = KG_MODEL_INFO_INIT;
    assert_ok(kg_model_describe(&info, snapshot, NULL), NULL);
    assert_int_equal(info.entities, info.entity_rows + 1);
    kg_model_close(snapshot);
    kg_changes_close(changes);
    kg_changes_close(NULL);
    kg_live_close(live);
    kg_live_close(NULL);
}

static void test_check(void **state) {
    (void)state;
    REFUSED("path: expected", kg_files_check(NULL, NULL, NULL, NULL, error));
    assert_ok(kg_files_check("model", NULL, NULL, NULL, NULL), NULL);
}

/* A callback that is not there is none. */
static void test_progress(void **state) {
    (void)state;
    kg_progress progress = {0};
    kg_training_options training = usual("paper", "distmult");
    kg_error error = {0};
    training.dim = 4;
    training.epochs = 1;
    training.progress = &progress;
    assert_ok(kg_model_train("other", "g.tsv", &training, &error), &error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),     cmocka_unit_test(test_models),
        cmocka_unit_test(test_newcomers),  cmocka_unit_test(test_workspaces),
        cmocka_unit_test(test_queries),    cmocka_unit_test(test_training),
        cmocka_unit_test(test_evaluation), cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_live),       cmocka_unit_test(test_progress),
        cmocka_unit_test(test_check),      cmocka_unit_test(test_explanations),
    };
    return cmocka_run_group_tests(tests, open_interface_world, close_interface_world);
}
