/* The measurement of embedding: that it measures what it says, all of it. How long anything takes
 * is not for a test. */
#include <math.h>
#include <stdlib.h>

#include "aggregate/aggregate_options.h"
#include "base/random.h"
#include "experiment/embed_timing.h"
#include "math/linalg.h"
#include "support.h"

#define DIM 24
#define MOST 100

static void fill(real *values, size_t count, kg_stream stream) {
    for (size_t i = 0; i < count; i++)
        values[i] = (real)(2 * kg__random_unit(3, stream, i) - 1);
}

static void check_written(const kg_params *tables, const kg_link *links, size_t count) {
    static double rows[MOST * DIM];
    static double square[DIM * DIM];
    double right[DIM];
    real row[DIM];
    real written[DIM];
    real ours[DIM];
    assert_true(experiment_embed_as_written(written, (experiment_written){rows, square, right, row},
                                            tables, links, count, KG_LS_LAMBDA));
    kg_aggregate aggregate;
    kg_aggregate_options usual = kg__aggregate_defaults(kg__aggregator_find("ls"));
    kg_aggregate_use use = {.links = links, .count = count};
    kg_arena arena = {0};
    assert_ok(kg__aggregate_load(&aggregate, &usual, tables, &arena, &use, NULL), NULL);
    kg__aggregate_forward(&aggregate, ours, (kg_left_out){NULL, 0});
    kg__arena_free(&arena);
    for (size_t i = 0; i < DIM; i++)
        assert_true(fabs((double)(written[i] - ours[i])) < 1e-4);
}

static void test_as_written_is_what_ls_gives(void **state) {
    (void)state;
    static const size_t counts[] = {1, 2, 5, DIM - 1, DIM, DIM + 1, MOST};
    static real entities[MOST * DIM];
    static real relations[3 * DIM];
    static kg_link links[MOST];
    fill(entities, MOST * DIM, KG_STREAM_INIT_ENTITIES);
    fill(relations, 3 * DIM, KG_STREAM_INIT_RELATIONS);
    for (size_t i = 0; i < MOST; i++)
        links[i] = (kg_link){(kg_directed)(i * 6 / MOST), (kg_id)i};
    assert_int_equal(kg__linear_set_up(1, NULL), KG_OK);
    for (size_t kind = 0; kg__scorings[kind].name != NULL; kind++) {
        kg_params tables = {.scoring = &kg__scorings[kind],
                            .entities = entities,
                            .relations = relations,
                            .dim = DIM};
        for (size_t i = 0; i < COUNT_OF(counts); i++)
            check_written(&tables, links, counts[i]);
    }
}

static void test_fit(void **state) {
    (void)state;
    double operations[] = {1, 20, 3e3, 5e9};
    double times[COUNT_OF(operations)];
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        times[i] = 0.375 * operations[i];
    assert_true(fabs(experiment_fit_constant(operations, times, COUNT_OF(operations)) - 0.375) <
                1e-12);
    /* Too long and too short by the same factor. */
    times[0] *= 8;
    times[3] /= 8;
    assert_true(fabs(experiment_fit_constant(operations, times, COUNT_OF(operations)) - 0.375) <
                1e-12);
}

static const size_t facts[] = {1, 7, 12, 40};
static const size_t dims[] = {4, 12, 20};
static const experiment_timing_options options = {
    .facts = facts,
    .fact_count = COUNT_OF(facts),
    .dim = 12,
    .dims = dims,
    .dim_count = COUNT_OF(dims),
    .entity_facts = 9,
    .seconds = 1e-6,
};

static void assert_time(const json_t *value) {
    assert_true(json_is_real(value));
    assert_true(json_real_value(value) > 0 && isfinite(json_real_value(value)));
}

static void check_table(const json_t *table, const size_t *labels, size_t count) {
    const json_t *rows = json_object_get(table, "rows");
    size_t columns = json_array_size(json_object_get(table, "columns"));
    assert_int_equal(columns, 3);
    assert_int_equal(json_array_size(rows), count);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *cells = json_object_get(row, "cells");
        assert_int_equal(strtoul(json_string_value(json_object_get(row, "label")), NULL, 10),
                         labels[i]);
        assert_int_equal(json_array_size(cells), columns);
        for (size_t k = 0; k < columns; k++) {
            const json_t *cell = json_array_get(cells, k);
            assert_time(json_object_get(cell, "value"));
            assert_true(json_real_value(json_object_get(cell, "sd")) >= 0);
        }
    }
}

static void check_plot(const json_t *plot, const char *name, const size_t *labels, size_t count) {
    const json_t *series = json_object_get(plot, "series");
    assert_string_equal(json_string_value(json_object_get(plot, "name")), name);
    assert_int_equal(json_array_size(series), 6);
    for (size_t i = 0; i < 6; i++) {
        const json_t *curve = json_array_get(series, i);
        const json_t *points = json_object_get(curve, "points");
        assert_string_equal(json_string_value(json_object_get(curve, "style")),
                            i % 2 == 0 ? "points" : "dashed");
        assert_int_equal(json_array_size(points), count);
        for (size_t k = 0; k < count; k++) {
            const json_t *point = json_array_get(points, k);
            assert_int_equal(json_integer_value(json_array_get(point, 0)), labels[k]);
            assert_time(json_array_get(point, 1));
        }
    }
}

static void test_report_has_all_points(void **state) {
    (void)state;
    json_t *found = NULL;
    kg_error error;
    assert_ok(experiment_measure_embedding(&found, &options, NULL, &error), &error);
    const json_t *tables = json_object_get(found, "tables");
    const json_t *plots = json_object_get(found, "plots");
    check_table(json_array_get(tables, 0), facts, COUNT_OF(facts));
    check_table(json_array_get(tables, 1), dims, COUNT_OF(dims));
    const json_t *laws = json_object_get(json_array_get(tables, 2), "rows");
    assert_int_equal(json_array_size(laws), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *cells = json_object_get(json_array_get(laws, i), "cells");
        assert_time(json_object_get(json_array_get(cells, 0), "value"));
    }
    check_plot(json_array_get(plots, 0), "complexity-facts", facts, COUNT_OF(facts));
    check_plot(json_array_get(plots, 1), "complexity-width", dims, COUNT_OF(dims));
    json_decref(found);
}

static bool refuse(void *payload, const kg_progress_report *report) {
    (void)payload;
    return report->done < 2;
}

static void test_can_be_stopped(void **state) {
    (void)state;
    json_t *found = NULL;
    kg_error error;
    kg_progress progress = {refuse, NULL};
    assert_status(experiment_measure_embedding(&found, &options, &progress, &error), KG_CANCELLED,
                  &error);
    assert_null(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_written_is_what_ls_gives),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_report_has_all_points),
        cmocka_unit_test(test_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
