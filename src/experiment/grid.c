/* From lists to combinations. */
#include "experiment/grid.h"

#include <string.h>

#include "base/memory.h"

static kg_status add_axis(experiment_grid *grid, const kg_setting *setting, const char *list,
                          kg_error *error) {
    experiment_axis *axis = &grid->axes[grid->axis_count];
    *axis = (experiment_axis){setting, kg__copy_string(list, strlen(list)), 1};
    if (axis->values == NULL)
        return kg__fail_memory(error);
    grid->axis_count++;
    for (char *at = axis->values; *at != '\0'; at++)
        if (*at == ',')
            axis->count++;
    grid->count *= axis->count;
    if (grid->count > EXPERIMENT_MOST_RUNS)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a grid of at most %d runs, found a larger one",
                       EXPERIMENT_MOST_RUNS);
    for (char *at = axis->values; *at != '\0'; at++)
        if (*at == ',')
            *at = '\0';
    return KG_OK;
}

static const char *get_value(const experiment_axis *axis, size_t i) {
    const char *value = axis->values;
    for (; i > 0; i--)
        value += strlen(value) + 1;
    return value;
}

static kg_status set_values(const experiment_grid *grid, size_t i, kg_settings *settings,
                            kg_error *error) {
    for (size_t a = grid->axis_count; a > 0; a--) {
        const experiment_axis *axis = &grid->axes[a - 1];
        KG_TRY(kg__settings_set(settings, axis->setting, get_value(axis, i % axis->count), error));
        i /= axis->count;
    }
    return KG_OK;
}

static kg_status make(experiment_grid *grid, const char *const *lists, kg_error *error) {
    for (size_t i = 0; i < kg__setting_count; i++)
        if (lists[i] != NULL)
            KG_TRY(add_axis(grid, &kg__settings[i], lists[i], error));
    grid->settings = kg__alloc(grid->count, sizeof *grid->settings);
    if (grid->settings == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < grid->count; i++)
        KG_TRY(set_values(grid, i, &grid->settings[i], error));
    return KG_OK;
}

kg_status experiment_grid_make(experiment_grid *out, const char *const *lists, kg_error *error) {
    *out = (experiment_grid){.count = 1};
    kg_status status = make(out, lists, error);
    if (status != KG_OK)
        experiment_grid_free(out);
    return status;
}

void experiment_grid_free(experiment_grid *grid) {
    for (size_t i = 0; i < grid->axis_count; i++)
        kg__free(grid->axes[i].values);
    kg__free(grid->settings);
    *grid = (experiment_grid){0};
}

kg_status experiment_run_name_add(experiment_run_name *name, size_t *length, const char *option,
                                  const char *value, kg_error *error) {
    *length += (size_t)snprintf(name->text + *length, sizeof name->text - *length, "%s%s=%s",
                                *length == 0 ? "" : ",", option, value);
    if (*length >= sizeof name->text || strchr(value, '/') != NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected options whose values fit into the name of a folder, found "
                       "more than %d letters or a slash",
                       NAME_MAX);
    return KG_OK;
}

kg_status experiment_grid_name(experiment_run_name *out, const experiment_grid *grid, size_t i,
                               kg_error *error) {
    size_t length = 0;
    for (size_t a = 0; a < grid->axis_count; a++) {
        const kg_setting *setting = grid->axes[a].setting;
        if (!experiment_axis_varies(&grid->axes[a]))
            continue;
        KG_TRY(experiment_run_name_add(out, &length, setting->name,
                                       kg__setting_text(setting, &grid->settings[i].options).text,
                                       error));
    }
    if (length == 0)
        snprintf(out->text, sizeof out->text, "run");
    return KG_OK;
}

kg_status experiment_train_name(experiment_run_name *out, const kg_train_options *options,
                                kg_error *error) {
    kg_train_options plain = kg__train_defaults(options->preset, kg__scorings);
    size_t length = 0;
    plain.preset = KG_PAPER;
    for (size_t i = 0; i < kg__setting_count; i++) {
        const kg_setting *setting = &kg__settings[i];
        kg_setting_text value = kg__setting_text(setting, options);
        if (strcmp(value.text, kg__setting_text(setting, &plain).text) != 0)
            KG_TRY(experiment_run_name_add(out, &length, setting->name, value.text, error));
    }
    if (length == 0)
        snprintf(out->text, sizeof out->text, "default");
    return KG_OK;
}
