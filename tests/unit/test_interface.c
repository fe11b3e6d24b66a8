/* The public interface, with arguments that nobody should pass: each NULL, each number that is
 * none, ids that are not there. Nothing crashes; what can fail says which argument is wrong, and
 * what cannot gives something empty. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kgraft.h"

static kg_model *model;
static kg_workspace *workspace;

static const kg_text rex = {"rex", 3}, likes = {"likes", 5}, e1 = {"e1", 2};

/* A ring of friends, and a model of it. */
static int set_up(void **state) {
    if (enter_temporary_folder(state) != 0)
        return -1;
    FILE *file = fopen("g.tsv", "w");
    for (int i = 0; i < 30; i++)
        fprintf(file, "e%d\tlikes\te%d\n", i, (i + 1) % 30);
    fclose(file);
    kg_error error = {0};
    kg_training training = kg_training_defaults("paper", "distmult");
    training.dim = 4;
    training.epochs = 1;
    assert_ok(kg_train("model", "g.tsv", &training, &error), &error);
    kg_workspace_options options = KG_WORKSPACE_DEFAULTS;
    assert_ok(kg_open(&model, "model", &error), &error);
    assert_ok(kg_workspace_open(&workspace, model, &options, &error), &error);
    return 0;
}

static int tear_down(void **state) {
    kg_workspace_close(workspace);
    kg_close(model);
    return leave_temporary_folder(state);
}

/* A call that is refused, with a message that starts like this, and without anyone to tell. */
#define REFUSED(start, call)                                             \
    do {                                                                 \
        kg_error refusal = {0};                                          \
        kg_error *error = &refusal;                                      \
        assert_status((call), KG_BAD_INPUT, error);                      \
        if (strncmp(refusal.message, (start), strlen(start)) != 0)       \
            fail_msg("expected %s, found %s", (start), refusal.message); \
        error = NULL;                                                    \
        assert_status((call), KG_BAD_INPUT, error);                      \
    } while (0)

static void test_errors(void **state) {
    (void)state;
    char out[4] = "???";
    kg_error error = {.message = "message"};
    assert_null(kg_error_text(NULL, 10, &error));
    assert_ptr_equal(kg_error_text(out, 0, &error), out);
    assert_string_equal(out, "???");
    assert_string_equal(kg_error_text(out, sizeof out, &error), "mes");
    assert_string_equal(kg_error_text(out, sizeof out, NULL), "");
    assert_null(kg_feature_name((kg_feature)-1));
    assert_null(kg_feature_name(KG_FEATURE_COUNT));
    assert_int_equal(kg_links_sort(NULL, 0), 0);
    assert_int_equal(kg_links_sort(NULL, 3), 0);
}

static void test_models(void **state) {
    (void)state;
    kg_model *other = NULL;
    const kg_link *links = NULL;
    size_t count = 7;
    REFUSED("out: expected one, found NULL", kg_open(NULL, "model", error));
    REFUSED("path: expected one, found NULL", kg_open(&other, NULL, error));
    kg_close(NULL);
    assert_int_equal(kg_describe(NULL).entities, 0);
    assert_int_equal(kg_find_entity(NULL, e1), KG_NO_ID);
    assert_int_equal(kg_find_entity(model, (kg_text){NULL, 0}), KG_NO_ID);
    assert_int_equal(kg_find_entity(model, (kg_text){NULL, 3}), KG_NO_ID);
    assert_int_equal(kg_find_relation(NULL, likes), KG_NO_ID);
    assert_int_equal(kg_find_relation(model, (kg_text){NULL, 3}), KG_NO_ID);
    assert_int_equal(kg_entity_name(NULL, 0).length, 0);
    assert_int_equal(kg_entity_name(model, 30).length, 0);
    assert_int_equal(kg_entity_name(model, KG_NO_ID).length, 0);
    assert_int_equal(kg_relation_name(model, 1).length, 0);
    assert_null(kg_entity_vectors(NULL));
    assert_null(kg_relation_vectors(NULL));
    REFUSED("model: expected", kg_known_links(NULL, 0, &links, &count, error));
    REFUSED("out: expected", kg_known_links(model, 0, NULL, &count, error));
    REFUSED("count: expected", kg_known_links(model, 0, &links, NULL, error));
    assert_ok(kg_known_links(model, KG_NO_ID, &links, &count, NULL), NULL);
    assert_int_equal(count, 0);
}

static void test_newcomers(void **state) {
    (void)state;
    kg_new_entities *newcomers = NULL;
    kg_new_entities_options options = KG_NEW_ENTITIES_DEFAULTS;
    size_t count = 7;
    REFUSED("out: expected", kg_new_entities_open(NULL, model, &options, error));
    REFUSED("model: expected", kg_new_entities_open(&newcomers, NULL, &options, error));
    REFUSED("options: expected", kg_new_entities_open(&newcomers, model, NULL, error));
    assert_ok(kg_new_entities_open(&newcomers, model, &options, NULL), NULL);
    REFUSED("newcomers: expected", kg_new_entities_add(NULL, rex, likes, e1, error));
    REFUSED("expected a name",
            kg_new_entities_add(newcomers, (kg_text){NULL, 3}, likes, e1, error));
    REFUSED("expected a name", kg_new_entities_add(newcomers, rex, (kg_text){NULL, 0}, e1, error));
    REFUSED("newcomers: expected", kg_new_entities_read(NULL, "g.tsv", error));
    REFUSED("path: expected", kg_new_entities_read(newcomers, NULL, error));
    REFUSED("newcomers: expected", kg_new_entities_finish(NULL, NULL, error));
    assert_null(kg_new_entities_links(newcomers, 0, &count)); /* not finished */
    assert_int_equal(count, 0);
    assert_ok(kg_new_entities_add(newcomers, rex, likes, e1, NULL), NULL);
    assert_ok(kg_new_entities_finish(newcomers, NULL, NULL), NULL);
    assert_int_equal(kg_new_entities_count(NULL), 0);
    assert_int_equal(kg_new_entities_name(newcomers, 1).length, 0);
    assert_int_equal(kg_new_entities_name(NULL, 0).length, 0);
    assert_null(kg_new_entities_links(newcomers, 1, &count));
    assert_non_null(kg_new_entities_links(newcomers, 0, NULL));
    assert_int_equal(kg_new_entities_find(newcomers, (kg_text){NULL, 3}), 1);
    assert_int_equal(kg_new_entities_find(NULL, rex), 0);
    kg_new_entities_close(newcomers);
    kg_new_entities_close(NULL);
}

static void test_workspaces(void **state) {
    (void)state;
    kg_workspace *other = NULL;
    kg_workspace_options options = KG_WORKSPACE_DEFAULTS;
    REFUSED("out: expected", kg_workspace_open(NULL, model, &options, error));
    REFUSED("model: expected", kg_workspace_open(&other, NULL, &options, error));
    REFUSED("options: expected", kg_workspace_open(&other, model, NULL, error));
    double *const numbers[] = {&options.ls_lambda, &options.ials_alpha, &options.ials_lambda};
    const char *const names[] = {"ls_lambda", "ials_alpha", "ials_lambda"};
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
    REFUSED("threads: expected", kg_workspace_open(&other, model, &options, error));
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
    assert_false(kg_is_calibrated(NULL));
}

static void test_questions(void **state) {
    (void)state;
    static const kg_link link = {0, 1};
    kg_subject subject = {KG_NO_ID, &link, 1};
    static const kg_subject wrong[] = {{KG_NO_ID, NULL, 0}, {KG_NO_ID, NULL, 3}, {30, NULL, 0}};
    kg_request request = {.subject = subject, .tails = true};
    kg_answer answers[2];
    size_t found = 0;
    float vector[4];
    kg_explanation explanation;
    kg_share shares[1];
    kg_link asked = {0, 2};
    REFUSED("workspace: expected", kg_embed(NULL, vector, subject, KG_NO_QUESTION, error));
    REFUSED("vector: expected", kg_embed(workspace, NULL, subject, KG_NO_QUESTION, error));
    REFUSED("workspace: expected", kg_predict(NULL, answers, &found, &request, 1, 2, error));
    REFUSED("answers: expected", kg_predict(workspace, NULL, &found, &request, 1, 2, error));
    REFUSED("found: expected", kg_predict(workspace, answers, NULL, &request, 1, 2, error));
    REFUSED("requests: expected", kg_predict(workspace, answers, &found, NULL, 1, 2, error));
    REFUSED("expected at least one", kg_predict(workspace, answers, &found, &request, 1, 0, error));
    assert_ok(kg_predict(workspace, NULL, NULL, NULL, 0, 2, NULL), NULL); /* nothing is asked */
    REFUSED("workspace: expected", kg_neighbors(NULL, answers, &found, subject, 2, error));
    REFUSED("answers: expected", kg_neighbors(workspace, NULL, &found, subject, 2, error));
    REFUSED("found: expected", kg_neighbors(workspace, answers, NULL, subject, 2, error));
    REFUSED("workspace: expected", kg_explain(NULL, &explanation, shares, subject, asked, error));
    REFUSED("out: expected", kg_explain(workspace, NULL, shares, subject, asked, error));
    REFUSED("shares: expected", kg_explain(workspace, &explanation, NULL, subject, asked, error));
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        request.subject = wrong[i];
        REFUSED("", kg_embed(workspace, vector, wrong[i], KG_NO_QUESTION, error));
        REFUSED("", kg_predict(workspace, answers, &found, &request, 1, 2, error));
        REFUSED("", kg_neighbors(workspace, answers, &found, wrong[i], 2, error));
        REFUSED("", kg_explain(workspace, &explanation, shares, wrong[i], asked, error));
    }
    REFUSED("", kg_embed(workspace, vector, subject, 2, error));
    REFUSED("", kg_explain(workspace, &explanation, shares, subject, (kg_link){2, 2}, error));
    REFUSED("", kg_explain(workspace, &explanation, shares, subject, (kg_link){0, 30}, error));
}

static void test_training(void **state) {
    (void)state;
    const kg_training usual = kg_training_defaults(NULL, NULL);
    kg_training training = usual;
    REFUSED("path: expected", kg_train(NULL, "g.tsv", &training, error));
    REFUSED("expected the path of a model", kg_train("", "g.tsv", &training, error));
    REFUSED("dataset: expected", kg_train("m", NULL, &training, error));
    REFUSED("training: expected", kg_train("m", "g.tsv", NULL, error));
    const char **const words[] = {&training.model, &training.aggregate, &training.optimizer};
    const char *const names[] = {"model: ", "aggregate: ", "optimizer: "};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        training = usual;
        *words[i] = NULL;
        REFUSED(names[i], kg_train("m", "g.tsv", &training, error));
    }
    double *const numbers[] = {&training.psi, &training.rate, &training.l2, &training.dropout,
                               &training.hold_out};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        training = usual;
        *numbers[i] = (double)NAN;
        REFUSED("", kg_train("m", "g.tsv", &training, error));
        *numbers[i] = (double)INFINITY;
        REFUSED("", kg_train("m", "g.tsv", &training, error));
    }
    uint64_t *const counts[] = {&training.dim, &training.batch, &training.negatives,
                                &training.threads};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        training = usual;
        *counts[i] = 0;
        REFUSED("", kg_train("m", "g.tsv", &training, error));
    }
    memset(&training, 0, sizeof training);
    REFUSED("model: ", kg_train("m", "g.tsv", &training, error));
    assert_false(file_exists("m"));
}

static void test_evaluation(void **state) {
    (void)state;
    kg_metrics metrics;
    kg_evaluation evaluation = KG_EVALUATION_DEFAULTS;
    REFUSED("out: expected", kg_evaluate(NULL, model, "g.tsv", &evaluation, error));
    REFUSED("model: expected", kg_evaluate(&metrics, NULL, "g.tsv", &evaluation, error));
    REFUSED("dataset: expected", kg_evaluate(&metrics, model, NULL, &evaluation, error));
    REFUSED("evaluation: expected", kg_evaluate(&metrics, model, "g.tsv", NULL, error));
    evaluation.ls_lambda = (double)NAN;
    REFUSED("ls_lambda: expected", kg_evaluate(&metrics, model, "g.tsv", &evaluation, error));
    evaluation.ls_lambda = 0;
    evaluation.threads = 0;
    REFUSED("threads: expected", kg_evaluate(&metrics, model, "g.tsv", &evaluation, error));
}

static void test_check(void **state) {
    (void)state;
    REFUSED("path: expected", kg_check(NULL, NULL, NULL, NULL, error));
    assert_ok(kg_check("model", NULL, NULL, NULL, NULL), NULL);
}

/* A callback that is not there is none. */
static void test_progress(void **state) {
    (void)state;
    kg_progress progress = {0};
    kg_training training = kg_training_defaults("paper", "distmult");
    kg_error error = {0};
    training.dim = 4;
    training.epochs = 1;
    training.progress = &progress;
    assert_ok(kg_train("other", "g.tsv", &training, &error), &error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),     cmocka_unit_test(test_models),
        cmocka_unit_test(test_newcomers),  cmocka_unit_test(test_workspaces),
        cmocka_unit_test(test_questions),  cmocka_unit_test(test_training),
        cmocka_unit_test(test_evaluation), cmocka_unit_test(test_progress),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
