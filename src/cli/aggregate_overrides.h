/* The options that override how a model embeds entities from their facts. */
#ifndef KG_CLI_AGGREGATE_OVERRIDES_H
#define KG_CLI_AGGREGATE_OVERRIDES_H

#include "aggregate/aggregate_options.h"
#include "cli/cli.h"

/* Their rows, given the offset of a kg_aggregate_overrides in a command's settings. */
#define CLI_OVERRIDE_OPTIONS(at)                                                         \
    CLI_OVERRIDES_AGGREGATE(at), CLI_OVERRIDES_LS_LAMBDA(at), CLI_OVERRIDES_LS_ROWS(at), \
        CLI_OVERRIDES_IALS_ALPHA(at), CLI_OVERRIDES_IALS_LAMBDA(at)

#define CLI_OVERRIDES_AGGREGATE(at)                                                  \
    {                                                                                \
        .name = "aggregate", .argument = "NAME", .kind = CLI_CHOICE,                 \
        .offset = (at) + offsetof(kg_aggregate_overrides, aggregate),                \
        .help = "eavg, eravg, ls, ls-u, ials, graft or rgcn-d (default: as trained)" \
    }
#define CLI_OVERRIDES_LS_LAMBDA(at)                                   \
    {                                                                 \
        .name = "ls-lambda", .argument = "X", .kind = CLI_OVERRIDE,   \
        .offset = (at) + offsetof(kg_aggregate_overrides, ls_lambda), \
        .help = "the ridge of ls (default: as trained)"               \
    }
#define CLI_OVERRIDES_LS_ROWS(at)                                              \
    {                                                                          \
        .name = "ls-rows", .argument = "KIND", .kind = CLI_CHOICE,             \
        .offset = (at) + offsetof(kg_aggregate_overrides, ls_rows),            \
        .help = "normalized or weighted equations of ls (default: as trained)" \
    }
#define CLI_OVERRIDES_IALS_ALPHA(at)                                             \
    {                                                                            \
        .name = "ials-alpha", .argument = "X", .kind = CLI_OVERRIDE,             \
        .offset = (at) + offsetof(kg_aggregate_overrides, ials_alpha),           \
        .help = "the weight of implicit negatives in ials (default: as trained)" \
    }
#define CLI_OVERRIDES_IALS_LAMBDA(at)                                   \
    {                                                                   \
        .name = "ials-lambda", .argument = "X", .kind = CLI_OVERRIDE,   \
        .offset = (at) + offsetof(kg_aggregate_overrides, ials_lambda), \
        .help = "the ridge of ials (default: as trained)"               \
    }

/* The first of them that was given, for messages; NULL if none was. */
const char *cli_overrides_given(const kg_aggregate_overrides *overrides);

#endif
