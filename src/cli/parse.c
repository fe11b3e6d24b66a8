/* Words to settings, by the command's table of options. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

#define LINE 100 /* characters of --help, at most */

/* Mistakes of up to a third of the word's letters are taken for slips. */
const char *cli_nearest(const char *word, const char *const *names) {
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 1;
    for (; *names != NULL; names++) {
        size_t distance = kg__edit_distance(word, *names);
        if (distance <= best_distance && (best == NULL || distance < best_distance)) {
            best = *names;
            best_distance = distance;
        }
    }
    return best;
}

/* Adds the names of the options to those that a slip may have meant. */
static size_t add_names(const char **names, size_t count, const cli_option *options,
                        bool only_with_value) {
    for (const cli_option *o = options; o->name != NULL && count < CLI_MOST_OPTIONS; o++)
        if ((o->kind != CLI_FLAG || !only_with_value) && o->name[1] != '\0')
            names[count++] = o->name;
    return count;
}

static kg_status unknown_option(const cli_command *command, const char *word, size_t length,
                                kg_error *error) {
    const char *names[CLI_MOST_OPTIONS + 1] = {"help"};
    size_t count = add_names(names, 1, command->options, false);
    if (command->lists_of != NULL)
        add_names(names, count, command->lists_of->options, true);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), word);
    const char *nearest = cli_nearest(name, names);
    return kg_fail(error, KG_BAD_INPUT, "unknown option --%s%s%s%s (see kgraft %s --help)", name,
                   nearest == NULL ? "" : ", did you mean --", nearest == NULL ? "" : nearest,
                   nearest == NULL ? "" : "?", command->name);
}

static const cli_option *find_option(const cli_command *command, const char *name, size_t length) {
    for (const cli_option *o = command->options; o->name != NULL; o++)
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

/* The option of another command whose value is a list here. */
static const cli_option *find_list(const cli_command *command, const char *name, size_t length) {
    const cli_option *option =
        command->lists_of == NULL ? NULL : find_option(command->lists_of, name, length);
    return option == NULL || option->kind == CLI_FLAG ? NULL : option;
}

static kg_status wrong_value(const cli_option *option, const char *expected, const char *value,
                             kg_error *error) {
    return kg_fail(error, KG_BAD_INPUT, "%s%s: expected %s, found %s", cli_dashes(option),
                   option->name, expected, kg__quote(value, strlen(value)).text);
}

static kg_status set_count(const cli_option *option, uint64_t *out, const char *value,
                           kg_error *error) {
    char *end = NULL;
    if (option->choices != NULL && strcmp(value, option->choices[0]) == 0) {
        *out = INT64_MAX;
        return KG_OK;
    }
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end != '\0')
        return wrong_value(option,
                           option->choices == NULL ? "a whole number, 0 or more"
                                                   : "a whole number, 0 or more, or all",
                           value, error);
    if (errno != 0 || number > INT64_MAX)
        return wrong_value(option, "a number of at most 18 digits", value, error);
    *out = number;
    return KG_OK;
}

static kg_status set_number(const cli_option *option, double *out, const char *value,
                            kg_error *error) {
    char *end = NULL;
    double number = strtod(value, &end);
    if (value[0] == '\0' || isspace((unsigned char)value[0]) || *end != '\0' ||
        !__builtin_isfinite(number))
        return wrong_value(option, "a number", value, error);
    *out = number;
    return KG_OK;
}

/* The choices, as a message has them. */
static void list_choices(char *out, size_t size, const char *before, const cli_option *option) {
    snprintf(out, size, "%s", before);
    for (const char *const *choice = option->choices; *choice != NULL; choice++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, " %s", *choice);
    }
}

/* The place of a word among the choices, or how many these are. */
static size_t find_choice(const cli_option *option, const char *word, size_t length) {
    size_t i = 0;
    while (option->choices[i] != NULL &&
           (strlen(option->choices[i]) != length || memcmp(option->choices[i], word, length) != 0))
        i++;
    return i;
}

static kg_status set_choice(const cli_option *option, const char **out, const char *value,
                            kg_error *error) {
    char expected[256];
    *out = option->choices[find_choice(option, value, strlen(value))];
    if (*out != NULL)
        return KG_OK;
    list_choices(expected, sizeof expected, "one of", option);
    return wrong_value(option, expected, value, error);
}

static kg_status set_set(const cli_option *option, unsigned *out, const char *value,
                         kg_error *error) {
    size_t count = find_choice(option, "", 0);
    unsigned all = (1U << count) - 1;
    unsigned set = strcmp(value, "all") == 0 ? all : 0;
    bool is_list = set == 0 && strcmp(value, "none") != 0;
    for (const char *word = value; is_list;) {
        size_t length = strcspn(word, "+");
        size_t i = find_choice(option, word, length);
        if (i == count) {
            char expected[256];
            list_choices(expected, sizeof expected, "none, all, or some joined by + of", option);
            return wrong_value(option, expected, value, error);
        }
        set |= 1U << i;
        is_list = word[length] == '+';
        word += length + 1;
    }
    *out = set;
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
        *(const char **)variable = value;
        return KG_OK;
    case CLI_TEXTS:
        return add_text(option, variable, value, error);
    case CLI_CHOICE:
        return set_choice(option, variable, value, error);
    case CLI_COUNT:
        return set_count(option, variable, value, error);
    case CLI_NUMBER:
        return set_number(option, variable, value, error);
    case CLI_SET:
        return set_set(option, variable, value, error);
    }
    return KG_OK;
}

static uint64_t get_count(const void *variable) {
    return *(const uint64_t *)variable;
}

/* Whether a count stands for a word. */
static bool is_choice(const cli_option *option, const void *variable) {
    return option->choices != NULL && get_count(variable) == INT64_MAX;
}

static void put_set(cli_value *out, const cli_option *option, unsigned set) {
    size_t used = 0;
    bool is_whole = true;
    for (size_t i = 0; option->choices[i] != NULL && used < sizeof out->text; i++)
        if ((set >> i & 1) != 0)
            used += (size_t)snprintf(out->text + used, sizeof out->text - used, "%s%s",
                                     used == 0 ? "" : "+", option->choices[i]);
        else
            is_whole = false;
    if (used == 0 || is_whole)
        snprintf(out->text, sizeof out->text, "%s", used == 0 ? "none" : "all");
}

cli_value cli_option_text(const cli_option *option, const void *settings) {
    const void *variable = (const char *)settings + option->offset;
    cli_value out = {""};
    switch (option->kind) {
    case CLI_FLAG:
        snprintf(out.text, sizeof out.text, "%s", *(const bool *)variable ? "yes" : "no");
        break;
    case CLI_TEXT:
    case CLI_CHOICE:
        if (*(const char *const *)variable != NULL)
            snprintf(out.text, sizeof out.text, "%s", *(const char *const *)variable);
        break;
    case CLI_TEXTS: /* no setting of an experiment or a model */
        break;
    case CLI_COUNT:
        if (is_choice(option, variable))
            snprintf(out.text, sizeof out.text, "%s", option->choices[0]);
        else
            snprintf(out.text, sizeof out.text, "%ju", (uintmax_t)get_count(variable));
        break;
    case CLI_NUMBER:
        snprintf(out.text, sizeof out.text, "%.15g", *(const double *)variable);
        break;
    case CLI_SET:
        put_set(&out, option, *(const unsigned *)variable);
        break;
    }
    return out;
}

json_t *cli_option_json(const cli_option *option, const void *settings) {
    const void *variable = (const char *)settings + option->offset;
    if (option->kind == CLI_COUNT && !is_choice(option, variable))
        return json_integer((json_int_t)get_count(variable));
    if (option->kind == CLI_NUMBER)
        return json_real(*(const double *)variable);
    return json_string(cli_option_text(option, settings).text);
}

/* The value of the option at words[*i]: what stands in the same word, or else the next word. */
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
    const cli_option *option = length == 1 ? NULL : find_option(command, name, length);
    const cli_option *list = option == NULL ? find_list(command, name, length) : NULL;
    if (list != NULL)
        option = list;
    if (option == NULL)
        return unknown_option(command, name, length, error);
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    KG_TRY(take_value(option, &value, words, count, i, error));
    if (list == NULL)
        return cli_set_option(option, settings, value, error);
    const char **lists = (void *)((char *)settings + command->lists);
    lists[list - command->lists_of->options] = value;
    return KG_OK;
}

/* The option at words[*i] whose name is one letter, as `-n value` or `-nvalue`. */
static kg_status take_letter(const cli_command *command, void *settings, char **words, int count,
                             int *i, kg_error *error) {
    const char *word = words[*i];
    const cli_option *option = find_option(command, word + 1, 1);
    if (option == NULL)
        return kg_fail(error, KG_BAD_INPUT, "unknown option %s (see kgraft %s --help)",
                       kg__quote(word, strlen(word)).text, command->name);
    const char *value = word[2] == '\0' ? NULL : word + 2;
    KG_TRY(take_value(option, &value, words, count, i, error));
    return cli_set_option(option, settings, value, error);
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

/* An option and what stands for its value, as --help has them. */
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

static void show_options(const cli_option *options, FILE *stream) {
    int width = 24;
    for (const cli_option *o = options; o->name != NULL; o++) {
        int length = (int)strlen(option_head(o).text);
        width = length > width ? length : width;
    }
    fprintf(stream, "options:\n");
    for (const cli_option *o = options; o->name != NULL; o++) {
        fprintf(stream, "  %-*s ", width, option_head(o).text);
        show_text(stream, o->help, width + 3);
    }
    fprintf(stream, "  %-*s this text\n\n", width, "--help");
}

void cli_show_help(const cli_command *command, FILE *stream) {
    fprintf(stream, "usage: kgraft %s [OPTION]... %s\n\n%s\n\n", command->name, command->usage,
            command->summary);
    if (command->details != NULL)
        fprintf(stream, "%s\n\n", command->details);
    show_options(command->options, stream);
    if (command->lists_of != NULL)
        fprintf(stream,
                "and those of kgraft %s that take a value: here each takes a list of them, "
                "separated by\ncommas (see kgraft %s --help)\n\n",
                command->lists_of->name, command->lists_of->name);
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
