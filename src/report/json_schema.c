/* Checking a value against a schema, from the outside in. */
#include "report/json_schema.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define LONGEST_NAME 100

/* Where a value is: "results.experiments[2].title". */
struct place {
    char text[256];
};

static kg_status fail(const char *expected, const json_t *value, const char *place,
                      kg_error *error) {
    return kg_fail_at(error, place, 0, 0, "expected %s, found %s", expected, kg__json_kind(value));
}

static kg_status check_choice(const json_schema *schema, const char *text, const char *place,
                              kg_error *error) {
    char all[128];
    size_t used = 0;
    for (size_t i = 0; schema->choices[i] != NULL; i++) {
        if (strcmp(text, schema->choices[i]) == 0)
            return KG_OK;
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i == 0 ? "" : " or ",
                                     schema->choices[i]);
    }
    return kg_fail_at(error, place, 0, 0, "expected %s, found %s", all,
                      kg__quote(text, strlen(text)).text);
}

static kg_status check_text(const json_schema *schema, const json_t *value, const char *place,
                            kg_error *error) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const char *text = json_string_value(value);
    if (text == NULL)
        return fail("a string", value, place, error);
    size_t length = json_string_length(value);
    if (schema->choices != NULL)
        return check_choice(schema, text, place, error);
    if (schema->kind == SCHEMA_NAME &&
        (strspn(text, letters) == 0 || strspn(text, all) != length || length > LONGEST_NAME))
        return kg_fail_at(error, place, 0, 0,
                          "expected a name of at most %d letters, digits, '-', '_' and '.', found "
                          "%s",
                          LONGEST_NAME, kg__quote(text, length).text);
    return KG_OK;
}

static kg_status check_count(const json_schema *schema, const json_t *value, const char *place,
                             kg_error *error) {
    json_int_t most = schema->most == 0 ? (json_int_t)1 << 53 : (json_int_t)schema->most;
    if (!json_is_integer(value))
        return fail("a number without fraction", value, place, error);
    if (json_integer_value(value) < 0 || json_integer_value(value) > most)
        return kg_fail_at(error, place, 0, 0,
                          "expected a number from 0 to %" JSON_INTEGER_FORMAT
                          ", found %" JSON_INTEGER_FORMAT,
                          most, json_integer_value(value));
    return KG_OK;
}

static kg_status check_list(const json_schema *schema, const json_t *value, const char *place,
                            kg_error *error) {
    if (!json_is_array(value))
        return fail("a list", value, place, error);
    size_t count = json_array_size(value);
    if (count < schema->least)
        return kg_fail_at(error, place, 0, 0, "expected a list of at least %zu, found %zu",
                          schema->least, count);
    if (schema->most != 0 && count > schema->most)
        return kg_fail_at(error, place, 0, 0, "expected a list of at most %zu, found %zu",
                          schema->most, count);
    for (size_t i = 0; i < count; i++) {
        struct place inner;
        snprintf(inner.text, sizeof inner.text, "%s[%zu]", place, i);
        KG_TRY(json_schema_check(schema->items, json_array_get(value, i), inner.text, error));
    }
    return KG_OK;
}

static kg_status check_object(const json_schema *schema, const json_t *value, const char *place,
                              kg_error *error) {
    if (!json_is_object(value))
        return fail("an object", value, place, error);
    for (const json_schema_field *field = schema->fields; field->name != NULL; field++) {
        const json_t *inside = json_object_get(value, field->name);
        struct place inner;
        snprintf(inner.text, sizeof inner.text, "%s.%s", place, field->name);
        if (inside != NULL)
            KG_TRY(json_schema_check(field->schema, inside, inner.text, error));
        else if (field->required)
            return kg_fail_at(error, place, 0, 0, "expected the key '%s', found none", field->name);
    }
    return KG_OK;
}

kg_status json_schema_check(const json_schema *schema, const json_t *value, const char *place,
                            kg_error *error) {
    if (schema->nullable && json_is_null(value))
        return KG_OK;
    switch (schema->kind) {
    case SCHEMA_TEXT:
    case SCHEMA_NAME:
        return check_text(schema, value, place, error);
    case SCHEMA_NUMBER:
        return json_is_number(value) ? KG_OK : fail("a number", value, place, error);
    case SCHEMA_COUNT:
        return check_count(schema, value, place, error);
    case SCHEMA_TRUTH:
        return json_is_boolean(value) ? KG_OK : fail("true or false", value, place, error);
    case SCHEMA_LIST:
        return check_list(schema, value, place, error);
    case SCHEMA_OBJECT:
        return check_object(schema, value, place, error);
    }
    return KG_OK;
}
