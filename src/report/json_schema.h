/* Schemas of JSON values, as data: checked once, so that code which reads a value afterwards can
 * rely on its types. */
#ifndef KG_REPORT_JSON_SCHEMA_H
#define KG_REPORT_JSON_SCHEMA_H

#include <stdbool.h>

#include "base/json.h"

typedef enum json_schema_kind {
    SCHEMA_TEXT,
    SCHEMA_NAME, /* a text that can be part of a file's name and of an id */
    SCHEMA_NUMBER,
    SCHEMA_COUNT, /* a number without fraction, from 0 to 2^53 */
    SCHEMA_TRUTH,
    SCHEMA_LIST,
    SCHEMA_OBJECT, /* other keys are allowed, with any value */
} json_schema_kind;

typedef struct json_schema {
    json_schema_kind kind;
    bool nullable;
    const char *const *choices;             /* of a text, ended by NULL; or NULL */
    const struct json_schema *items;        /* of a list */
    size_t least;                           /* items of a list */
    size_t most;                            /* items of a list, or the largest count; 0: any */
    const struct json_schema_field *fields; /* of an object, ended by one without name */
} json_schema;

typedef struct json_schema_field {
    const char *name;
    bool required;
    const json_schema *schema;
} json_schema_field;

/* An error says where in `place` a value differs, and what was expected. */
KG_MUST_CHECK kg_status json_schema_check(const json_schema *schema, const json_t *value,
                                          const char *place, kg_error *error);

#endif
