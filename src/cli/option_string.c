/* Strings of options. */
#include "cli/option_string.h"

#include <string.h>

#include "base/memory.h"

/* More words than all options with their values are refused. */
#define MOST_WORDS (2 * CLI_MOST_OPTIONS)

static kg_status split(char *text, char *words[MOST_WORDS], int *count, kg_error *error) {
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (*count == MOST_WORDS)
            return kg_fail(error, KG_BAD_INPUT, "expected at most %d words of options, found more",
                           MOST_WORDS);
        words[(*count)++] = word;
    }
    return KG_OK;
}

static kg_status fill(cli_option_string *line, const cli_command *command, const char *text,
                      kg_error *error) {
    line->settings = kg__alloc(1, command->settings_size);
    line->words = kg__copy_string(text, strlen(text));
    if (line->settings == NULL || line->words == NULL)
        return kg__fail_memory(error);
    memcpy(line->settings, command->defaults, command->settings_size);
    char *words[MOST_WORDS];
    int count = 0;
    KG_TRY(split(line->words, words, &count, error));
    return cli_parse_options(command, line->settings, count, words, error);
}

kg_status cli_option_string_open(cli_option_string *out, const cli_command *command,
                                 const char *text, kg_error *error) {
    *out = (cli_option_string){0};
    kg_status status = fill(out, command, text, error);
    if (status != KG_OK)
        cli_option_string_close(out);
    return status;
}

void cli_option_string_close(cli_option_string *line) {
    kg__free(line->settings);
    kg__free(line->words);
    *line = (cli_option_string){0};
}

kg_status cli_settings_name(experiment_run_name *out, const cli_command *command,
                            const void *settings, const void *others, kg_error *error) {
    cli_option option;
    size_t length = 0;
    for (size_t i = 0; (option = cli_option_at(command, i)).name != NULL; i++) {
        cli_value value = cli_option_text(&option, settings);
        if (strcmp(value.text, cli_option_text(&option, others).text) != 0)
            KG_TRY(experiment_run_name_add(out, &length, option.name, value.text, error));
    }
    if (length == 0)
        snprintf(out->text, sizeof out->text, "default");
    return KG_OK;
}
