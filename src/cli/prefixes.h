/* Prefixes: short names of IRIs, as in Turtle. A name that starts with such an IRI is shown as
 * `prefix:rest`, and accepted as such from users. */
#ifndef KG_CLI_PREFIXES_H
#define KG_CLI_PREFIXES_H

#include "base/json.h"
#include "cli/cli.h"

typedef struct cli_prefix {
    const char *name; /* borrowed, like the IRI; not terminated */
    size_t length;
    const char *iri;
} cli_prefix;

typedef struct cli_prefixes {
    cli_prefix *items;
    size_t count;
} cli_prefixes;

/* The row of the option that gives some, "NAME=IRI" each, given the offset of a cli_texts. */
#define CLI_PREFIX(at)                                                                         \
    {                                                                                          \
        .name = "prefix", .argument = "NAME=IRI", .kind = CLI_TEXTS, .offset = (at),           \
        .help = "show names that start with IRI as NAME:...; may be given several times, and " \
                "goes before the data's own prefixes"                                          \
    }

/* Those of the option, then the data's own (an object of IRIs by name, or NULL) except for names
 * that are in use. Both are borrowed. */
KG_MUST_CHECK kg_status cli_prefixes_open(cli_prefixes *out, const cli_texts *given, json_t *own,
                                          kg_error *error);
void cli_prefixes_close(cli_prefixes *prefixes);

/* A name as it is shown, the longest IRI shortened, with control characters as \xNN. To be
 * kg_freed; NULL if memory is short. */
char *cli_prefixes_show(const cli_prefixes *prefixes, kg_text name);

/* The full name of `prefix:rest`, to be kg_freed; in `*out` NULL if there is no such prefix. */
KG_MUST_CHECK kg_status cli_prefixes_expand(const cli_prefixes *prefixes, char **out,
                                            const char *name, kg_error *error);

#endif
