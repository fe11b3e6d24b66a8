/* JSON by jansson, with this library's inputs, outputs and errors. */
#ifndef KG_BASE_JSON_H
#define KG_BASE_JSON_H

#include <jansson.h>

#include "base/input.h"
#include "base/output.h"

/* A JSON string of arbitrary bytes: invalid UTF-8 and NUL become U+FFFD. A new reference; NULL if
 * memory is short. */
json_t *kg__json_text(const char *bytes, size_t length);

/* Limits of a text: its bytes, and bytes per list or object, but for a few. Values take memory,
 * lists and objects many times that of their text; so it stays below 30 times the text's. jansson
 * itself nests at most 2048 levels deep. */
#define KG_JSON_MAX ((size_t)16 << 20)
#define KG_JSON_BYTES 8
#define KG_JSON_FREE 4096

/* Parses a whole input; repeated keys are refused, and so is more than KG_JSON_MAX, or `limit`. A
 * new reference. */
KG_MUST_CHECK kg_status kg__json_read(json_t **out, kg_input *input, kg_error *error);
KG_MUST_CHECK kg_status kg__json_read_most(json_t **out, kg_input *input, size_t limit,
                                           kg_error *error);

/* Whether a text that is parsed by other means is within these limits. */
KG_MUST_CHECK kg_status kg__json_check(const char *name, const char *bytes, size_t size,
                                       kg_error *error);

/* Indented; the second one is ended by a newline. */
KG_MUST_CHECK kg_status kg__json_put(const json_t *value, kg_output *output, kg_error *error);
KG_MUST_CHECK kg_status kg__json_write(const json_t *value, kg_output *output, kg_error *error);

/* The checksum of an object: of everything in it but its member "checksum", written compactly, keys
 * in order, numbers with the digits that they are written with otherwise, so that what is read
 * again has the same one. The second one gives it that member, the third compares it with that
 * member, which must be a string; `name` is the object's in messages. */
KG_MUST_CHECK kg_status kg__json_checksum(kg_checksum *out, json_t *object, kg_error *error);
KG_MUST_CHECK kg_status kg__json_seal(json_t *object, kg_error *error);
KG_MUST_CHECK kg_status kg__json_verify(json_t *object, const char *name, kg_error *error);

/* What was made piece by piece, if all went well; otherwise it is freed, and NULL. */
json_t *kg__json_complete(json_t *value, bool good);

/* Frees a string that jansson made. */
void kg__json_free_text(char *text);

/* "an object", "a string": what a value is, for messages; NULL is "none". */
const char *kg__json_kind(const json_t *value);

#endif
