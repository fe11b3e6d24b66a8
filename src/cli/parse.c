/* From arguments to settings, by the command's table of options. */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

#define LINE 100 /* most characters in a line of --help */

cli_option cli_option_at(const cli_command *command, size_t i) {
    if (command->training == CLI_NO_TRAINING)
        return command->options[i];
    if (i >= kg__setting_count)
        return command->options[i - kg__setting_count];
    bool is_list = command->training == CLI_TRAINING_LISTS;
    const kg_setting *setting = &kg__settings[i];
    return (cli_option){.name = setting->name,
                        .argument = setting->argument,
                        .kind = is_list ? CLI_LIST : CLI_SETTING,
                        .offset = command->training_at + (is_list ? i * sizeof(char *) : 0)};
}

cli_option cli_option_find(const cli_command *command, const char *name, size_t length) {
    cli_option option;
    for (size_t i = 0; (option = cli_option_at(command, i)).name != NULL; i++)
        if (strlen(option.name) == length && memcmp(option.name, name, length) == 0)
            break;
    return option;
}

static kg_status unknown_option(const cli_command *command, const char *word, size_t length,
                                kg_error *error) {
    const char *names[CLI_MOST_OPTIONS + 1] = {"help"};
    cli_option option;
    size_t count = 1;
    for (size_t i = 0;
         count < CLI_MOST_OPTIONS && (option = cli_option_at(command, i)).name != NULL; i++)
        if (option.name[1] != '\0')
            names[count++] = option.name;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), word);
    const char *nearest = kg__nearest_word(name, names);
    return kg_fail(error, KG_BAD_INPUT, "unknown option --%s%s%s%s (see kgraft %s --help)", name,
                   nearest == NULL ? "" : ", did you mean --", nearest == NULL ? "" : nearest,
                   nearest == NULL ? "" : "?", command->name);
}

/* Refuses a value where another one was expected; NULL: none was. */
static kg_status check_value(const cli_option *option, const char *expected, const char *value,
                             kg_error *error) {
    if (expected == NULL)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "%s%s: expected %s, found %s", cli_dashes(option),
                   option->name, expected, kg__quote(value, strlen(value)).text);
}

/* All choices of an option, as in "head or tail". */
static kg_setting_text choices_of(const cli_option *option) {
    kg_setting_text out = {0};
    if (option->choices == NULL)
        return kg__setting_choices(kg__setting_find(option->name));
    kg__join_names(out.text, sizeof out.text, option->choices, sizeof *option->choices);
    return out;
}

static kg_status set_choice(const cli_option *option, const char **out, const char *value,
                            kg_error *error) {
    const char *choice = NULL;
    for (size_t i = 0; (choice = cli_option_choice(option, i)) != NULL; i++)
        if (strcmp(choice, value) == 0) {
            *out = choice;
            return KG_OK;
        }
    return check_value(option, choices_of(option).text, value, error);
}

static kg_status set_override(const cli_option *option, double *out, const char *value,
                              kg_error *error) {
    const kg_setting *setting = kg__setting_find(option->name);
    kg_train_options parsed;
    KG_TRY(kg__setting_parse(setting, &parsed, value, error));
    KG_TRY(kg__setting_check(setting, &parsed, error));
    *out = *(const double *)kg__setting_value(setting, &parsed);
    return KG_OK;
}

static kg_status add_text(const cli_option *option, cli_texts *out, const char *value,
                          kg_error *error) {
    if (out->count == CLI_MOST_TEXTS)
        return kg_fail(error, KG_BAD_INPUT, "--%s: expected at most %d of them, found more",
                       option->name, CLI_MOST_TEXTS);
    out->items[out->count++] = value;
    return KG_OK;
}

kg_status cli_set_option(const cli_option *option, void *settings, const char *value,
                         kg_error *error) {
    void *variable = (char *)settings + option->offset;
    if ((option->kind == CLI_TEXT || option->kind == CLI_TEXTS) && value[0] == '\0')
        return kg_fail(error, KG_BAD_INPUT, "%s%s: expected a value, found an empty one",
                       cli_dashes(option), option->name);
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)variable = true;
        return KG_OK;
    case CLI_TEXT:
    case CLI_LIST:
        *(const char **)variable = value;
        return KG_OK;
    case CLI_TEXTS:
        return add_text(option, variable, value, error);
    case CLI_CHOICE:
        return set_choice(option, variable, value, error);
    case CLI_COUNT:
        return check_value(option, kg__parse_count(variable, value), value, error);
    case CLI_NUMBER:
        return check_value(option, kg__parse_number(variable, value), value, error);
    case CLI_OVERRIDE:
        return set_override(option, variable, value, error);
    case CLI_SETTING:
        return kg__settings_set(variable, kg__setting_find(option->name), value, error);
    }
    return KG_OK;
}

static void put_setting(cli_value *out, const char *name, const kg_settings *settings) {
    if (kg__settings_has(settings, name))
        snprintf(out->text, sizeof out->text, "%s",
                 kg__setting_text(kg__setting_find(name), &settings->options).text);
}

cli_value cli_option_text(const cli_option *option, const void *settings) {
    const void *variable = (const char *)settings + option->offset;
    cli_value out = {""};
    switch (option->kind) {
    case CLI_FLAG:
        snprintf(out.text, sizeof out.text, "%s", *(const bool *)variable ? "yes" : "no");
        break;
    case CLI_TEXT:
    case CLI_LIST:
    case CLI_CHOICE:
        if (*(const char *const *)variable != NULL)
            snprintf(out.text, sizeof out.text, "%s", *(const char *const *)variable);
        break;
    case CLI_TEXTS: /* no setting of an experiment or a model */
        break;
    case CLI_COUNT:
        snprintf(out.text, sizeof out.text, "%ju", (uintmax_t) * (const uint64_t *)variable);
        break;
    case CLI_NUMBER:
    case CLI_OVERRIDE:
        snprintf(out.text, sizeof out.text, "%.15g", *(const double *)variable);
        break;
    case CLI_SETTING:
        put_setting(&out, option->name, variable);
        break;
    }
    return out;
}

/* The value of the option at words[*i]: in the same word, or else the next word. */
static kg_status take_value(const cli_option *option, const char **value, char **words, int count,
                            int *i, kg_error *error) {
    if (option->kind == CLI_FLAG && *value != NULL)
        return kg_fail(error, KG_BAD_INPUT, "--%s takes no value", option->name);
    if (option->kind == CLI_FLAG || *value != NULL)
        return KG_OK;
    if (*i + 1 == count)
        return kg_fail(error, KG_BAD_INPUT, "%s%s: expected a value (%s) behind it",
                       cli_dashes(option), option->name, option->argument);
    *value = words[++*i];
    return KG_OK;
}

/* The option at words[*i], as `--name`, `--name value` or `--name=value`. */
static kg_status take_option(const cli_command *command, void *settings, char **words, int count,
                             int *i, kg_error *error) {
    const char *name = words[*i] + 2;
    size_t length = strcspn(name, "=");
    cli_option option = cli_option_find(command, name, length);
    if (option.name == NULL || length == 1)
        return unknown_option(command, name, length, error);
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    KG_TRY(take_value(&option, &value, words, count, i, error));
    return cli_set_option(&option, settings, value, error);
}

/* The option at words[*i] whose name is one letter, as `-n value` or `-nvalue`. */
static kg_status take_letter(const cli_command *command, void *settings, char **words, int count,
                             int *i, kg_error *error) {
    const char *word = words[*i];
    cli_option option = cli_option_find(command, word + 1, 1);
    if (option.name == NULL)
        return kg_fail(error, KG_BAD_INPUT, "unknown option %s (see kgraft %s --help)",
                       kg__quote(word, strlen(word)).text, command->name);
    const char *value = word[2] == '\0' ? NULL : word + 2;
    KG_TRY(take_value(&option, &value, words, count, i, error));
    return cli_set_option(&option, settings, value, error);
}

kg_status cli_parse(const cli_command *command, void *settings, int count, char **words,
                    const char **arguments, size_t *argument_count, bool *help, kg_error *error) {
    bool only_arguments = false;
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        if (word[0] == '\0')
            return kg_fail(error, KG_BAD_INPUT, "expected kgraft %s %s, found an empty name",
                           command->name, command->usage);
        if (only_arguments || word[0] != '-' || word[1] == '\0')
            arguments[(*argument_count)++] = word;
        else if (strcmp(word, "--") == 0)
            only_arguments = true;
        else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            *help = true;
        else if (word[1] != '-')
            KG_TRY(take_letter(command, settings, words, count, &i, error));
        else
            KG_TRY(take_option(command, settings, words, count, &i, error));
    }
    if (!*help &&
        (*argument_count < command->min_arguments || *argument_count > command->max_arguments))
        return kg_fail(error, KG_BAD_INPUT, "%s arguments: expected kgraft %s %s",
                       *argument_count < command->min_arguments ? "too few" : "too many",
                       command->name, command->usage);
    return KG_OK;
}

kg_status cli_parse_options(const cli_command *command, void *settings, int count, char **words,
                            kg_error *error) {
    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], "--", 2) != 0)
            return kg_fail(error, KG_BAD_INPUT, "expected an option of kgraft %s, found %s",
                           command->name, kg__quote(words[i], strlen(words[i])).text);
        KG_TRY(take_option(command, settings, words, count, &i, error));
    }
    return KG_OK;
}

const char *cli_option_choice(const cli_option *option, size_t i) {
    return option->choices != NULL ? option->choices[i]
                                   : kg__setting_choice(kg__setting_find(option->name), i);
}

/* What is usual, unless the help says so itself: of an override, what the model was trained with;
 * of a setting, its value if that is the same in all presets. */
static kg_setting_text usual_of(const cli_option *option, const kg_setting *setting) {
    kg_setting_text out = {""};
    kg_train_options usual = kg__train_defaults(KG_PAPER, &kg__scorings[0]);
    if (option->kind != CLI_SETTING && option->kind != CLI_LIST)
        snprintf(out.text, sizeof out.text, "as trained");
    else if (kg__setting_is_fixed(setting))
        out = kg__setting_text(setting, &usual);
    return out;
}

/* That of the setting for options without; choices replace "%s" of it. */
cli_help cli_option_help(const cli_option *option) {
    bool is_own = option->help != NULL;
    const kg_setting *setting = kg__setting_find(option->name);
    const char *help = is_own ? option->help : setting->help;
    const char *at = strstr(help, "%s");
    int used = at == NULL ? (int)strlen(help) : (int)(at - help);
    kg_setting_text usual = {""};
    cli_help out;
    if (!is_own && strstr(help, "default") == NULL)
        usual = usual_of(option, setting);
    snprintf(out.text, sizeof out.text, "%.*s%s%s%s%s%s", used, help,
             at == NULL ? "" : choices_of(option).text, at == NULL ? "" : at + 2,
             usual.text[0] == '\0' ? "" : " (default: ", usual.text,
             usual.text[0] == '\0' ? "" : ")");
    return out;
}

/* An option and the placeholder of its value, as in --help. */
static cli_value option_head(const cli_option *option) {
    cli_value out;
    snprintf(out.text, sizeof out.text, "%s%s%s%s", cli_dashes(option), option->name,
             option->argument == NULL ? "" : " ", option->argument == NULL ? "" : option->argument);
    return out;
}

/* A text that starts at a column, broken between words. */
static void show_text(FILE *stream, const char *text, int start) {
    int column = start;
    for (const char *word = text; *word != '\0';) {
        int length = (int)strcspn(word, " ");
        bool is_new = column > start && column + 1 + length > LINE;
        if (is_new)
            fprintf(stream, "\n%*s", start, "");
        else if (column > start)
            putc(' ', stream);
        fprintf(stream, "%.*s", length, word);
        column = (is_new || column == start ? start : column + 1) + length;
        word += word[length] == ' ' ? length + 1 : length;
    }
    putc('\n', stream);
}

static void show_options(const cli_command *command, FILE *stream) {
    cli_option option;
    int width = 24;
    for (size_t i = 0; (option = cli_option_at(command, i)).name != NULL; i++) {
        int length = (int)strlen(option_head(&option).text);
        width = option.kind != CLI_LIST && length > width ? length : width;
    }
    fprintf(stream, "options:\n");
    for (size_t i = 0; (option = cli_option_at(command, i)).name != NULL; i++) {
        if (option.kind == CLI_LIST)
            continue;
        const kg_setting *setting =
            option.kind == CLI_SETTING ? kg__setting_find(option.name) : NULL;
        if (setting != NULL && setting->heading != NULL)
            fprintf(stream, "\n%s:\n", setting->heading);
        fprintf(stream, "  %-*s ", width, option_head(&option).text);
        show_text(stream, cli_option_help(&option).text, width + 3);
    }
    fprintf(stream, "  %-*s this text\n\n", width, "--help");
    if (command->training == CLI_TRAINING_LISTS)
        fprintf(stream, "and those of kgraft train that take a value: here each takes a list of "
                        "them, separated by\ncommas (see kgraft train --help)\n\n");
}

void cli_show_help(const cli_command *command, FILE *stream) {
    fprintf(stream, "usage: kgraft %s [OPTION]... %s\n\n%s\n\n", command->name, command->usage,
            command->summary);
    if (command->details != NULL)
        fprintf(stream, "%s\n\n", command->details);
    show_options(command, stream);
    if (command->show_more != NULL)
        command->show_more(stream);
    fprintf(stream, "man kgraft-%s says more.\n", command->name);
}

size_t cli_choice(const char *const *choices, const char *value) {
    size_t i = 0;
    while (strcmp(choices[i], value) != 0)
        i++;
    return i;
}
