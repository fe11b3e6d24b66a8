/* The schema of results, and what a schema cannot express: that rows are as long as their heads,
 * that names are unique, and that every point has a place in its plot. */
#include "report/results.h"

#include "base/text.h"
#include "report/json_schema.h"

/* ---- Schemas, from the inside out ---- */

#define REQUIRED(key, value) \
    { .name = (key), .required = true, .schema = &(value) }
#define OPTIONAL(key, value) \
    { .name = (key), .schema = &(value) }
#define FIELDS(...)               \
    (const json_schema_field[]) { \
        __VA_ARGS__, {            \
            0                     \
        }                         \
    }

static const char *const betters[] = {"higher", "lower", "same", NULL};

static const json_schema text_schema = {.kind = SCHEMA_TEXT};
static const json_schema name_schema = {.kind = SCHEMA_NAME};
static const json_schema number_schema = {.kind = SCHEMA_NUMBER};
static const json_schema count_schema = {.kind = SCHEMA_COUNT};
static const json_schema truth_schema = {.kind = SCHEMA_TRUTH};
static const json_schema digits_schema = {.kind = SCHEMA_COUNT, .most = 15};
static const json_schema better_schema = {.kind = SCHEMA_TEXT, .choices = betters};
static const json_schema style_schema = {.kind = SCHEMA_TEXT, .choices = report_style_names};
static const json_schema texts_schema = {.kind = SCHEMA_LIST, .items = &text_schema};

static const json_schema column_schema = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS(REQUIRED("label", text_schema), REQUIRED("digits", digits_schema),
                     OPTIONAL("better", better_schema), OPTIONAL("note", text_schema)),
};
static const json_schema columns_schema = {
    .kind = SCHEMA_LIST, .items = &column_schema, .least = 1};

static const json_schema cell_schema = {
    .kind = SCHEMA_OBJECT,
    .nullable = true,
    .fields = FIELDS(OPTIONAL("text", text_schema), OPTIONAL("value", number_schema),
                     OPTIONAL("sd", number_schema), OPTIONAL("paper", number_schema),
                     OPTIONAL("seeds", count_schema)),
};
static const json_schema cells_schema = {.kind = SCHEMA_LIST, .items = &cell_schema};

static const json_schema row_schema = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS(REQUIRED("label", text_schema), OPTIONAL("rule", truth_schema),
                     OPTIONAL("note", text_schema), REQUIRED("cells", cells_schema)),
};
static const json_schema rows_schema = {.kind = SCHEMA_LIST, .items = &row_schema};

static const json_schema table_schema = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS(REQUIRED("title", text_schema), REQUIRED("head", text_schema),
                     REQUIRED("columns", columns_schema), REQUIRED("rows", rows_schema)),
};
static const json_schema tables_schema = {.kind = SCHEMA_LIST, .items = &table_schema};

static const json_schema point_schema = {
    .kind = SCHEMA_LIST, .items = &number_schema, .least = 2, .most = 3};
static const json_schema points_schema = {.kind = SCHEMA_LIST, .items = &point_schema, .least = 1};
static const json_schema group_schema = {
    .kind = SCHEMA_LIST, .items = &number_schema, .least = 2, .most = 2};
static const json_schema groups_schema = {.kind = SCHEMA_LIST, .items = &group_schema};

static const json_schema series_schema = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS(REQUIRED("name", text_schema), REQUIRED("style", style_schema),
                     REQUIRED("points", points_schema), OPTIONAL("groups", groups_schema)),
};
static const json_schema all_series_schema = {
    .kind = SCHEMA_LIST, .items = &series_schema, .least = 1};

static const json_schema plot_schema = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS(REQUIRED("name", name_schema), REQUIRED("title", text_schema),
                     REQUIRED("x", text_schema), REQUIRED("y", text_schema),
                     OPTIONAL("log_x", truth_schema), OPTIONAL("log_y", truth_schema),
                     OPTIONAL("y_from_zero", truth_schema), OPTIONAL("x_labels", texts_schema),
                     REQUIRED("series", all_series_schema)),
};
static const json_schema plots_schema = {.kind = SCHEMA_LIST, .items = &plot_schema};

static const json_schema experiment_schema = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS(REQUIRED("name", name_schema), REQUIRED("title", text_schema),
                     OPTIONAL("beside", text_schema), OPTIONAL("text", texts_schema),
                     OPTIONAL("seconds", number_schema), OPTIONAL("tables", tables_schema),
                     OPTIONAL("plots", plots_schema)),
};
static const json_schema experiments_schema = {.kind = SCHEMA_LIST, .items = &experiment_schema};

static const json_schema machine_schema = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS(REQUIRED("processor", text_schema), OPTIONAL("kernels", text_schema),
                     REQUIRED("blas", text_schema), REQUIRED("threads", count_schema)),
};

static const json_schema results_schema = {
    .kind = SCHEMA_OBJECT,
    .fields = FIELDS(REQUIRED("version", text_schema), REQUIRED("made", text_schema),
                     OPTIONAL("title", text_schema), OPTIONAL("machine", machine_schema),
                     REQUIRED("command", text_schema), REQUIRED("experiments", experiments_schema)),
};

/* ---- What schemas cannot express ---- */

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

/* Adds the names of a list to those that are in use. */
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

/* A plot may have the name of an experiment. */
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
    KG_TRY(json_schema_check(&experiment_schema, experiment, "experiment", error));
    return check_inside(experiment, error);
}

kg_status report_check_results(const json_t *results, kg_error *error) {
    KG_TRY(json_schema_check(&results_schema, results, "results", error));
    const json_t *experiments = json_object_get(results, "experiments");
    const json_t *experiment = NULL;
    size_t i = 0;
    json_array_foreach(experiments, i, experiment) {
        KG_TRY(check_inside(experiment, error));
    }
    return check_names(experiments, error);
}
