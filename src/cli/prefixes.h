/* Prefixes: short names of IRIs, as in Turtle. A name that starts with such an IRI is shown as
 * `prefix:rest`; and what users write so is understood. */
#ifndef KG_CLI_PREFIXES_H
#define KG_CLI_PREFIXES_H

#include "base/json.h"
#include "cli/cli.h"

typedef struct cli_prefix {
    const char *name; /* borrowed, like the IRI; need not end with a zero */
    size_t length;
    const char *iri;
} cli_prefix;

typedef struct cli_prefixes {
    cli_prefix *items;
    size_t count;
} cli_prefixes;

/* The row of the option that gives some, "NAME=IRI" each, given the offset of a cli_texts. */
#define CLI_PREFIX(at)                                                                     \
    {                                                                                      \
        "prefix", "NAME=IRI", CLI_TEXTS, (at),                                             \
            "show names that start with IRI as NAME:...; may be given several times, and " \
            "goes before the data's own prefixes",                                         \
            NULL                                                                           \
    }

/* Those of the option, then the data's own (an object of IRIs by name, or NULL) but those whose
 * names are taken. Both are borrowed. */
KG_MUST_CHECK kg_status cli_prefixes_open(cli_prefixes *out, const cli_texts *given, json_t *own,
                                          kg_error *error);
void cli_prefixes_close(cli_prefixes *prefixes);

/* A name as it is shown, the longest IRI shortened, with control characters as \xNN. To be
 * kg_freed; NULL if memory is short. */
char *cli_prefixes_show(const cli_prefixes *prefixes, kg_text name);

/* The whole name that `prefix:rest` stands for, to be kg_freed; in `*out` NULL if there is no such
 * prefix. */
KG_MUST_CHECK kg_status cli_prefixes_expand(const cli_prefixes *prefixes, char **out,
                                            const char *name, kg_error *error);

#endif
