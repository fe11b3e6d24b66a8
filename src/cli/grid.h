/* All combinations of values of a command's options: what `--lr 0.1,0.01 --l2 0,0.1` means to
 * kgraft tune. A combination is the settings of that command, as if its words had been typed. */
#ifndef KG_CLI_GRID_H
#define KG_CLI_GRID_H

#include <limits.h>

#include "cli/cli.h"

/* Enough for weeks of training; more is a slip. */
#define CLI_MOST_RUNS 1000

/* An option and the values that were given for it. */
typedef struct cli_axis {
    const cli_option *option;
    char *values; /* one behind the other, each ended by a zero */
    size_t count;
} cli_axis;

typedef struct cli_grid {
    const cli_command *command;
    cli_axis axes[CLI_MOST_OPTIONS]; /* in the order of the command's options */
    size_t axis_count;
    size_t count;   /* of combinations; the last axis changes fastest */
    char *settings; /* of all of them */
} cli_grid;

/* `lists` has a list, or NULL, for each option of the command. Values that the command would refuse
 * are refused here; text, in which a comma may mean anything, is one value. */
KG_MUST_CHECK kg_status cli_grid_make(cli_grid *out, const cli_command *command,
                                      const char *const *lists, kg_error *error);
void cli_grid_free(cli_grid *grid);

/* The settings of a combination. */
const void *cli_grid_settings(const cli_grid *grid, size_t i);

/* Whether an axis has several values. */
static inline bool cli_axis_varies(const cli_axis *axis) {
    return axis->count > 1;
}

/* A name for a folder, as in "lr=0.1,l2=0". */
typedef struct cli_run_name {
    char text[NAME_MAX + 1];
} cli_run_name;

/* Adds an option's value; `*length` starts as 0. */
KG_MUST_CHECK kg_status cli_run_name_add(cli_run_name *name, size_t *length,
                                         const cli_option *option, const cli_value *value,
                                         kg_error *error);

/* The options that vary, or "run" if none does. */
KG_MUST_CHECK kg_status cli_grid_name(cli_run_name *out, const cli_grid *grid, size_t i,
                                      kg_error *error);

#endif
