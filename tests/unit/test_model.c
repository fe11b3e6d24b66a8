/* Model folders: what is written is what is opened. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/folder.h"
#include "model/model.h"
#include "support.h"

#define DIM 4
#define ENTITIES 5
#define RELATIONS 2
#define MODEL "model"

static const char facts[] = "a r b\nb r c\nc s a\nd s e\na s e\na r a\n\na s b\n";

/* A model in the making: every number in it is another one. */
typedef struct world {
    kg_dataset dataset;
    real entities[ENTITIES * DIM];
    real relations[RELATIONS * DIM];
    real calibration[2 * RELATIONS * 2];
    kg_tables tables;
} world;

static void number(real *values, size_t count, double from) {
    for (size_t i = 0; i < count; i++)
        values[i] = (real)(from + 0.25 * (double)i);
}

static void open_world(world *w) {
    make_dataset(&w->dataset, facts);
    assert_int_equal(kg_dataset_in_sample(&w->dataset), ENTITIES);
    number(w->entities, COUNT_OF(w->entities), 1);
    number(w->relations, COUNT_OF(w->relations), -9);
    number(w->calibration, COUNT_OF(w->calibration), 100);
    w->tables = (kg_tables){kg_kind_find("distmult"), w->entities, w->relations, DIM, NULL};
}

static void write_model(world *w, const real *calibration) {
    kg_error error = {0};
    bool made = false;
    json_t *config = json_pack("{si si s{ss si}}", "entities", ENTITIES, "relations", RELATIONS,
                               "settings", "model", "distmult", "dim", DIM);
    assert_ok(kg_model_folder_make(MODEL, false, true, &made, &error), &error);
    kg_model_parts parts = {&w->tables, &w->dataset, calibration, config};
    assert_ok(kg_model_write(MODEL, &parts, &error), &error);
    json_decref(config);
}

static void assert_names(const kg_names *names, const kg_names *expected, size_t count) {
    assert_int_equal(names->count, count);
    for (kg_id i = 0; i < count; i++) {
        kg_name name = kg_names_get(expected, i);
        kg_name found = kg_names_get(names, i);
        assert_int_equal(found.length, name.length);
        assert_memory_equal(found.bytes, name.bytes, name.length);
        assert_int_equal(kg_names_find(names, kg_name_of(name.bytes, name.length)), i);
    }
}

static void assert_model(const world *w, const real *calibration) {
    kg_error error = {0};
    kg_model model;
    assert_ok(kg_model_open(&model, MODEL, &error), &error);
    assert_int_equal(model.tables.dim, DIM);
    assert_memory_equal(model.tables.entities, w->entities, sizeof w->entities);
    assert_memory_equal(model.tables.relations, w->relations, sizeof w->relations);
    assert_names(&model.entities, &w->dataset.entities, ENTITIES);
    assert_names(&model.relations, &w->dataset.relations, RELATIONS);
    assert_int_equal(model.calibration == NULL, calibration == NULL);
    if (calibration != NULL)
        assert_memory_equal(model.calibration, calibration, sizeof w->calibration);
    kg_model_close(&model);
}

static void test_round_trip(void **state) {
    (void)state;
    world w;
    open_world(&w);
    write_model(&w, NULL);
    assert_model(&w, NULL);
    assert_int_equal(count_entries(MODEL), 6);
    write_model(&w, w.calibration);
    assert_model(&w, w.calibration);
    assert_int_equal(count_entries(MODEL), 7);
    write_model(&w, NULL); /* takes the old one's calibration away */
    assert_model(&w, NULL);
    assert_int_equal(count_entries(MODEL), 6);
    kg_dataset_close(&w.dataset);
}

static void test_calibration_of_a_model(void **state) {
    (void)state;
    kg_error error = {0};
    world w;
    open_world(&w);
    write_model(&w, NULL);
    assert_ok(kg_model_write_calibration(MODEL, w.calibration, RELATIONS, &error), &error);
    assert_model(&w, w.calibration);
    number(w.calibration, COUNT_OF(w.calibration), -7);
    assert_ok(kg_model_write_calibration(MODEL, w.calibration, RELATIONS, &error), &error);
    assert_model(&w, w.calibration);
    assert_int_equal(count_entries(MODEL), 7);
    assert_status(kg_model_write_calibration(MODEL, w.calibration, 1, &error), KG_BAD_INPUT, NULL);
    assert_error_text(&error, MODEL ": expected a model of 1 relations to calibrate, found 2");
    kg_dataset_close(&w.dataset);
}

static void test_calibration_that_is_no_number(void **state) {
    (void)state;
    kg_error error = {0};
    kg_model model;
    world w;
    open_world(&w);
    static const double wrong[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        w.calibration[2 * i + 1] = (real)wrong[i];
        write_model(&w, w.calibration);
        assert_status(kg_model_open(&model, MODEL, &error), KG_BAD_INPUT, NULL);
        w.calibration[2 * i + 1] = 1;
    }
    assert_error_text(&error, MODEL "/calibration.safetensors: expected a calibration of finite "
                                    "numbers, found -inf in row 2");
    kg_dataset_close(&w.dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_round_trip),
        test_in_folder(test_calibration_of_a_model),
        test_in_folder(test_calibration_that_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
