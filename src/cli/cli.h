/* The framework of all commands: a command is a row of data (its name, what it does, its options)
 * and a function. Parsing, --help, suggestions and exit codes are made from the rows. */
#ifndef KG_CLI_CLI_H
#define KG_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/progress.h"
#include "base/ranks.h"
#include "cli/progress_bar.h"
#include "report/number_text.h"
#include "train/settings.h"

enum { EXIT_FINE = 0, EXIT_SYSTEM = 1, EXIT_INPUT = 2 };

typedef enum cli_kind {
    CLI_FLAG,     /* bool */
    CLI_TEXT,     /* const char * */
    CLI_CHOICE,   /* const char *, one of `choices` */
    CLI_COUNT,    /* uint64_t, below 2^63 */
    CLI_NUMBER,   /* double */
    CLI_TEXTS,    /* cli_texts: may be given several times */
    CLI_SETTING,  /* kg_settings: a setting of training, by its name */
    CLI_LIST,     /* const char *: values of such a setting, separated by commas */
    CLI_OVERRIDE, /* double: another value of such a setting, above 0; 0: none is given */
} cli_kind;

typedef struct cli_option {
    const char *name;     /* without the dashes: two, or one before a single letter */
    const char *argument; /* placeholder of its value in the usage; NULL for flags. If it starts
                             with FILE or DIR, shells complete files or folders */
    cli_kind kind;
    size_t offset; /* of its variable in the command's settings */
    const char *help;
    const char *const *choices; /* ended by NULL; NULL: those of the setting of that name */
} cli_option;

/* The values of an option that was given several times, in order. */
#define CLI_MOST_TEXTS 64
typedef struct cli_texts {
    const char *items[CLI_MOST_TEXTS];
    size_t count;
} cli_texts;

/* No command has more, those of training and the end included. */
#define CLI_MOST_OPTIONS 128

/* Every command's settings start with these; CLI_COMMON_OPTIONS are their rows. */
typedef struct cli_common {
    bool quiet;
    bool json;
} cli_common;

#define CLI_QUIET                                                                 \
    {                                                                             \
        .name = "quiet", .kind = CLI_FLAG, .offset = offsetof(cli_common, quiet), \
        .help = "no progress, no summary"                                         \
    }
#define CLI_JSON                                                                \
    {                                                                           \
        .name = "json", .kind = CLI_FLAG, .offset = offsetof(cli_common, json), \
        .help = "the result as JSON"                                            \
    }
#define CLI_THREADS(at)                                                        \
    {                                                                          \
        .name = "threads", .argument = "N", .kind = CLI_COUNT, .offset = (at), \
        .help = "default: all processors; no influence on the result"          \
    }
#define CLI_AT_ONCE(at)                                                        \
    {                                                                          \
        .name = "at-once", .argument = "N", .kind = CLI_COUNT, .offset = (at), \
        .help = "most runs at once; default: as many as threads"               \
    }
#define CLI_END \
    { 0 }

typedef struct cli_context {
    const cli_common *common;
    const char *const *arguments; /* those that are not options */
    size_t argument_count;
    kg_progress progress;
    cli_bar *bar;
    kg_ranks *ranks; /* that run the command together; the others of them are quiet */
} cli_context;

typedef struct cli_command {
    const char *name;
    const char *usage; /* the arguments, as in "SOURCE... DIR" */
    const char *summary;
    const char *details; /* further lines of --help */
    size_t min_arguments;
    size_t max_arguments;
    const cli_option *options; /* its own, ended by a row without name */
    size_t settings_size;
    const void *defaults; /* what the settings start as */

    /* The settings of training (train/settings.h) may be options, too, before its own: with a value
     * each, in a kg_settings, or with a list each, in as many const char *. */
    enum { CLI_NO_TRAINING, CLI_TRAINING, CLI_TRAINING_LISTS } training;
    size_t training_at; /* where the command's settings have them */

    bool is_shared;                  /* ranks of MPI may run it together */
    void (*show_more)(FILE *stream); /* what --help ends with; may be NULL */
    kg_status (*run)(const void *settings, cli_context *context, kg_error *error);
} cli_command;

extern const cli_command cli_add;
extern const cli_command cli_adopt;
extern const cli_command cli_calibrate;
extern const cli_command cli_index;
extern const cli_command cli_check;
extern const cli_command cli_compact;
extern const cli_command cli_embed;
extern const cli_command cli_eval;
extern const cli_command cli_explain;
extern const cli_command cli_export;
extern const cli_command cli_generate;
extern const cli_command cli_import;
extern const cli_command cli_info;
extern const cli_command cli_log;
extern const cli_command cli_neighbors;
extern const cli_command cli_predict;
extern const cli_command cli_remove;
extern const cli_command cli_replay;
extern const cli_command cli_reproduce;
extern const cli_command cli_serve;
extern const cli_command cli_split;
extern const cli_command cli_stats;
extern const cli_command cli_store;
extern const cli_command cli_train;
extern const cli_command cli_tune;

/* All of them, ended by NULL; there are never more, the end included. */
#define CLI_MOST_COMMANDS 32
extern const cli_command *const cli_commands[CLI_MOST_COMMANDS];

/* Fills in settings from the arguments behind the command's name. Those that are no options go to
 * `arguments`, which must hold all of them. `*help` is set if --help is among them. */
KG_MUST_CHECK kg_status cli_parse(const cli_command *command, void *settings, int count,
                                  char **words, const char **arguments, size_t *argument_count,
                                  bool *help, kg_error *error);

/* The same where only options are allowed. */
KG_MUST_CHECK kg_status cli_parse_options(const cli_command *command, void *settings, int count,
                                          char **words, kg_error *error);

/* The i-th option of a command; one without name behind the last. */
cli_option cli_option_at(const cli_command *command, size_t i);

/* The option of that name, or one without name. */
cli_option cli_option_find(const cli_command *command, const char *name, size_t length);

/* The i-th choice of an option that has choices; NULL behind the last. */
const char *cli_option_choice(const cli_option *option, size_t i);

/* What --help says about it. */
typedef struct cli_help {
    char text[256];
} cli_help;
cli_help cli_option_help(const cli_option *option);

/* Sets an option's variable in the settings of its command. */
KG_MUST_CHECK kg_status cli_set_option(const cli_option *option, void *settings, const char *value,
                                       kg_error *error);

/* What is before its name. */
static inline const char *cli_dashes(const cli_option *option) {
    return option->name[1] == '\0' ? "-" : "--";
}

/* An option's value as text, the same for all ways to write it (0.1 for 1e-1), cut if it is too
 * long; "" if it is not given and has no default. */
typedef struct cli_value {
    char text[128];
} cli_value;
cli_value cli_option_text(const cli_option *option, const void *settings);

void cli_show_help(const cli_command *command, FILE *stream);

/* The index of `value`, one of the choices. */
size_t cli_choice(const char *const *choices, const char *value);

/* A message on stderr, unless --quiet. */
void cli_say(const cli_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A warning about a misleading result: with --quiet, too. */
void cli_warn(const cli_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An error, on stderr, with the names of options in place of the library's. */
void cli_print_error(const kg_error *error);

/* Refuses an output that would replace what a command reads: the input itself, or a file in it. Any
 * of the two may be NULL. */
KG_MUST_CHECK kg_status cli_check_apart(const char *option, const char *path, const char *input,
                                        kg_error *error);

/* The same for the file of --plot, which is not standard output, and all arguments. */
KG_MUST_CHECK kg_status cli_check_plot(const char *path, const cli_context *context,
                                       kg_error *error);

/* The result as JSON on stdout; takes ownership, NULL means that memory is short. */
KG_MUST_CHECK kg_status cli_print_json(json_t *value, kg_error *error);

/* Flushes stdout; fails if not everything could be written. */
KG_MUST_CHECK kg_status cli_flush(kg_error *error);

#endif
