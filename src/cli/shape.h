/* Shapes of JSON values, as data: what must be where, checked once, so that those who read a value
 * afterwards can trust it. */
#ifndef KG_CLI_SHAPE_H
#define KG_CLI_SHAPE_H

#include <stdbool.h>

#include "base/json.h"

typedef enum cli_shape_kind {
    CLI_SHAPE_TEXT,
    CLI_SHAPE_NAME, /* a text that can be part of a file's name and of an id */
    CLI_SHAPE_NUMBER,
    CLI_SHAPE_COUNT, /* a number without fraction, from 0 to 2^53 */
    CLI_SHAPE_TRUTH,
    CLI_SHAPE_LIST,
    CLI_SHAPE_OBJECT, /* keys that no field names may hold anything */
} cli_shape_kind;

typedef struct cli_shape {
    cli_shape_kind kind;
    bool nullable;
    const char *const *choices;     /* of a text, ended by NULL; or NULL */
    const struct cli_shape *items;  /* of a list */
    size_t least;                   /* items of a list */
    size_t most;                    /* items of a list, or the largest count; 0: any */
    const struct cli_field *fields; /* of an object, ended by one without name */
} cli_shape;

typedef struct cli_field {
    const char *name;
    bool required;
    const cli_shape *shape;
} cli_field;

/* Says where in `place` something else is than expected, and what. */
KG_MUST_CHECK kg_status cli_shape_check(const cli_shape *shape, const json_t *value,
                                        const char *place, kg_error *error);

#endif
