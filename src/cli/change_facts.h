/* What kgraft add and kgraft remove have in common: facts of a file to a store, in one transaction.
 */
#ifndef KG_CLI_CHANGE_FACTS_H
#define KG_CLI_CHANGE_FACTS_H

#include "cli/cli.h"
#include "graph/change_reader.h"

typedef struct cli_change_settings {
    cli_common common;
    const char *format;
    const char *source;
    uint64_t offset;
    const char *on_error;
    bool allow_relations; /* of kgraft add */
} cli_change_settings;

#define CLI_CHANGE_SETTING(name) offsetof(cli_change_settings, name)

extern const char *const cli_on_error[];
extern const cli_change_settings cli_change_defaults;

#define CLI_CHANGE_OPTIONS                                                                 \
    {.name = "format",                                                                     \
     .argument = "NAME",                                                                   \
     .kind = CLI_CHOICE,                                                                   \
     .offset = CLI_CHANGE_SETTING(format),                                                 \
     .help = "of FACTS (default: by its extension, or tsv)",                               \
     .choices = kg__change_formats},                                                       \
        {.name = "source",                                                                 \
         .argument = "NAME",                                                               \
         .kind = CLI_TEXT,                                                                 \
         .offset = CLI_CHANGE_SETTING(source),                                             \
         .help = "where the facts come from, for the log and for --offset"},               \
        {.name = "offset",                                                                 \
         .argument = "N",                                                                  \
         .kind = CLI_COUNT,                                                                \
         .offset = CLI_CHANGE_SETTING(offset),                                             \
         .help = "place in the source; skips what is not beyond its last one"},            \
    {                                                                                      \
        .name = "on-error", .argument = "WHAT", .kind = CLI_CHOICE,                        \
        .offset = CLI_CHANGE_SETTING(on_error),                                            \
        .help = "bad lines stop it, or skip them (default: stop)", .choices = cli_on_error \
    }

/* Runs the command; `operation` is that of facts without one. */
KG_MUST_CHECK kg_status cli_change_facts(const cli_change_settings *settings,
                                         kg_operation operation, cli_context *context,
                                         kg_error *error);

#endif
