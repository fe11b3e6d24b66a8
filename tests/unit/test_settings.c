/* The table of settings: presets have the values that they have always had, every row goes through
 * text and JSON and back, and what is out of range is refused by the setting's name. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "train/settings.h"

/* ---- Presets ---- */

struct preset {
    const char *name;
    const char *model;
    const char *json; /* as models and checkpoints of earlier versions have it */
    kg_train_options options;
};

#define COMMON                                                                                \
    .dim = 200, .exclude = KG_EXCLUDE_TRIPLE,                                                 \
    .aggregate = {.graft_power = 0.5, .graft_weights = true}, .bases = 4, .self_loops = true, \
    .regularizer = KG_L2, .n3 = 0.05, .shuffle = true, .threads = 1

static const struct preset presets[] = {
    {"paper",
     "distmult",
     "{\"model\":\"distmult\",\"dim\":200,\"aggregate\":\"eravg\",\"ls_lambda\":0.1,"
     "\"ls_rows\":\"normalized\",\"exclude\":\"triple\",\"psi\":0.5,\"negatives\":1,"
     "\"batch\":1000,\"loss\":\"softplus\",\"optimizer\":\"adagrad\",\"lr\":0.1,\"l2\":0.01,"
     "\"dropout\":0.0,\"init\":\"xavier\",\"shuffle\":true,\"seed\":0,\"validate_every\":20,"
     "\"patience\":0}",
     {COMMON, .preset = KG_PAPER, .psi = 0.5, .loss = &kg__loss_softplus, .negatives = 1,
      .batch = 1000, .epochs = 200, .method = KG_ADAGRAD, .rate = 0.1, .last_rate = 0.1, .l2 = 0.01,
      .validate_every = 20}},
    {"paper",
     "rgcn-d",
     "{\"model\":\"rgcn-d\",\"dim\":200,\"aggregate\":\"rgcn-d\",\"bases\":4,\"self_loops\":true,"
     "\"negatives\":1,\"batch\":10000,\"loss\":\"softplus\",\"optimizer\":\"adam\",\"lr\":0.01,"
     "\"l2\":0.0,\"dropout\":0.0,\"init\":\"xavier\",\"shuffle\":true,\"seed\":0,"
     "\"validate_every\":3,\"patience\":0}",
     {COMMON, .preset = KG_PAPER, .loss = &kg__loss_softplus, .negatives = 1, .batch = 10000,
      .epochs = 30, .method = KG_ADAM, .rate = 0.01, .last_rate = 0.01, .validate_every = 3}},
    {"graft",
     "distmult",
     "{\"model\":\"distmult\",\"dim\":200,\"aggregate\":\"graft\",\"ls_lambda\":0.1,"
     "\"ls_rows\":\"normalized\",\"exclude\":\"triple\",\"psi\":1.0,\"negatives\":1024,"
     "\"batch\":1000,\"loss\":\"softmax\",\"optimizer\":\"adagrad\",\"lr\":0.1,\"l2\":0.0,"
     "\"dropout\":0.8,\"init\":\"xavier\",\"shuffle\":true,\"seed\":0,\"validate_every\":4,"
     "\"patience\":0,\"lr_last\":0.005,\"epochs\":8,\"relations\":\"directed\","
     "\"aggregate_relations\":\"own\",\"graft_power\":0.5,\"graft_weights\":true,"
     "\"terms\":[\"embedding\",\"echo\",\"propagation\"],"
     "\"propagation_layers\":0,\"propagation_width\":0,\"propagation_sources\":0,"
     "\"propagation_pooling\":[],\"propagation_relations\":0,\"propagation_sampled\":0,"
     "\"propagation_weight\":4.0,\"propagation_dropout\":0.0,\"propagation_echoes\":0.25,"
     "\"propagation_epochs\":0,"
     "\"propagation_batch\":32,"
     "\"propagation_lr\":0.01}",
     {COMMON, .preset = KG_GRAFT, .directed = true, .own_relations = true, .psi = 1,
      .loss = &kg__loss_softmax, .negatives = 1024, .batch = 1000, .epochs = 8,
      .method = KG_ADAGRAD, .rate = 0.1, .last_rate = 0.005, .dropout = 0.8, .validate_every = 4}},
};

/* Settings of a run as they stand in files. */
static void check_json(const kg_train_options *options, const char *expected) {
    json_t *settings = kg__train_settings(options);
    char *dump = json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(15));
    assert_string_equal(dump, expected);
    kg__json_free_text(dump);
    json_decref(settings);
}

/* By their fields: bytes between them may be anything. */
static void check_options(const kg_train_options *found, const kg_train_options *expected) {
    assert_int_equal(found->preset, expected->preset);
    assert_int_equal(found->dim, expected->dim);
    assert_int_equal(found->directed, expected->directed);
    assert_int_equal(found->own_relations, expected->own_relations);
    assert_true(found->aggregate.ls_lambda == 0.1);
    assert_int_equal(found->aggregate.ls_rows, KG_LS_NORMALIZED);
    assert_true(found->aggregate.ials_alpha == 0.001);
    assert_true(found->aggregate.ials_lambda == 0.1);
    assert_int_equal(found->exclude, expected->exclude);
    assert_true(found->psi == expected->psi);
    assert_true(found->aggregate.graft_power == expected->aggregate.graft_power);
    assert_int_equal(found->aggregate.graft_weights, expected->aggregate.graft_weights);
    assert_int_equal(found->bases, expected->bases);
    assert_int_equal(found->self_loops, expected->self_loops);
    assert_int_equal(found->loss, expected->loss);
    assert_int_equal(found->negatives, expected->negatives);
    assert_int_equal(found->batch, expected->batch);
    assert_int_equal(found->epochs, expected->epochs);
    assert_int_equal(found->method, expected->method);
    assert_true(found->rate == expected->rate);
    assert_true(found->last_rate == expected->last_rate);
    assert_int_equal(found->rate_epochs, 0);
    assert_int_equal(found->regularizer, expected->regularizer);
    assert_true(found->l2 == expected->l2);
    assert_true(found->n3 == expected->n3);
    assert_true(found->dropout == expected->dropout);
    assert_int_equal(found->init, KG_XAVIER);
    assert_int_equal(found->shuffle, expected->shuffle);
    assert_int_equal(found->seed, 0);
    assert_int_equal(found->threads, expected->threads);
    assert_int_equal(found->validate_every, expected->validate_every);
    assert_int_equal(found->patience, 0);
    assert_true(found->hold_out == 0);
}

static void test_presets(void **state) {
    (void)state;
    static const char *const aggregates[] = {"eravg", "rgcn-d", "graft"};
    kg_error error = {0};
    for (size_t i = 0; i < COUNT_OF(presets); i++) {
        const kg_scoring *kind = kg__scoring_find(presets[i].model);
        kg_train_options usual = kg__train_defaults(presets[i].options.preset, kind);
        assert_ptr_equal(usual.scoring, kind);
        assert_string_equal(usual.aggregate.aggregator->name, aggregates[i]);
        check_options(&usual, &presets[i].options);
        check_json(&usual, presets[i].json);
        assert_string_equal(kg__preset_names[usual.preset], presets[i].name);
        assert_ok(kg__train_check(&usual, &error), &error);
    }
}

/* ---- From files ---- */

static void check_read(const kg_train_options *options) {
    kg_train_options found;
    kg_error error = {0};
    json_t *settings = kg__train_settings(options);
    json_object_set_new(settings, "epochs", json_integer((json_int_t)options->epochs));
    json_t *config =
        json_pack("{ss so}", "preset", kg__preset_names[options->preset], "settings", settings);
    assert_ok(kg__train_read(&found, config, "m", &error), &error);
    json_t *again = kg__train_settings(&found);
    json_object_set_new(again, "epochs", json_integer((json_int_t)found.epochs));
    assert_true(json_equal(again, settings));
    assert_int_equal(found.preset, options->preset);
    assert_int_equal(found.terms, options->terms);
    assert_true(found.last_rate == options->last_rate);
    json_decref(again);
    json_decref(config);
}

static void test_read(void **state) {
    (void)state;
    static const char *const lines[][3] = {
        {"preset paper", "lr 0.05", "aggregate ls"}, {"terms propagation", "propagation-layers 3"},
        {"terms embedding+echo", "negatives all"},   {"terms embedding", "seed 7"},
        {"regularizer n3", "n3 0.1", "dim 12"},      {"propagation-relations pairs"},
        {"model rgcn-d", "self-loops no"},           {"lr 0.3333333333333333"},
    };
    kg_error error = {0};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        kg_settings given = {0};
        for (size_t k = 0; k < 3 && lines[i][k] != NULL; k++) {
            char name[64];
            const char *space = strchr(lines[i][k], ' ');
            snprintf(name, sizeof name, "%.*s", (int)(space - lines[i][k]), lines[i][k]);
            assert_ok(kg__settings_set(&given, kg__setting_find(name), space + 1, &error), &error);
        }
        kg_train_options options = kg__settings_complete(&given);
        check_read(&options);
    }
}

static void test_bad_files(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"{\"settings\":{\"model\":\"distmult\",\"dim\":4}}",
         "expected a model that kgraft trained, found one that was made otherwise"},
        {"{\"settings\":{\"loss\":\"softmax\",\"dim\":{}}}",
         "`dim`: expected a value, found something else"},
        {"{\"settings\":{\"loss\":\"softmax\",\"terms\":[1]}}",
         "`terms`: expected a value, found something else"},
        {"{\"settings\":{\"loss\":\"hinge\"}}",
         "`loss`: expected softplus or softmax, found 'hinge'"},
        {"{\"settings\":{\"loss\":\"softplus\",\"lr\":-1}}",
         "`lr`: expected a rate above 0 that single precision can hold, found -1"},
        {"{\"preset\":\"mine\",\"settings\":{\"loss\":\"softplus\"}}",
         "`preset`: expected paper or graft, found 'mine'"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        kg_train_options found;
        kg_error error = {0};
        json_t *config = json_loads(bad[i][0], 0, NULL);
        assert_int_equal(kg__train_read(&found, config, "m", &error), KG_BAD_INPUT);
        assert_string_equal(error.message, bad[i][1]);
        assert_string_equal(error.source, "m");
        json_decref(config);
    }
}

/* ---- Every row ---- */

/* A setting's value in JSON as its text: that of a number, yes or no, or names joined by +. */
static void join_json(char *out, size_t size, json_t *value) {
    *out = '\0';
    if (json_is_integer(value))
        snprintf(out, size, "%jd", (intmax_t)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(out, size, "%.15g", json_real_value(value));
    else if (json_is_string(value))
        snprintf(out, size, "%s", json_string_value(value));
    else if (json_is_boolean(value))
        snprintf(out, size, "%s", json_is_true(value) ? "yes" : "no");
    for (size_t i = 0; i < json_array_size(value); i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%s", i == 0 ? "" : "+",
                 json_string_value(json_array_get(value, i)));
}

/* Text becomes a value, which becomes the same text, also through JSON. */
static void check_round_trip(const kg_setting *setting, const char *written) {
    kg_train_options options = {0};
    kg_train_options again = {0};
    kg_error error = {0};
    char joined[256];
    assert_ok(kg__setting_parse(setting, &options, written, &error), &error);
    assert_string_equal(kg__setting_text(setting, &options).text, written);
    json_t *value = kg__setting_json(setting, &options);
    join_json(joined, sizeof joined, value);
    json_decref(value);
    assert_ok(kg__setting_parse(setting, &again, joined[0] == '\0' ? "none" : joined, &error),
              &error);
    assert_memory_equal(&again, &options, sizeof again);
}

static void test_round_trips(void **state) {
    (void)state;
    static const char *const counts[] = {"0", "1", "1000", "4611686018427387904"};
    static const char *const numbers[] = {"0", "0.1", "1", "1e-07", "-2.5", "123456.789012345"};
    static const char *const sets[] = {"none", "all"};
    for (size_t i = 0; i < kg__setting_count; i++) {
        const kg_setting *setting = &kg__settings[i];
        for (size_t k = 0; setting->type == KG_TYPE_COUNT && k < COUNT_OF(counts); k++)
            check_round_trip(setting, counts[k]);
        for (size_t k = 0; setting->type == KG_TYPE_NUMBER && k < COUNT_OF(numbers); k++)
            check_round_trip(setting, numbers[k]);
        for (size_t k = 0; setting->type == KG_TYPE_SET && k < COUNT_OF(sets); k++)
            check_round_trip(setting, sets[k]);
        for (size_t k = 0; setting->choices != NULL && kg__setting_choice(setting, k) != NULL; k++)
            check_round_trip(setting, kg__setting_choice(setting, k));
    }
    check_round_trip(kg__setting_find("terms"), "embedding+propagation");
}

/* ---- What is refused ---- */

/* The message begins with the setting, in backquotes and with underscores. */
static void check_refusal(const kg_setting *setting, const kg_error *error) {
    char start[160];
    snprintf(start, sizeof start, "`%s`: expected ", kg__setting_key(setting).text);
    if (strncmp(error->message, start, strlen(start)) != 0)
        fail_msg("expected %s..., found %s", start, error->message);
}

static void refuse_number(const kg_setting *setting, double number) {
    kg_train_options options = kg__train_defaults(KG_GRAFT, kg__scoring_find("distmult"));
    kg_error error = {0};
    bool is_count = setting->type == KG_TYPE_COUNT;
    uint64_t count = is_count && number >= 0 ? (uint64_t)number : 0;
    kg__setting_store(setting, &options, is_count ? (const void *)&count : &number);
    assert_status(kg__train_check(&options, &error), KG_BAD_INPUT, &error);
    check_refusal(setting, &error);
}

static void test_ranges(void **state) {
    (void)state;
    size_t ranges = 0;
    for (size_t i = 0; i < kg__setting_count; i++) {
        const kg_setting *setting = &kg__settings[i];
        const kg_range *range = setting->range;
        bool is_number = setting->type == KG_TYPE_NUMBER;
        assert_true(range != NULL || !is_number);
        if (range == NULL)
            continue;
        ranges++;
        refuse_number(setting, range->is_below ? range->most : range->most * 2);
        if (range->least > 0 || is_number)
            refuse_number(setting, range->is_above ? range->least : range->least - 1);
        if (range->is_above)
            refuse_number(setting, 1e-60); /* 0 in single precision */
        if (is_number)
            refuse_number(setting, (double)NAN);
        if (is_number)
            refuse_number(setting, (double)INFINITY);
    }
    assert_true(ranges > 10);
    refuse_number(kg__setting_find("dim"), 0);
}

static void test_words(void **state) {
    (void)state;
    static const char *const words[] = {"", "?", " 1", "1 ", "1x", "nan", "inf", "none+all", "+"};
    kg_train_options options = {0};
    for (size_t i = 0; i < kg__setting_count; i++)
        for (size_t k = 0; k < COUNT_OF(words); k++) {
            kg_error error = {0};
            assert_status(kg__setting_parse(&kg__settings[i], &options, words[k], &error),
                          KG_BAD_INPUT, &error);
            check_refusal(&kg__settings[i], &error);
        }
}

/* ---- What is not given ---- */

/* Settings from words, each with its value behind it. */
static kg_settings give(const char *const *words) {
    kg_settings out = {0};
    for (; *words != NULL; words += 2) {
        kg_error error = {0};
        assert_ok(kg__settings_set(&out, kg__setting_find(words[0]), words[1], &error), &error);
    }
    return out;
}
#define GIVE(...) give((const char *const[]){__VA_ARGS__, NULL})

static void test_given(void **state) {
    (void)state;
    kg_settings none = {0};
    kg_train_options usual = kg__settings_complete(&none);
    assert_string_equal(usual.scoring->name, "distmult");
    assert_int_equal(usual.preset, KG_GRAFT);
    kg_settings encoded = GIVE("model", "rgcn-d");
    usual = kg__settings_complete(&encoded);
    assert_int_equal(usual.preset, KG_PAPER);
    assert_int_equal(usual.epochs, 30);

    /* A default that is given is given, too. */
    kg_settings seed = GIVE("seed", "0");
    assert_true(kg__settings_has(&seed, "seed"));
    assert_false(kg__settings_has(&seed, "threads"));

    /* Some values follow others. */
    kg_settings rate = GIVE("lr", "0.2");
    usual = kg__settings_complete(&rate);
    assert_true(fabs(usual.last_rate - 0.01) < 1e-15);
    kg_settings psi = GIVE("psi", "0.5");
    usual = kg__settings_complete(&psi);
    assert_false(kg__train_has(&usual, "propagation"));
    kg_settings n3 = GIVE("preset", "paper", "regularizer", "n3");
    assert_true(kg__settings_complete(&n3).l2 == 0);
    kg_settings all = GIVE("lr", "0.2", "lr-last", "0.2", "psi", "0.5", "terms", "all", "preset",
                           "paper", "regularizer", "n3", "l2", "0.01");
    usual = kg__settings_complete(&all);
    assert_true(usual.last_rate == 0.2 && usual.l2 == 0.01);
    assert_true(kg__train_has(&usual, "propagation"));
}

static void test_without_effect(void **state) {
    (void)state;
    kg_error error = {0};
    kg_settings power = GIVE("aggregate", "eravg", "graft-power", "0.5");
    assert_status(kg__settings_check(&power, power.given, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "`aggregate`: expected graft for `graft_power`, found eravg");
    kg_settings n3 = GIVE("n3", "0.05");
    assert_status(kg__settings_check(&n3, n3.given, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "`regularizer`: expected n3 for `n3`, found l2");
    kg_settings both = GIVE("regularizer", "n3", "n3", "0.05");
    assert_ok(kg__settings_check(&both, both.given, &error), &error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets), cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_ranges),  cmocka_unit_test(test_words),
        cmocka_unit_test(test_given),   cmocka_unit_test(test_without_effect),
        cmocka_unit_test(test_read),    cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
