/* From lists to combinations. */
#include "cli/grid.h"

#include <string.h>

#include "base/memory.h"

static kg_status add_axis(cli_grid *grid, const cli_option *option, const char *list,
                          kg_error *error) {
    cli_axis *axis = &grid->axes[grid->axis_count];
    *axis = (cli_axis){option, kg__copy_string(list, strlen(list)), 1};
    if (axis->values == NULL)
        return kg__fail_memory(error);
    grid->axis_count++;
    for (char *at = axis->values; *at != '\0' && option->kind != CLI_TEXT; at++)
        if (*at == ',')
            axis->count++;
    grid->count *= axis->count;
    if (grid->count > CLI_MOST_RUNS)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a grid of at most %d runs, found a larger one", CLI_MOST_RUNS);
    for (char *at = axis->values; *at != '\0' && option->kind != CLI_TEXT; at++)
        if (*at == ',')
            *at = '\0';
    return KG_OK;
}

static const char *get_value(const cli_axis *axis, size_t i) {
    const char *value = axis->values;
    for (; i > 0; i--)
        value += strlen(value) + 1;
    return value;
}

static kg_status set_options(const cli_grid *grid, size_t i, void *settings, kg_error *error) {
    memcpy(settings, grid->command->defaults, grid->command->settings_size);
    for (size_t a = grid->axis_count; a > 0; a--) {
        const cli_axis *axis = &grid->axes[a - 1];
        KG_TRY(cli_set_option(axis->option, settings, get_value(axis, i % axis->count), error));
        i /= axis->count;
    }
    return KG_OK;
}

static kg_status make(cli_grid *grid, const char *const *lists, kg_error *error) {
    const cli_option *options = grid->command->options;
    for (size_t i = 0; options[i].name != NULL; i++)
        if (lists[i] != NULL)
            KG_TRY(add_axis(grid, &options[i], lists[i], error));
    grid->settings = kg__alloc(grid->count, grid->command->settings_size);
    if (grid->settings == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < grid->count; i++)
        KG_TRY(set_options(grid, i, grid->settings + i * grid->command->settings_size, error));
    return KG_OK;
}

kg_status cli_grid_make(cli_grid *out, const cli_command *command, const char *const *lists,
                        kg_error *error) {
    *out = (cli_grid){.command = command, .count = 1};
    kg_status status = make(out, lists, error);
    if (status != KG_OK)
        cli_grid_free(out);
    return status;
}

void cli_grid_free(cli_grid *grid) {
    for (size_t i = 0; i < grid->axis_count; i++)
        kg__free(grid->axes[i].values);
    kg__free(grid->settings);
    *grid = (cli_grid){0};
}

const void *cli_grid_settings(const cli_grid *grid, size_t i) {
    return grid->settings + i * grid->command->settings_size;
}

kg_status cli_run_name_add(cli_run_name *name, size_t *length, const cli_option *option,
                           const cli_value *value, kg_error *error) {
    *length += (size_t)snprintf(name->text + *length, sizeof name->text - *length, "%s%s=%s",
                                *length == 0 ? "" : ",", option->name, value->text);
    if (*length >= sizeof name->text || strchr(value->text, '/') != NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected options whose values fit into the name of a folder, found "
                       "more than %d letters or a slash",
                       NAME_MAX);
    return KG_OK;
}

kg_status cli_grid_name(cli_run_name *out, const cli_grid *grid, size_t i, kg_error *error) {
    size_t length = 0;
    for (size_t a = 0; a < grid->axis_count; a++) {
        const cli_option *option = grid->axes[a].option;
        if (!cli_axis_varies(&grid->axes[a]))
            continue;
        cli_value value = cli_option_text(option, cli_grid_settings(grid, i));
        KG_TRY(cli_run_name_add(out, &length, option, &value, error));
    }
    if (length == 0)
        snprintf(out->text, sizeof out->text, "run");
    return KG_OK;
}
