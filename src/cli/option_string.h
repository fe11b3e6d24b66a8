/* Settings of a command as text: from a string of options, and back to a short name. */
#ifndef KG_CLI_OPTION_STRING_H
#define KG_CLI_OPTION_STRING_H

#include "cli/cli.h"
#include "experiment/grid.h"

typedef struct cli_option_string {
    void *settings; /* of the command */
    char *words;    /* what settings may borrow from */
} cli_option_string;

/* The settings that the options give, as if they had been typed behind the command's name. Words
 * are separated by spaces; there is no quoting. */
KG_MUST_CHECK kg_status cli_option_string_open(cli_option_string *out, const cli_command *command,
                                               const char *text, kg_error *error);
void cli_option_string_close(cli_option_string *line);

/* The options that differ between two settings of the command, with the values of the first, as in
 * "aggregate=ls,seed=1"; "default" if none does. */
KG_MUST_CHECK kg_status cli_settings_name(experiment_run_name *out, const cli_command *command,
                                          const void *settings, const void *others,
                                          kg_error *error);

#endif
