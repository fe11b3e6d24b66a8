/* Schemas of JSON values, as data: checked once, so that code which reads a value afterwards can
 * rely on its types. */
#ifndef KG_REPORT_JSON_SHAPE_H
#define KG_REPORT_JSON_SHAPE_H

#include <stdbool.h>

#include "base/json.h"

typedef enum json_shape_kind {
    SHAPE_TEXT,
    SHAPE_NAME, /* a text that can be part of a file's name and of an id */
    SHAPE_NUMBER,
    SHAPE_COUNT, /* a number without fraction, from 0 to 2^53 */
    SHAPE_TRUTH,
    SHAPE_LIST,
    SHAPE_OBJECT, /* other keys are allowed, with any value */
} json_shape_kind;

typedef struct json_shape {
    json_shape_kind kind;
    bool nullable;
    const char *const *choices;            /* of a text, ended by NULL; or NULL */
    const struct json_shape *items;        /* of a list */
    size_t least;                          /* items of a list */
    size_t most;                           /* items of a list, or the largest count; 0: any */
    const struct json_shape_field *fields; /* of an object, ended by one without name */
} json_shape;

typedef struct json_shape_field {
    const char *name;
    bool required;
    const json_shape *schema;
} json_shape_field;

/* An error says where in `place` a value differs, and what was expected. */
KG_MUST_CHECK kg_status json_shape_check(const json_shape *schema, const json_t *value,
                                         const char *place, kg_error *error);

#endif
