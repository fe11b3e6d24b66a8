/* Model folders: what is written is what is opened. */
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "some_model.h"
#include "support.h"

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
    give_propagation(&w.params, &w.propagation);
    write_model(&w, w.calibration);
    assert_model(&w, w.calibration);
    assert_int_equal(count_entries(MODEL), 7);
    memset(w.params.terms, 0, sizeof w.params.terms); /* and so with propagation */
    write_model(&w, NULL);
    assert_model(&w, NULL);
    assert_int_equal(count_entries(MODEL), 6);
    close_world(&w);
}

static void test_calibration_of_a_model(void **state) {
    (void)state;
    kg_error error = {0};
    world w;
    open_world(&w);
    write_model(&w, NULL);
    assert_ok(kg__model_write_calibration(MODEL, w.calibration, RELATIONS, NULL, &error), &error);
    assert_model(&w, w.calibration);
    number(w.calibration, COUNT_OF(w.calibration), -7);
    assert_ok(kg__model_write_calibration(MODEL, w.calibration, RELATIONS, NULL, &error), &error);
    assert_model(&w, w.calibration);
    assert_int_equal(count_entries(MODEL), 7);
    assert_status(kg__model_write_calibration(MODEL, w.calibration, 1, NULL, &error), KG_BAD_INPUT,
                  NULL);
    assert_error_text(&error, MODEL ": expected a model of 1 relations to calibrate, found 2");
    close_world(&w);
}

/* What cannot be opened again is not written, and the old model stays. */
static void test_calibration_that_is_no_number(void **state) {
    (void)state;
    kg_error error = {0};
    world w;
    open_world(&w);
    write_model(&w, w.calibration);
    static const double wrong[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        real values[COUNT_OF(w.calibration)] = {0};
        values[2 * i + 1] = (real)wrong[i];
        assert_status(kg__model_write_calibration(MODEL, values, RELATIONS, NULL, &error),
                      KG_BAD_INPUT, NULL);
        assert_model(&w, w.calibration);
        assert_int_equal(count_entries(MODEL), 7);
    }
    assert_error_text(&error, "expected finite numbers, found -inf in row 2 of 'calibration'");
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_round_trip),
        test_in_folder(test_calibration_of_a_model),
        test_in_folder(test_calibration_that_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
