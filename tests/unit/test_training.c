/* Training by the public interface: presets, what they leave to a user, and what is refused. That
 * it comes to the bytes of the tool is for the tests of the examples. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "kgraft.h"

/* A ring of friends and their neighbours. */
static int set_up(void **state) {
    char facts[4096] = "";
    size_t length = 0;
    for (int i = 0; i < 30; i++)
        length += (size_t)snprintf(facts + length, sizeof facts - length,
                                   "e%d\tlikes\te%d\ne%d\tknows\te%d\n", i, (i + 1) % 30, i,
                                   (i * 7 + 2) % 30);
    if (enter_temporary_folder(state) != 0)
        return -1;
    write_file("g.tsv", text_of(facts));
    return 0;
}

static json_t *read_config(const char *path) {
    size_t size = 0;
    char *bytes = read_file(path, &size);
    json_t *config = json_loadb(bytes, size, 0, NULL);
    assert_non_null(config);
    free(bytes);
    return config;
}

static void make_small(kg_training *training) {
    training->dim = 8;
    training->epochs = 2;
    training->batch = 20;
}

struct expected {
    const char *preset; /* as it is asked for */
    const char *model;
    const char *recorded;
    const char *aggregate;
    const char *loss;
    const char *relations;
    double psi;
    double l2;
    uint64_t negatives;
    uint64_t epochs;
};

static const struct expected expectations[] = {
    {NULL, "distmult", "graft", "graft", "softmax", "directed", 1, 0, 1024, 8},
    {"graft", "complex", "graft", "graft", "softmax", "directed", 1, 0, 1024, 8},
    {"paper", "distmult", "paper", "eravg", "softplus", NULL, 0.5, 0.01, 1, 200},
    {NULL, "rgcn-d", "paper", "rgcn-d", "softplus", NULL, 0, 0, 1, 30},
    {"paper", "rgcn-d", "paper", "rgcn-d", "softplus", NULL, 0, 0, 1, 30},
};

static void test_defaults(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(expectations); i++) {
        const struct expected *e = &expectations[i];
        kg_training found = kg_training_defaults(e->preset, e->model);
        assert_ptr_equal(found.preset, e->preset);
        assert_ptr_equal(found.model, e->model);
        assert_string_equal(found.aggregate, e->aggregate);
        assert_true(found.psi == e->psi && found.l2 == e->l2);
        assert_int_equal(found.negatives, e->negatives);
        assert_int_equal(found.epochs, e->epochs);
        assert_int_equal(found.threads, 1);
    }
}

static const char *get_text(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* What stands in no field goes by the preset, too. */
static void test_presets(void **state) {
    (void)state;
    kg_error error = {0};
    for (size_t i = 0; i < COUNT_OF(expectations); i++) {
        const struct expected *e = &expectations[i];
        kg_training training = kg_training_defaults(e->preset, e->model);
        make_small(&training);
        training.replace = true;
        assert_ok(kg_train("model", "g.tsv", &training, &error), &error);
        json_t *config = read_config("model/config.json");
        const json_t *settings = json_object_get(config, "settings");
        assert_string_equal(get_text(config, "preset"), e->recorded);
        assert_string_equal(get_text(settings, "model"), e->model);
        assert_string_equal(get_text(settings, "loss"), e->loss);
        assert_int_equal(get_text(settings, "relations") != NULL, e->relations != NULL);
        if (e->relations != NULL)
            assert_string_equal(get_text(settings, "relations"), e->relations);
        json_decref(config);
    }
}

/* A rate of one's own falls as the preset's does. */
static void test_falling_rate(void **state) {
    (void)state;
    kg_error error = {0};
    kg_training training = kg_training_defaults(NULL, "distmult");
    make_small(&training);
    training.rate = 0.4;
    assert_ok(kg_train("model", "g.tsv", &training, &error), &error);
    json_t *config = read_config("model/config.json");
    const json_t *settings = json_object_get(config, "settings");
    assert_true(json_number_value(json_object_get(settings, "lr")) == 0.4);
    double last = json_number_value(json_object_get(settings, "lr_last"));
    assert_true(fabs(last - 0.02) < 1e-15);
    json_decref(config);
}

static void refuse(const kg_training *training, const char *expected) {
    kg_error error = {0};
    assert_status(kg_train("model", "g.tsv", training, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, expected);
    assert_false(file_exists("model"));
}

static void test_refusals(void **state) {
    (void)state;
    kg_training training = kg_training_defaults("best", "distmult");
    assert_string_equal(training.aggregate, "graft");
    refuse(&training, "preset: expected paper or graft, found 'best'");
    training = kg_training_defaults(NULL, "transe");
    refuse(&training, "model: expected distmult, simple, complex, quate or rgcn-d, found 'transe'");
    training = kg_training_defaults(NULL, "distmult");
    training.aggregate = "mean";
    refuse(&training,
           "aggregate: expected eavg, eravg, ls, ls-u, ials, graft or rgcn-d, found 'mean'");
    training.aggregate = "ls";
    refuse(&training, "aggregate: expected graft or eravg for loss softmax with psi above 0, found "
                      "ls (preset graft: softmax, preset paper: softplus)");
    training = kg_training_defaults("paper", "distmult");
    training.optimizer = "sgd";
    refuse(&training, "optimizer: expected adagrad or adam, found 'sgd'");
}

/* The values of one do not go with the rest of the other. */
static void test_mixed(void **state) {
    (void)state;
    kg_training training = kg_training_defaults("graft", "distmult");
    training.preset = "paper";
    refuse(&training, "loss: expected softmax for aggregate graft, found softplus (preset graft: "
                      "softmax, preset paper: softplus)");
}

/* A run goes on by the preset that it was begun with. */
static void test_resumed(void **state) {
    (void)state;
    kg_error error = {0};
    kg_training training = kg_training_defaults("paper", "distmult");
    make_small(&training);
    assert_ok(kg_train("model", "g.tsv", &training, &error), &error);
    training.resume = true;
    assert_ok(kg_train("model", "g.tsv", &training, &error), &error);
    training = kg_training_defaults(NULL, "distmult");
    make_small(&training);
    training.resume = true;
    assert_status(kg_train("model", "g.tsv", &training, &error), KG_BAD_INPUT, &error);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, leave_temporary_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_defaults), TEST(test_presets), TEST(test_falling_rate),
        TEST(test_refusals), TEST(test_mixed),   TEST(test_resumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
