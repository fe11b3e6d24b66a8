/* The frame of all commands: a command is a row of data (its name, what it does, its options) and
 * a function. Parsing, --help, suggestions and exit codes are made from the rows. */
#ifndef KG_CLI_CLI_H
#define KG_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/progress.h"
#include "report/number_text.h"

enum { EXIT_FINE = 0, EXIT_SYSTEM = 1, EXIT_INPUT = 2 };

typedef enum cli_kind {
    CLI_FLAG,   /* bool */
    CLI_TEXT,   /* const char * */
    CLI_CHOICE, /* const char *, one of `choices` */
    CLI_COUNT,  /* uint64_t, below 2^63; 2^63 - 1 for the only one of `choices`, if it has them */
    CLI_NUMBER, /* double */
    CLI_TEXTS,  /* cli_texts: may be given several times */
    CLI_SET,    /* unsigned, bit i for the i-th of `choices`: some of them joined by +, all or none;
                 * with a bit that no choice has while it is not given */
} cli_kind;

typedef struct cli_option {
    const char *name;     /* without the dashes: two, or one before a single letter */
    const char *argument; /* what stands for its value in the usage; NULL for flags. If it starts
                           * with FILE or DIR, shells complete files or folders */
    cli_kind kind;
    size_t offset; /* of its variable in the command's settings */
    const char *help;
    const char *const *choices; /* ended by NULL */
} cli_option;

/* The values of an option that was given several times, in order. */
#define CLI_MOST_TEXTS 64
typedef struct cli_texts {
    const char *items[CLI_MOST_TEXTS];
    size_t count;
} cli_texts;

/* No table of options is longer, its end included. */
#define CLI_MOST_OPTIONS 64

/* Every command's settings start with these; CLI_COMMON_OPTIONS are their rows. */
typedef struct cli_common {
    bool quiet;
    bool json;
} cli_common;

#define CLI_QUIET \
    { "quiet", NULL, CLI_FLAG, offsetof(cli_common, quiet), "no progress, no summary", NULL }
#define CLI_JSON \
    { "json", NULL, CLI_FLAG, offsetof(cli_common, json), "the result as JSON", NULL }
#define CLI_END \
    { NULL, NULL, CLI_FLAG, 0, NULL, NULL }

typedef struct cli_context {
    const cli_common *common;
    const char *const *arguments; /* those that are not options */
    size_t argument_count;
    kg_progress progress;
    kg_bar *bar;
} cli_context;

typedef struct cli_command {
    const char *name;
    const char *usage; /* the arguments, as in "SOURCE... DIR" */
    const char *summary;
    const char *details; /* further lines of --help */
    size_t min_arguments;
    size_t max_arguments;
    const cli_option *options; /* ended by a row without name */
    size_t settings_size;
    const void *defaults; /* what the settings start as */

    /* Another command, or NULL: those of its options that take a value take a list of them here,
     * which is kept as it is. In the settings there is, at `lists`, a const char * for each option
     * of that command, CLI_MOST_OPTIONS in all. */
    const struct cli_command *lists_of;
    size_t lists;

    void (*show_more)(FILE *stream); /* what --help ends with; may be NULL */
    kg_status (*run)(const void *settings, cli_context *context, kg_error *error);
} cli_command;

extern const cli_command cli_adopt;
extern const cli_command cli_calibrate;
extern const cli_command cli_check;
extern const cli_command cli_embed;
extern const cli_command cli_eval;
extern const cli_command cli_explain;
extern const cli_command cli_export;
extern const cli_command cli_generate;
extern const cli_command cli_import;
extern const cli_command cli_info;
extern const cli_command cli_neighbors;
extern const cli_command cli_predict;
extern const cli_command cli_reproduce;
extern const cli_command cli_split;
extern const cli_command cli_stats;
extern const cli_command cli_train;
extern const cli_command cli_tune;

/* All of them, ended by NULL; there are never more, the end included. */
#define CLI_MOST_COMMANDS 32
extern const cli_command *const cli_commands[CLI_MOST_COMMANDS];

/* Fills in settings from the words behind the command's name. Words that are no options go to
 * `arguments`, which has room for all. `*help` is set if --help is among them. */
KG_MUST_CHECK kg_status cli_parse(const cli_command *command, void *settings, int count,
                                  char **words, const char **arguments, size_t *argument_count,
                                  bool *help, kg_error *error);

/* The same where nothing but options may stand. */
KG_MUST_CHECK kg_status cli_parse_options(const cli_command *command, void *settings, int count,
                                          char **words, kg_error *error);

/* Sets an option's variable in the settings of its command. */
KG_MUST_CHECK kg_status cli_set_option(const cli_option *option, void *settings, const char *value,
                                       kg_error *error);

/* What stands before its name. */
static inline const char *cli_dashes(const cli_option *option) {
    return option->name[1] == '\0' ? "-" : "--";
}

/* An option's value as text, the same for all ways to write it (0.1 for 1e-1), cut if need be. */
typedef struct cli_value {
    char text[128];
} cli_value;
cli_value cli_option_text(const cli_option *option, const void *settings);

/* The same as JSON; NULL if memory is short. */
json_t *cli_option_json(const cli_option *option, const void *settings);

void cli_show_help(const cli_command *command, FILE *stream);

/* The nearest of `names` (ended by NULL) to `word`, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *names);

/* The position of `value`, which is among them, in the choices. */
size_t cli_choice(const char *const *choices, const char *value);

/* A line for people, on stderr, unless --quiet. */
void cli_say(const cli_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same about a result that is not what it seems to be: with --quiet, too. */
void cli_warn(const cli_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An error, on stderr, with the names of options in place of the library's. */
void cli_print_error(const kg_error *error);

/* Refuses an output that would replace what a command reads: the input itself, or a file in it. Any
 * of the two may be NULL. */
KG_MUST_CHECK kg_status cli_check_apart(const char *option, const char *path, const char *input,
                                        kg_error *error);

/* The result as JSON on stdout; takes the reference, NULL meaning that memory is short. */
KG_MUST_CHECK kg_status cli_print_json(json_t *value, kg_error *error);

/* stdout must have taken everything, or the disk is full. */
KG_MUST_CHECK kg_status cli_flush(kg_error *error);

#endif
