/* Training by the public interface: presets, what they leave to a user, and what is refused. That
 * it comes to the bytes of the tool is for the tests of the examples. */
#include "support.h"

#include <dirent.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "kgraft.h"
#include "train/trainer.h"

/* A ring of friends and their neighbours. */
static int set_up(void **state) {
    char facts[4096] = "";
    size_t length = 0;
    for (int i = 0; i < 60; i++)
        length += (size_t)snprintf(facts + length, sizeof facts - length,
                                   "e%d\tlikes\te%d\ne%d\tknows\te%d\n", i, (i + 1) % 60, i,
                                   (i * 7 + 2) % 60);
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

static kg_training_options usual(const char *preset, const char *model) {
    kg_training_options out = KG_TRAINING_OPTIONS_INIT;
    kg_error error = {0};
    assert_ok(kg_training_options_init(&out, preset, model, &error), &error);
    return out;
}

static void make_small(kg_training_options *training) {
    training->terms = "embedding+echo";
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
    {NULL, NULL, "graft", "graft", "softmax", "directed", 1, 0, 1024, 8},
    {"graft", "complex", "graft", "graft", "softmax", "directed", 1, 0, 1024, 8},
    {"paper", "distmult", "paper", "eravg", "softplus", NULL, 0.5, 0.01, 1, 200},
    {NULL, "rgcn-d", "paper", "rgcn-d", "softplus", NULL, 0, 0, 1, 30},
    {"paper", "rgcn-d", "paper", "rgcn-d", "softplus", NULL, 0, 0, 1, 30},
};

static void test_defaults(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(expectations); i++) {
        const struct expected *e = &expectations[i];
        kg_training_options found = usual(e->preset, e->model);
        assert_ptr_equal(found.preset, e->preset);
        if (e->model == NULL)
            assert_string_equal(found.model, "distmult");
        else
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
        kg_training_options training = usual(e->preset, e->model);
        make_small(&training);
        training.replace = true;
        assert_ok(kg_model_train("model", "g.tsv", &training, &error), &error);
        json_t *config = read_config("model/config.json");
        const json_t *settings = json_object_get(config, "settings");
        assert_string_equal(get_text(config, "preset"), e->recorded);
        assert_string_equal(get_text(settings, "model"), training.model);
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
    kg_training_options training = usual(NULL, "distmult");
    make_small(&training);
    training.lr = 0.4;
    assert_ok(kg_model_train("model", "g.tsv", &training, &error), &error);
    json_t *config = read_config("model/config.json");
    const json_t *settings = json_object_get(config, "settings");
    assert_true(json_number_value(json_object_get(settings, "lr")) == 0.4);
    double last = json_number_value(json_object_get(settings, "lr_last"));
    assert_true(fabs(last - 0.02) < 1e-15);
    json_decref(config);
}

static void refuse(const kg_training_options *training, const char *expected) {
    kg_error error = {0};
    assert_status(kg_model_train("model", "g.tsv", training, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, expected);
    assert_false(file_exists("model"));
}

/* The history of the longest run fits into what config.json may have, with a lot to spare. */
static void test_longest_history(void **state) {
    (void)state;
    kg_epoch epoch = {.number = KG_MOST_EPOCHS,
                      .loss = -1.23456789012345e-300,
                      .seconds = 123456.789012345,
                      .is_validated = true,
                      .valid = {.queries = UINT32_MAX,
                                .mrr = 1.23456789012345e-10,
                                .mr = 1234567.89012345,
                                .hits = {1.0 / 3, 2.0 / 3, 1 - 1e-10}}};
    json_t *config = json_pack("{s:{s:[o]}}", "training", "history", kg__epoch_json(&epoch));
    char *shown = json_dumps(config, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    assert_non_null(shown);
    assert_true(strlen(shown) * KG_MOST_EPOCHS < KG_JSON_MAX);
    kg__json_free_text(shown);
    json_decref(config);
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const messages[] = {
        "`preset`: expected paper or graft, found 'best'",
        "`model`: expected distmult, simple, complex, quate or rgcn-d, found 'transe'"};
    kg_training_options training = usual(NULL, "distmult");
    kg_error error = {0};
    assert_status(kg_training_options_init(&training, "best", NULL, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, messages[0]);
    assert_status(kg_training_options_init(&training, NULL, "transe", &error), KG_BAD_INPUT,
                  &error);
    assert_error_text(&error, messages[1]);
    training.preset = "best";
    refuse(&training, messages[0]);
    training.preset = NULL;
    training.model = "transe";
    refuse(&training, messages[1]);
    training.model = "distmult";
    training.aggregate = "mean";
    refuse(&training,
           "`aggregate`: expected eavg, eravg, ls, ls-u, rgcn-d, graft or ials, found 'mean'");
    training.aggregate = "ials";
    refuse(&training, "`psi`: expected 0 for aggregate ials, which has no gradient, found 1");
    training = usual("paper", "distmult");
    training.optimizer = "sgd";
    refuse(&training, "`optimizer`: expected adagrad, adam or adagrad-row, found 'sgd'");
    training = usual("paper", "distmult");
    training.seed = UINT64_MAX;
    refuse(&training, "`seed`: expected at most 9223372036854775807, found 18446744073709551615");
}

/* Settings without a field, by name; they override fields. */
static void test_by_name(void **state) {
    (void)state;
    kg_training_options training = usual("graft", "distmult");
    training.settings = " loss=softplus  negatives=2000";
    refuse(&training,
           "`negatives`: expected at most 1000 for loss softplus, which draws them anew for each "
           "fact, found 2000");
    training.settings = "lr_last=-1";
    refuse(&training, "`lr_last`: expected a rate from 0 that single precision can hold, found -1");
    training.settings = "dim=8 nonsense=1";
    refuse(&training, "`settings`: expected the name of a setting, = and its value, found "
                      "'nonsense=1'");
    training.settings = "terms=propagation epochs=2";
    refuse(&training, "`terms`: expected embedding or echo for `epochs`, found propagation");
    training.settings = "psi=0 exclude=pair";
    refuse(&training, "`psi`: expected above 0 for `exclude`, found 0");
    training.settings = "loss";
    refuse(&training, "`settings`: expected the name of a setting, = and its value, found 'loss'");
}

/* What a model's files say of a setting, as JSON; NULL if they say nothing. */
static const json_t *recorded(const json_t *config, const kg_setting *setting) {
    kg_setting_text key = kg__setting_key(setting);
    if (strcmp(key.text, "preset") == 0)
        return json_object_get(config, key.text);
    return json_object_get(
        json_object_get(config, strcmp(key.text, "threads") == 0 ? "machine" : "settings"),
        key.text);
}

/* Whether a run with the setting, behind others which it may need, has a model that says so. */
static bool is_recorded(const kg_setting *setting, const char *value, const char *others) {
    kg_training_options training = usual(NULL, NULL);
    kg_train_options parsed = {0};
    kg_error error = {0};
    char words[256];
    training.dim = 4;
    training.epochs = 1;
    training.replace = true;
    training.settings = words;
    snprintf(words, sizeof words, "%s %s=%s", others, kg__setting_key(setting).text, value);
    assert_ok(kg__setting_parse(setting, &parsed, value, &error), &error);
    if (kg_model_train("model", "g.tsv", &training, &error) != KG_OK)
        return false;
    json_t *config = read_config("model/config.json");
    json_t *expected = kg__setting_json(setting, &parsed);
    bool is_same = json_equal(recorded(config, setting), expected);
    json_decref(expected);
    json_decref(config);
    return is_same;
}

/* Values that no preset has, unless there is only one. */
static bool has_effect(const kg_setting *setting, const char *others) {
    bool is_small = setting->range != NULL && setting->range->most < 16;
    const kg_train_options preset = kg__train_defaults(KG_GRAFT, kg__scoring_find("distmult"));
    const char *value = NULL;
    if (setting->type == KG_TYPE_NUMBER)
        return is_recorded(setting, "0.3", others) || is_recorded(setting, "0.03", others);
    if (setting->type == KG_TYPE_COUNT)
        return is_recorded(setting, is_small ? "3" : "16", others);
    for (size_t i = 0; (value = kg__setting_choice(setting, i)) != NULL; i++)
        if ((kg__setting_choice(setting, 1) == NULL ||
             strcmp(value, kg__setting_text(setting, &preset).text) != 0) &&
            is_recorded(setting, value, others))
            return true;
    return false;
}

/* Every setting can be given by its name, and is then one of the run. */
static void test_every_setting(void **state) {
    (void)state;
    static const char *const others[] = {
        "terms=embedding",
        "terms=embedding regularizer=n3",
        "terms=embedding aggregate=ials psi=0",
        "model=rgcn-d",
        "loss=softplus",
        "terms=propagation propagation_layers=1 propagation_width=16 propagation_epochs=1"};
    for (size_t i = 0; i < kg__setting_count; i++) {
        size_t k = 0;
        while (k < COUNT_OF(others) && !has_effect(&kg__settings[i], others[k]))
            k++;
        if (k == COUNT_OF(others))
            fail_msg("%s has no effect", kg__settings[i].name);
    }
}

/* The values of one do not go with the rest of the other. */
static void test_mixed(void **state) {
    (void)state;
    kg_training_options training = usual("graft", "distmult");
    training.preset = "paper";
    refuse(&training,
           "`negatives`: expected at most 1000 for loss softplus, which draws them anew for each "
           "fact, found 1024");
}

/* A run goes on by the preset that it was begun with. */
static void test_resumed(void **state) {
    (void)state;
    kg_error error = {0};
    kg_training_options training = usual("paper", "distmult");
    make_small(&training);
    assert_ok(kg_model_train("model", "g.tsv", &training, &error), &error);
    training.resume = true;
    assert_ok(kg_model_train("model", "g.tsv", &training, &error), &error);
    training = usual(NULL, "distmult");
    make_small(&training);
    training.resume = true;
    assert_status(kg_model_train("model", "g.tsv", &training, &error), KG_BAD_INPUT, &error);
}

/* ---- Stopped and resumed ---- */

/* Stops at the report with this number, counted from 0. */
struct stopper {
    size_t count;
    size_t stop_at;
};

static bool stop_some_day(void *payload, const kg_progress_report *report) {
    (void)report;
    struct stopper *stopper = payload;
    return stopper->count++ != stopper->stop_at;
}

static void forget_seconds(json_t *history) {
    for (size_t i = 0; i < json_array_size(history); i++)
        json_object_del(json_array_get(history, i), "seconds");
}

/* What a run came to, but for the time that it took. */
static json_t *read_outcome(const char *path) {
    json_t *config = read_config(path);
    forget_seconds(json_object_get(config, "history"));
    forget_seconds(json_object_get(config, KG_APART_HISTORY));
    forget_seconds(json_object_get(json_object_get(config, "hold_out"), "history"));
    json_object_del(config, "machine");
    json_object_del(config, "checksum");
    return config;
}

/* Stopped at each of its reports in turn, a run comes to the same model and the same history. */
static size_t stop_everywhere(kg_training_options *training, const char *data) {
    kg_error error = {0};
    struct stopper stopper = {.stop_at = SIZE_MAX};
    const kg_progress progress = {stop_some_day, &stopper};
    training->progress = &progress;
    assert_ok(kg_model_train("whole", data, training, &error), &error);
    json_t *expected = read_outcome("whole/config.json");
    size_t reports = stopper.count;
    for (size_t i = 0; i < reports; i++) {
        char path[32];
        char file[64];
        snprintf(path, sizeof path, "stopped%zu", i);
        snprintf(file, sizeof file, "%s/config.json", path);
        stopper = (struct stopper){.stop_at = i};
        training->resume = false;
        assert_status(kg_model_train(path, data, training, &error), KG_CANCELLED, &error);
        stopper = (struct stopper){.stop_at = SIZE_MAX};
        training->resume = true;
        assert_ok(kg_model_train(path, data, training, &error), &error);
        json_t *found = read_outcome(file);
        assert_true(json_equal(found, expected));
        json_decref(found);
    }
    json_decref(expected);
    training->progress = NULL;
    return reports;
}

/* Without the loss so far or the validations since the best, what is resumed would differ: in the
 * loss of the epoch in which it was stopped, or in how long it is patient. */
static void test_stopped_with_patience(void **state) {
    (void)state;
    assert_int_equal(mkdir("data", 0777), 0);
    write_file("data/train.tsv", TEXT("a\tlikes\tb\nb\tlikes\tc\nc\tknows\ta\nd\tknows\tb\n"
                                      "d\tlikes\tc\ne\tlikes\ta\ne\tknows\td\na\tknows\te\n"));
    write_file("data/valid.tsv", TEXT("a\tlikes\tc\nb\tknows\te\n"));
    kg_training_options training = usual("paper", "distmult");
    training.dim = 8;
    training.batch = 3;
    training.epochs = 100;
    training.validate_every = 1;
    training.patience = 3;
    size_t reports = stop_everywhere(&training, "data");
    json_t *config = read_config("whole/config.json");
    json_int_t epochs = json_integer_value(json_object_get(config, "epochs"));
    assert_int_equal(epochs, json_integer_value(json_object_get(config, "best_epoch")) + 3);
    assert_true(reports > 3 * (size_t)epochs); /* several in each epoch, and in each validation */
    json_decref(config);
}

/* Stopped while it holds out, calibrates, or is trained on everything: in the middle of a batch, of
 * a validation, or between the two. */
static void test_stopped_with_hold_out(void **state) {
    (void)state;
    kg_training_options training = usual(NULL, NULL);
    make_small(&training);
    training.epochs = 3;
    training.validate_every = 2;
    assert_true(training.hold_out == -1 && training.refit);
    size_t reports = stop_everywhere(&training, "g.tsv");
    json_t *config = read_config("whole/config.json");
    const json_t *held = json_object_get(config, "hold_out");
    assert_true(json_is_true(json_object_get(held, "refit")));
    assert_int_equal(json_integer_value(json_object_get(config, "entities")), 60);
    assert_int_equal(json_array_size(json_object_get(held, "history")), 3);
    assert_true(reports > 10);
    json_decref(config);
}

/* ---- What is reported ---- */

/* Stages in the order in which they come, each once. */
static bool list_stages(void *payload, const kg_progress_report *report) {
    char *list = payload;
    if (strstr(list, report->stage) == NULL)
        snprintf(list + strlen(list), 512 - strlen(list), "%s; ", report->stage);
    return true;
}

static void test_stages(void **state) {
    (void)state;
    char list[512] = "";
    const kg_progress progress = {list_stages, list};
    kg_training_options training = usual(NULL, NULL);
    kg_error error = {0};
    make_small(&training);
    training.progress = &progress;
    assert_ok(kg_model_train("model", "g.tsv", &training, &error), &error);
    assert_string_equal(list, "reading g.tsv; training; validating; calibrating; ");
}

/* ---- Threads ---- */

static size_t count_threads(void) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* One thread is one thread, whatever OpenMP would start by itself; OpenMP keeps those that it has
 * started. */
static void test_threads(void **state) {
    (void)state;
    enum { COUNT = 12000 }; /* fewer are never shared among threads */
    size_t size = 0;
    char *facts = must_allocate(COUNT, 32);
    for (int i = 0; i < COUNT; i++)
        size += (size_t)snprintf(facts + size, 32, "e%d\tr%d\te%d\n", i % 100, i / 100 % 2,
                                 (i + i / 200) % 100);
    assert_int_equal(mkdir("data", 0777), 0);
    write_file("data/train.tsv", (text){facts, size});
    write_file("data/test.tsv", TEXT("e1\tr0\te1\n"));
    free(facts);
    kg_error error = {0};
    int before = omp_get_max_threads();
    omp_set_num_threads(4);
    size_t threads = count_threads();
    kg_training_options training = usual("paper", "distmult");
    training.dim = 2;
    training.epochs = 1;
    training.batch = COUNT;
    assert_ok(kg_model_train("model", "data", &training, &error), &error);
    kg_model *model = NULL;
    kg_metrics metrics = KG_METRICS_INIT;
    kg_evaluation_options evaluation = KG_EVALUATION_OPTIONS_INIT;
    evaluation.in_sample = true;
    assert_ok(kg_model_open(&model, "model", &error), &error);
    assert_ok(kg_model_evaluate(&metrics, model, "data", &evaluation, &error), &error);
    kg_model_close(model);
    assert_int_equal(metrics.queries, 2);
    assert_int_equal(count_threads(), threads);
    assert_int_equal(omp_get_max_threads(), 4);
    omp_set_num_threads(before);
}

/* Unseen entities that the model was trained with are not asked about; if there are no others, that
 * is said. */
static void test_known_entities(void **state) {
    (void)state;
    static const char facts[] = "a\tr\tb\nb\tr\tc\nc\ts\ta\na\ts\tc\n";
    assert_int_equal(mkdir("some", 0777), 0);
    assert_int_equal(mkdir("all", 0777), 0);
    write_file("plain.tsv", TEXT("a\tr\tb\nb\tr\tc\nc\ts\ta\na\ts\tc\nx\tr\ta\nb\ts\tx\n"));
    write_file("some/train.tsv", text_of(facts));
    write_file("some/unseen-test.tsv", TEXT("x\tr\ta\nb\ts\tx\ny\tr\ta\ny\ts\tb\nc\ts\ty\n"));
    write_file("all/train.tsv", text_of(facts));
    write_file("all/unseen-test.tsv", TEXT("x\tr\ta\nb\ts\tx\n"));
    kg_error error = {0};
    kg_training_options training = usual("paper", "distmult");
    training.dim = 2;
    training.epochs = 1;
    assert_ok(kg_model_train("model", "plain.tsv", &training, &error), &error);
    kg_model *model = NULL;
    kg_metrics metrics = KG_METRICS_INIT;
    kg_evaluation_options evaluation = KG_EVALUATION_OPTIONS_INIT;
    assert_ok(kg_model_open(&model, "model", &error), &error);
    assert_ok(kg_model_evaluate(&metrics, model, "some", &evaluation, &error), &error);
    assert_int_equal(metrics.queries, 3);
    assert_status(kg_model_evaluate(&metrics, model, "all", &evaluation, &error), KG_BAD_INPUT,
                  NULL);
    assert_non_null(strstr(error.message, "trained with all 1 of them"));
    kg_model_close(model);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, leave_temporary_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_stages),
        TEST(test_threads),
        TEST(test_known_entities),
        TEST(test_defaults),
        TEST(test_presets),
        TEST(test_falling_rate),
        TEST(test_longest_history),
        TEST(test_refusals),
        TEST(test_mixed),
        TEST(test_by_name),
        TEST(test_every_setting),
        TEST(test_resumed),
        TEST(test_stopped_with_patience),
        TEST(test_stopped_with_hold_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
