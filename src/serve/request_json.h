/* Bodies of requests: JSON within limits, and its members by a table, so that whatever else is in
 * it is refused. */
#ifndef KG_SERVE_REQUEST_JSON_H
#define KG_SERVE_REQUEST_JSON_H

#include "base/json.h"

/* Parses a body. Depth, size and the number of its values are bounded; repeated members are
 * refused. A new reference. */
KG_MUST_CHECK kg_status serve_json_parse(json_t **out, const char *bytes, size_t size,
                                         kg_error *error);

typedef enum serve_field_kind {
    SERVE_TEXT,   /* const char *, at most SERVE_MOST_NAME bytes, at least one */
    SERVE_COUNT,  /* uint64_t from `least` to `most` */
    SERVE_NUMBER, /* double from `least` to `most` */
    SERVE_FLAG,   /* bool */
    SERVE_SIDE,   /* serve_side */
    SERVE_FACTS,  /* const json_t *: a list of at most `most` facts, each three names */
    SERVE_FACT,   /* const json_t *: one fact */
    SERVE_LIST,   /* const json_t *: a list of 1 to `most` objects */
} serve_field_kind;

typedef enum serve_side { SERVE_ANY_SIDE, SERVE_HEADS, SERVE_TAILS, SERVE_BOTH } serve_side;

typedef struct serve_field {
    const char *name;
    serve_field_kind kind;
    size_t offset; /* of its variable */
    uint64_t least;
    uint64_t most;
} serve_field;

/* Reads the members of an object into variables; those that are not there keep their value. What
 * is read is borrowed from the object. `where` stands before the names of members in messages. */
KG_MUST_CHECK kg_status serve_fields_read(void *out, const serve_field *fields,
                                          const json_t *object, const char *where, kg_error *error);

/* Refuses a name that JSON could not have: one that is too long, or is not UTF-8. */
KG_MUST_CHECK kg_status serve_name_check(kg_text name, kg_error *error);

/* The names of a fact that was read. */
void serve_fact_names(kg_text out[3], const json_t *fact);

#endif
