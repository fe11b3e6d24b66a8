/* The options that override how a model embeds entities from their facts. */
#ifndef KG_CLI_AGGREGATE_OVERRIDES_H
#define KG_CLI_AGGREGATE_OVERRIDES_H

#include "aggregate/aggregate_options.h"
#include "cli/cli.h"

/* Their rows, given the offset of a kg_aggregate_overrides in a command's settings. */
#define CLI_OVERRIDE_OPTIONS(at)                                           \
    {.name = "aggregate",                                                  \
     .argument = "NAME",                                                   \
     .kind = CLI_CHOICE,                                                   \
     .offset = (at) + offsetof(kg_aggregate_overrides, aggregate),         \
     .help = "%s (default: as trained)"},                                  \
        CLI_OVERRIDE_ROW("ls-lambda", "X", CLI_OVERRIDE, at, ls_lambda),   \
        CLI_OVERRIDE_ROW("ls-rows", "KIND", CLI_CHOICE, at, ls_rows),      \
        CLI_OVERRIDE_ROW("ials-alpha", "X", CLI_OVERRIDE, at, ials_alpha), \
        CLI_OVERRIDE_ROW("ials-lambda", "X", CLI_OVERRIDE, at, ials_lambda)

#define CLI_OVERRIDE_ROW(option, placeholder, type, at, field)       \
    {                                                                \
        .name = (option), .argument = (placeholder), .kind = (type), \
        .offset = (at) + offsetof(kg_aggregate_overrides, field)     \
    }

/* The first of them that was given, for messages; NULL if none was. */
const char *cli_overrides_given(const kg_aggregate_overrides *overrides);

#endif
