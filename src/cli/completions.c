/* Generates a shell's completions from the tables that --help is made from. It runs when the
 * project is built, and is not installed.
 *
 * usage: completions bash|zsh|fish */
#include <string.h>

#include "cli/cli.h"

/* ---- Parts of a command line ---- */

typedef enum value_kind { NO_VALUE, ANY_VALUE, CHOICE, CHOICES, FILE_NAME, FOLDER_NAME } value_kind;

static value_kind find_kind(const cli_option *option) {
    if (option->kind == CLI_FLAG)
        return NO_VALUE;
    if (option->kind == CLI_SETTING || option->kind == CLI_LIST) {
        const kg_setting *setting = kg__setting_find(option->name);
        bool is_choice = setting->choices != NULL && setting->type != KG_TYPE_COUNT &&
                         setting->type != KG_TYPE_SET;
        return !is_choice ? ANY_VALUE : option->kind == CLI_LIST ? CHOICES : CHOICE;
    }
    if (option->kind == CLI_CHOICE || (option->kind == CLI_TEXT && option->choices != NULL))
        return CHOICE;
    if (strncmp(option->argument, "FILE", 4) == 0)
        return FILE_NAME;
    return strncmp(option->argument, "DIR", 3) == 0 ? FOLDER_NAME : ANY_VALUE;
}

typedef void put_command(const cli_command *command);
typedef void put_option(const cli_command *command, const cli_option *option, value_kind kind);

static void each_command(put_command *put) {
    for (const cli_command *const *command = cli_commands; *command != NULL; command++)
        put(*command);
}

/* --help is one in all. */
static void each_option(const cli_command *command, put_option *put) {
    static const cli_option help = {"help", NULL, CLI_FLAG, 0, "this text", NULL};
    cli_option option;
    for (size_t i = 0; (option = cli_option_at(command, i)).name != NULL; i++)
        put(command, &option, find_kind(&option));
    put(command, &help, NO_VALUE);
}

static void put_choices(const cli_option *option) {
    const char *name = NULL;
    for (size_t i = 0; (name = cli_option_choice(option, i)) != NULL; i++)
        printf("%s%s", i == 0 ? "" : " ", name);
}

/* Text inside single quotes, with a backslash before each of the characters `escaped`. */
static void put_text(const char *text, const char *escaped) {
    for (; *text != '\0'; text++)
        if (*text == '\'')
            printf("'\\''");
        else
            printf("%s%c", strchr(escaped, *text) == NULL ? "" : "\\", *text);
}

/* ---- bash: a case for the word before the one that is completed ---- */

static void put_bash_name(const cli_command *command) {
    printf("%s ", command->name);
}

static void put_bash_option(const cli_command *command, const cli_option *option, value_kind kind) {
    (void)command;
    (void)kind;
    printf(" %s%s", cli_dashes(option), option->name);
}

static void put_bash_value(const cli_command *command, const cli_option *option, value_kind kind) {
    if (kind == NO_VALUE)
        return;
    printf("    %s/%s%s) ", command->name, cli_dashes(option), option->name);
    if (kind == CHOICE || kind == CHOICES) {
        printf("_kgraft_%s \"$word\" '", kind == CHOICE ? "word" : "list");
        put_choices(option);
        printf("' ");
    } else if (kind == FILE_NAME || kind == FOLDER_NAME) {
        printf("compopt -o %s ", kind == FILE_NAME ? "default" : "dirnames");
    }
    printf(";;\n");
}

static void put_bash_command(const cli_command *command) {
    each_option(command, put_bash_value);
    printf("    %s/*) _kgraft_rest \"$word\" '", command->name);
    each_option(command, put_bash_option);
    printf("' ;;\n");
}

static void put_bash(void) {
    printf("# kgraft in bash, made by its build.\n\n"
           "# WORD WORDS: one of the words.\n"
           "_kgraft_word() {\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$2\" -- \"$1\")\n"
           "}\n\n"
           "# WORD WORDS: some of the words, separated by commas.\n"
           "_kgraft_list() {\n"
           "    local last=${1##*,}\n"
           "    mapfile -t COMPREPLY < <(compgen -P \"${1%%\"$last\"}\" -W \"$2\" -- \"$last\")\n"
           "    compopt -o nospace\n"
           "}\n\n"
           "# WORD OPTIONS: an option or a file.\n"
           "_kgraft_rest() {\n"
           "    if [[ $1 == -* ]]; then _kgraft_word \"$@\"; else compopt -o default; fi\n"
           "}\n\n"
           "_kgraft() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    # --option=value is three words here.\n"
           "    if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
           "    if [[ $word == = ]]; then word=; fi\n"
           "    local commands='");
    each_command(put_bash_name);
    printf("'\n"
           "    COMPREPLY=()\n"
           "    if ((COMP_CWORD == 1)); then\n"
           "        _kgraft_word \"$word\" \"$commands help --help --version\"\n"
           "        return\n"
           "    fi\n"
           "    case ${COMP_WORDS[1]}/$before in\n"
           "    help/* | --help/*) _kgraft_word \"$word\" \"$commands\" ;;\n");
    each_command(put_bash_command);
    printf("    esac\n"
           "}\n\n"
           "complete -F _kgraft kgraft\n");
}

/* ---- zsh: arguments as _arguments wants to be told of them ---- */

static void put_zsh_name(const cli_command *command) {
    printf("        '%s:", command->name);
    put_text(command->summary, "\\:");
    printf("'\n");
}

static void put_zsh_option(const cli_command *command, const cli_option *option, value_kind kind) {
    (void)command;
    bool is_letter = option->name[1] == '\0';
    printf("            '%s%s%s[", cli_dashes(option), option->name,
           kind == NO_VALUE ? ""
           : is_letter      ? "+"
                            : "=");
    put_text(cli_option_help(option).text, "\\[]:");
    printf("]");
    if (kind != NO_VALUE) {
        printf(":");
        put_text(option->argument, "\\:");
        printf(":");
    }
    if (kind == CHOICE || kind == CHOICES) {
        printf(kind == CHOICE ? "(" : "_sequence compadd - ");
        put_choices(option);
        printf(kind == CHOICE ? ")" : "");
    } else if (kind == FILE_NAME || kind == FOLDER_NAME) {
        printf(kind == FILE_NAME ? "_files" : "_directories");
    }
    printf("' \\\n");
}

static void put_zsh_command(const cli_command *command) {
    printf("    rest/%s)\n        _arguments \\\n", command->name);
    each_option(command, put_zsh_option);
    printf("            '*:");
    put_text(command->usage, "\\:");
    printf(":_files'\n        ;;\n");
}

static void put_zsh(void) {
    printf("#compdef kgraft\n"
           "# kgraft in zsh, made by its build.\n\n"
           "_kgraft() {\n"
           "    local curcontext=$curcontext state line\n"
           "    local -A opt_args\n"
           "    local -a commands=(\n");
    each_command(put_zsh_name);
    printf("        'help:what a command does'\n"
           "    )\n"
           "    _arguments -C '(- *)--help[what there is]' '(- *)--version[the version]' \\\n"
           "        '1: :->command' '*:: :->rest'\n"
           "    case $state/$words[1] in\n"
           "    command/* | rest/help) _describe command commands ;;\n");
    each_command(put_zsh_command);
    printf("    esac\n"
           "}\n\n"
           "_kgraft \"$@\"\n");
}

/* ---- fish: a line for each option ---- */

static void put_fish_option(const cli_command *command, const cli_option *option, value_kind kind) {
    printf("complete -c kgraft -n '__kgraft_runs %s' -%s %s", command->name,
           option->name[1] == '\0' ? "s" : "l", option->name);
    if (kind == FILE_NAME)
        printf(" -rF");
    else if (kind != NO_VALUE)
        printf(" -x");
    if (kind == CHOICE || kind == CHOICES) {
        printf(" -a '%s", kind == CHOICE ? "" : "(__fish_append , ");
        put_choices(option);
        printf("%s'", kind == CHOICE ? "" : ")");
    } else if (kind == FOLDER_NAME) {
        printf(" -a '(__fish_complete_directories)'");
    }
    printf(" -d '");
    put_text(cli_option_help(option).text, "\\");
    printf("'\n");
}

static void put_fish_command(const cli_command *command) {
    printf("\ncomplete -c kgraft -n '__kgraft_runs' -a %s -d '", command->name);
    put_text(command->summary, "\\");
    printf("'\ncomplete -c kgraft -n '__kgraft_runs help' -a %s\n", command->name);
    printf("complete -c kgraft -n '__kgraft_runs %s' -F\n", command->name);
    each_option(command, put_fish_option);
}

static void put_fish(void) {
    printf("# kgraft in fish, made by its build.\n\n"
           "# Whether the command is the one given, or there is none yet.\n"
           "function __kgraft_runs\n"
           "    set -l words (commandline -opc)\n"
           "    test \"$words[2]\" = \"$argv\"\n"
           "end\n\n"
           "complete -c kgraft -f\n"
           "complete -c kgraft -n '__kgraft_runs' -l help -d 'what there is'\n"
           "complete -c kgraft -n '__kgraft_runs' -l version -d 'the version'\n"
           "complete -c kgraft -n '__kgraft_runs' -a help -d 'what a command does'\n");
    each_command(put_fish_command);
}

int main(int count, char **words) {
    const char *shell = count == 2 ? words[1] : "";
    if (strcmp(shell, "bash") == 0)
        put_bash();
    else if (strcmp(shell, "zsh") == 0)
        put_zsh();
    else if (strcmp(shell, "fish") == 0)
        put_fish();
    else
        return EXIT_INPUT;
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_FINE : EXIT_SYSTEM;
}
