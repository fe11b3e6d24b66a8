/* The shape of results, and what a shape cannot say: that rows are as long as their heads, that
 * names are unique, and that every point has a place in its plot. */
#include "report/results.h"

#include "base/text.h"
#include "report/json_schema.h"

/* ---- Shapes, from the inside out ---- */

#define FIELDS(...)               \
    (const json_schema_field[]) { \
        __VA_ARGS__, {            \
            NULL, false, NULL     \
        }                         \
    }

static const char *const betters[] = {"higher", "lower", "same", NULL};

static const json_schema text_shape = {.kind = SCHEMA_TEXT};
static const json_schema name_shape = {.kind = SCHEMA_NAME};
static const json_schema number_shape = {.kind = SCHEMA_NUMBER};
static const json_schema count_shape = {.kind = SCHEMA_COUNT};
static const json_schema truth_shape = {.kind = SCHEMA_TRUTH};
static const json_schema digits_shape = {.kind = SCHEMA_COUNT, .most = 15};
static const json_schema better_shape = {.kind = SCHEMA_TEXT, .choices = betters};
static const json_schema style_shape = {.kind = SCHEMA_TEXT, .choices = report_style_names};
static const json_schema texts_shape = {.kind = SCHEMA_LIST, .items = &text_shape};

static const json_schema column_shape = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS({"label", true, &text_shape}, {"digits", true, &digits_shape},
                     {"better", false, &better_shape}, {"note", false, &text_shape}),
};
static const json_schema columns_shape = {.kind = SCHEMA_LIST, .items = &column_shape, .least = 1};

static const json_schema cell_shape = {
    .kind = SCHEMA_OBJECT,
    .nullable = true,
    .fields = FIELDS({"text", false, &text_shape}, {"value", false, &number_shape},
                     {"sd", false, &number_shape}, {"paper", false, &number_shape},
                     {"seeds", false, &count_shape}),
};
static const json_schema cells_shape = {.kind = SCHEMA_LIST, .items = &cell_shape};

static const json_schema row_shape = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS({"label", true, &text_shape}, {"rule", false, &truth_shape},
                     {"note", false, &text_shape}, {"cells", true, &cells_shape}),
};
static const json_schema rows_shape = {.kind = SCHEMA_LIST, .items = &row_shape};

static const json_schema table_shape = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS({"title", true, &text_shape}, {"head", true, &text_shape},
                     {"columns", true, &columns_shape}, {"rows", true, &rows_shape}),
};
static const json_schema tables_shape = {.kind = SCHEMA_LIST, .items = &table_shape};

static const json_schema point_shape = {
    .kind = SCHEMA_LIST, .items = &number_shape, .least = 2, .most = 3};
static const json_schema points_shape = {.kind = SCHEMA_LIST, .items = &point_shape, .least = 1};
static const json_schema group_shape = {
    .kind = SCHEMA_LIST, .items = &number_shape, .least = 2, .most = 2};
static const json_schema groups_shape = {.kind = SCHEMA_LIST, .items = &group_shape};

static const json_schema series_shape = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS({"name", true, &text_shape}, {"style", true, &style_shape},
                     {"points", true, &points_shape}, {"groups", false, &groups_shape}),
};
static const json_schema all_series_shape = {
    .kind = SCHEMA_LIST, .items = &series_shape, .least = 1};

static const json_schema plot_shape = {
    .kind = SCHEMA_OBJECT,
    .fields =
        FIELDS({"name", true, &name_shape}, {"title", true, &text_shape}, {"x", true, &text_shape},
               {"y", true, &text_shape}, {"log_x", false, &truth_shape},
               {"log_y", false, &truth_shape}, {"y_from_zero", false, &truth_shape},
               {"x_labels", false, &texts_shape}, {"series", true, &all_series_shape}),
};
static const json_schema plots_shape = {.kind = SCHEMA_LIST, .items = &plot_shape};

static const json_schema experiment_shape = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS({"name", true, &name_shape}, {"title", true, &text_shape},
                     {"beside", false, &text_shape}, {"text", false, &texts_shape},
                     {"seconds", false, &number_shape}, {"tables", false, &tables_shape},
                     {"plots", false, &plots_shape}),
};
static const json_schema experiments_shape = {.kind = SCHEMA_LIST, .items = &experiment_shape};

static const json_schema machine_shape = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS({"processor", true, &text_shape}, {"kernels", false, &text_shape},
                     {"blas", true, &text_shape}, {"threads", true, &count_shape}),
};

static const json_schema results_shape = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS({"version", true, &text_shape}, {"made", true, &text_shape},
                     {"title", false, &text_shape}, {"machine", false, &machine_shape},
                     {"command", true, &text_shape}, {"experiments", true, &experiments_shape}),
};

/* ---- What shapes cannot say ---- */

static kg_quoted quoted(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return kg__quote(json_string_value(value), json_string_length(value));
}

static kg_status check_table(const json_t *table, kg_error *error) {
    size_t expected = json_array_size(json_object_get(table, "columns"));
    const json_t *row = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        const json_t *cells = json_object_get(row, "cells");
        const json_t *cell = NULL;
        size_t k = 0;
        if (json_array_size(cells) != expected)
            return kg_fail(error, KG_BAD_INPUT,
                           "expected a cell for each of %zu columns, found %zu in row %zu of table "
                           "%s",
                           expected, json_array_size(cells), i + 1, quoted(table, "title").text);
        json_array_foreach(cells, k, cell) {
            bool is_text = json_object_get(cell, "text") != NULL;
            bool is_value = json_object_get(cell, "value") != NULL;
            if (!json_is_null(cell) && is_text == is_value)
                return kg_fail(error, KG_BAD_INPUT,
                               "expected a cell with a value or a text, found %s in cell %zu of "
                               "row %zu of table %s",
                               is_text ? "both" : "neither", k + 1, i + 1,
                               quoted(table, "title").text);
        }
    }
    return KG_OK;
}

static kg_status check_point(const json_t *plot, const json_t *point, kg_error *error) {
    double x = json_number_value(json_array_get(point, 0));
    double y = json_number_value(json_array_get(point, 1));
    const json_t *labels = json_object_get(plot, "x_labels");
    if ((json_is_true(json_object_get(plot, "log_x")) && x <= 0) ||
        (json_is_true(json_object_get(plot, "log_y")) && y <= 0))
        return kg_fail(error, KG_BAD_INPUT,
                       "expected points over 0 on a logarithmic axis, found (%g, %g) in plot %s", x,
                       y, quoted(plot, "name").text);
    if (labels != NULL && !(x >= 0 && x < (double)json_array_size(labels)))
        return kg_fail(error, KG_BAD_INPUT,
                       "expected points at one of %zu labels, found x = %g in plot %s",
                       json_array_size(labels), x, quoted(plot, "name").text);
    return KG_OK;
}

static kg_status check_plot(const json_t *plot, kg_error *error) {
    const json_t *series = NULL;
    const json_t *point = NULL;
    size_t i = 0;
    size_t k = 0;
    json_array_foreach(json_object_get(plot, "series"), i, series) {
        json_array_foreach(json_object_get(series, "points"), k, point) {
            KG_TRY(check_point(plot, point, error));
        }
    }
    return KG_OK;
}

static kg_status check_inside(const json_t *experiment, kg_error *error) {
    const json_t *part = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(experiment, "tables"), i, part) {
        KG_TRY(check_table(part, error));
    }
    json_array_foreach(json_object_get(experiment, "plots"), i, part) {
        KG_TRY(check_plot(part, error));
    }
    return KG_OK;
}

/* Adds the names of a list to those that are taken. */
static kg_status take_names(json_t *taken, const json_t *list, kg_error *error) {
    const json_t *item = NULL;
    size_t i = 0;
    json_array_foreach(list, i, item) {
        const char *name = json_string_value(json_object_get(item, "name"));
        if (json_object_get(taken, name) != NULL)
            return kg_fail(error, KG_BAD_INPUT,
                           "expected experiments and plots under names of their own, found %s "
                           "twice",
                           quoted(item, "name").text);
        if (json_object_set_new(taken, name, json_true()) != 0)
            return kg__fail_memory(error);
    }
    return KG_OK;
}

/* A plot may be called like an experiment. */
static kg_status check_names(const json_t *experiments, kg_error *error) {
    json_t *taken = json_object();
    json_t *taken_by_plots = json_object();
    const json_t *experiment = NULL;
    size_t i = 0;
    kg_status status = take_names(taken, experiments, error);
    json_array_foreach(experiments, i, experiment) {
        if (status == KG_OK)
            status = take_names(taken_by_plots, json_object_get(experiment, "plots"), error);
    }
    json_decref(taken_by_plots);
    json_decref(taken);
    return status;
}

kg_status report_check_experiment(const json_t *experiment, kg_error *error) {
    KG_TRY(json_schema_check(&experiment_shape, experiment, "experiment", error));
    return check_inside(experiment, error);
}

kg_status report_check_results(const json_t *results, kg_error *error) {
    KG_TRY(json_schema_check(&results_shape, results, "results", error));
    const json_t *experiments = json_object_get(results, "experiments");
    const json_t *experiment = NULL;
    size_t i = 0;
    json_array_foreach(experiments, i, experiment) {
        KG_TRY(check_inside(experiment, error));
    }
    return check_names(experiments, error);
}
