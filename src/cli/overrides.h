/* The options by which commands are told how to embed entities from their facts, if not as the
 * model was trained. */
#ifndef KG_CLI_OVERRIDES_H
#define KG_CLI_OVERRIDES_H

#include "aggregate/aggregate.h"
#include "cli/cli.h"

/* Their rows, given the offset of a kg_aggregate_overrides in a command's settings. */
#define CLI_OVERRIDESES(at)                                                              \
    CLI_OVERRIDES_AGGREGATE(at), CLI_OVERRIDES_LS_LAMBDA(at), CLI_OVERRIDES_LS_ROWS(at), \
        CLI_OVERRIDES_IALS_ALPHA(at), CLI_OVERRIDES_IALS_LAMBDA(at)

#define CLI_OVERRIDES_AGGREGATE(at)                                                          \
    {                                                                                        \
        "aggregate", "NAME", CLI_CHOICE, (at) + offsetof(kg_aggregate_overrides, aggregate), \
            "eavg, eravg, ls, ls-u, ials, graft or rgcn-d (default: as trained)",            \
            kg__aggregator_names                                                             \
    }
#define CLI_OVERRIDES_LS_LAMBDA(at)                                                       \
    {                                                                                     \
        "ls-lambda", "X", CLI_NUMBER, (at) + offsetof(kg_aggregate_overrides, ls_lambda), \
            "the ridge of ls (default: as trained)", NULL                                 \
    }
#define CLI_OVERRIDES_LS_ROWS(at)                                                             \
    {                                                                                         \
        "ls-rows", "KIND", CLI_CHOICE, (at) + offsetof(kg_aggregate_overrides, ls_rows),      \
            "normalized or weighted equations of ls (default: as trained)", kg__ls_rows_names \
    }
#define CLI_OVERRIDES_IALS_ALPHA(at)                                                        \
    {                                                                                       \
        "ials-alpha", "X", CLI_NUMBER, (at) + offsetof(kg_aggregate_overrides, ials_alpha), \
            "the weight of implicit negatives in ials (default: as trained)", NULL          \
    }
#define CLI_OVERRIDES_IALS_LAMBDA(at)                                                         \
    {                                                                                         \
        "ials-lambda", "X", CLI_NUMBER, (at) + offsetof(kg_aggregate_overrides, ials_lambda), \
            "the ridge of ials (default: as trained)", NULL                                   \
    }

/* The first of them that was given, for messages; NULL if none was. */
const char *cli_overrides_given(const kg_aggregate_overrides *wish);

#endif
