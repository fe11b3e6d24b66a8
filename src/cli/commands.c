/* All commands, in the order of --help. */
#include "cli/cli.h"

/* One a line: */
/* clang-format off */
const cli_command *const cli_commands[CLI_MOST_COMMANDS] = {
    &cli_import,
    &cli_stats,
    &cli_train,
    &cli_predict,
    &cli_explain,
    &cli_embed,
    &cli_neighbors,
    &cli_store,
    &cli_add,
    &cli_remove,
    &cli_log,
    &cli_compact,
    &cli_serve,
    &cli_info,
    &cli_check,
    &cli_export,
    &cli_adopt,
    &cli_calibrate,
    &cli_index,
    &cli_split,
    &cli_eval,
    &cli_replay,
    &cli_tune,
    &cli_reproduce,
    &cli_generate,
    NULL,
};
/* clang-format on */
