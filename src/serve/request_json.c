/* Checks of JSON. Messages have the path of a member and what was expected there. */
#include "serve/request_json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "serve/limits.h"

/* jansson goes down by recursion, and much of what follows is as deep. */
static kg_status check_depth(const char *bytes, size_t size, kg_error *error) {
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        if (in_string && bytes[i] == '\\')
            i++;
        else if (bytes[i] == '"')
            in_string = !in_string;
        else if (!in_string && (bytes[i] == '[' || bytes[i] == '{'))
            depth++;
        else if (!in_string && (bytes[i] == ']' || bytes[i] == '}') && depth > 0)
            depth--;
        if (depth > SERVE_MOST_DEPTH)
            return kg_fail_at(error, "body", 0, 0, "expected at most %d levels of JSON, found more",
                              SERVE_MOST_DEPTH);
    }
    return KG_OK;
}

kg_status serve_json_parse(json_t **out, const char *bytes, size_t size, kg_error *error) {
    json_error_t problem;
    KG_TRY(kg__json_check("body", bytes, size, error));
    KG_TRY(check_depth(bytes, size, error));
    *out = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    if (*out != NULL)
        return KG_OK;
    if (json_error_code(&problem) == json_error_out_of_memory || problem.text[0] == '\0')
        return kg__fail_memory(error);
    return kg_fail_at(error, "body", (uint64_t)(problem.line > 0 ? problem.line : 0),
                      (uint64_t)(problem.column > 0 ? problem.column : 0),
                      "expected JSON, found that %s",
                      kg__quote(problem.text, strlen(problem.text)).text);
}

/* ---- Values ---- */

/* The path of a member, for messages. */
typedef struct member {
    char text[160];
} member;

static member name_member(const char *where, const char *name) {
    member out;
    snprintf(out.text, sizeof out.text, "%s%s%s", where, where[0] == '\0' ? "" : ".", name);
    return out;
}

static member name_element(const char *list, size_t index) {
    member out;
    snprintf(out.text, sizeof out.text, "%.100s[%zu]", list, index);
    return out;
}

static kg_status refuse(kg_error *error, const char *path, const char *expected,
                        const json_t *value) {
    return kg_fail(error, KG_BAD_INPUT, "`%s`: expected %s, found %s", path, expected,
                   kg__json_kind(value));
}

static kg_status check_name(const json_t *value, const char *path, kg_error *error) {
    if (!json_is_string(value))
        return refuse(error, path, "a string", value);
    size_t length = json_string_length(value);
    if (length < 1 || length > SERVE_MOST_NAME)
        return kg_fail(error, KG_BAD_INPUT, "`%s`: expected 1 to %d bytes, found %zu", path,
                       SERVE_MOST_NAME, length);
    return KG_OK;
}

static kg_status check_fact(const json_t *value, const char *path, kg_error *error) {
    static const char *const ends[] = {"head", "relation", "tail"};
    if (!json_is_array(value))
        return refuse(error, path, "a list of head, relation and tail", value);
    if (json_array_size(value) != 3)
        return kg_fail(error, KG_BAD_INPUT,
                       "`%s`: expected head, relation and tail, found %zu elements", path,
                       json_array_size(value));
    for (size_t i = 0; i < 3; i++)
        KG_TRY(check_name(json_array_get(value, i), name_member(path, ends[i]).text, error));
    return KG_OK;
}

static kg_status check_facts(const json_t *value, const serve_field *field, const char *path,
                             kg_error *error) {
    if (!json_is_array(value))
        return refuse(error, path, "a list of facts", value);
    if (json_array_size(value) > field->most)
        return kg_fail(error, KG_BAD_INPUT, "`%s`: expected at most %ju facts, found %zu", path,
                       (uintmax_t)field->most, json_array_size(value));
    for (size_t i = 0; i < json_array_size(value); i++)
        KG_TRY(check_fact(json_array_get(value, i), name_element(path, i).text, error));
    return KG_OK;
}

static kg_status check_list(const json_t *value, const serve_field *field, const char *path,
                            kg_error *error) {
    if (!json_is_array(value))
        return refuse(error, path, "a list", value);
    if (json_array_size(value) < 1 || json_array_size(value) > field->most)
        return kg_fail(error, KG_BAD_INPUT, "`%s`: expected 1 to %ju elements, found %zu", path,
                       (uintmax_t)field->most, json_array_size(value));
    return KG_OK;
}

static kg_status read_count(uint64_t *out, const json_t *value, const serve_field *field,
                            const char *path, kg_error *error) {
    if (!json_is_integer(value))
        return refuse(error, path, "a whole number", value);
    json_int_t found = json_integer_value(value);
    if (found < 0 || (uint64_t)found < field->least || (uint64_t)found > field->most)
        return kg_fail(error, KG_BAD_INPUT, "`%s`: expected %ju to %ju, found %jd", path,
                       (uintmax_t)field->least, (uintmax_t)field->most, (intmax_t)found);
    *out = (uint64_t)found;
    return KG_OK;
}

static kg_status read_number(double *out, const json_t *value, const serve_field *field,
                             const char *path, kg_error *error) {
    if (!json_is_number(value))
        return refuse(error, path, "a number", value);
    double found = json_number_value(value);
    if (!(found >= (double)field->least && found <= (double)field->most))
        return kg_fail(error, KG_BAD_INPUT, "`%s`: expected %ju to %ju, found %g", path,
                       (uintmax_t)field->least, (uintmax_t)field->most, found);
    *out = found;
    return KG_OK;
}

static kg_status read_side(serve_side *out, const json_t *value, const char *path,
                           kg_error *error) {
    static const char *const names[] = {"", "head", "tail", "both"};
    if (!json_is_string(value))
        return refuse(error, path, "head, tail or both", value);
    const char *found = json_string_value(value);
    for (int i = SERVE_HEADS; i <= SERVE_BOTH; i++)
        if (strcmp(found, names[i]) == 0) {
            *out = (serve_side)i;
            return KG_OK;
        }
    return kg_fail(error, KG_BAD_INPUT, "`%s`: expected head, tail or both, found %s", path,
                   kg__quote(found, strlen(found)).text);
}

static kg_status read_flag(bool *out, const json_t *value, const char *path, kg_error *error) {
    if (!json_is_boolean(value))
        return refuse(error, path, "true or false", value);
    *out = json_is_true(value);
    return KG_OK;
}

static kg_status check_value(const json_t *value, const serve_field *field, const char *path,
                             kg_error *error) {
    switch (field->kind) {
    case SERVE_FACTS:
        return check_facts(value, field, path, error);
    case SERVE_FACT:
        return check_fact(value, path, error);
    case SERVE_LIST:
        return check_list(value, field, path, error);
    default:
        return check_name(value, path, error);
    }
}

static kg_status read_value(void *out, const json_t *value, const serve_field *field,
                            const char *path, kg_error *error) {
    switch (field->kind) {
    case SERVE_COUNT:
        return read_count(out, value, field, path, error);
    case SERVE_NUMBER:
        return read_number(out, value, field, path, error);
    case SERVE_FLAG:
        return read_flag(out, value, path, error);
    case SERVE_SIDE:
        return read_side(out, value, path, error);
    default:
        break;
    }
    KG_TRY(check_value(value, field, path, error));
    if (field->kind == SERVE_TEXT)
        *(const char **)out = json_string_value(value);
    else
        *(const json_t **)out = value;
    return KG_OK;
}

/* ---- Objects ---- */

static const serve_field *find_field(const serve_field *fields, const char *name) {
    while (fields->name != NULL && strcmp(fields->name, name) != 0)
        fields++;
    return fields->name == NULL ? NULL : fields;
}

static kg_status refuse_member(kg_error *error, const serve_field *fields, const char *where,
                               const char *name) {
    char known[256];
    kg__join_names(known, sizeof known, fields, sizeof *fields);
    return kg_fail(error, KG_BAD_INPUT, "%s%sexpected %s%s, found %s", where,
                   where[0] == '\0' ? "" : ": ", known[0] == '\0' ? "no members" : "a member ",
                   known, kg__quote(name, strlen(name)).text);
}

kg_status serve_fields_read(void *out, const serve_field *fields, const json_t *object,
                            const char *where, kg_error *error) {
    const char *name = NULL;
    json_t *value = NULL;
    if (!json_is_object(object))
        return refuse(error, where[0] == '\0' ? "body" : where, "an object", object);
    json_object_foreach((json_t *)object, name, value) {
        const serve_field *field = find_field(fields, name);
        if (field == NULL)
            return refuse_member(error, fields, where, name);
        char *variable = (char *)out + field->offset;
        KG_TRY(read_value(variable, value, field, name_member(where, name).text, error));
    }
    return KG_OK;
}

kg_status serve_name_check(kg_text name, kg_error *error) {
    if (name.length > SERVE_MOST_NAME)
        return kg_fail(error, KG_BAD_INPUT, "expected names of at most %d bytes, found %zu",
                       SERVE_MOST_NAME, name.length);
    for (size_t i = 0, step = 0; i < name.length; i += step) {
        step = kg__utf8_length(name.bytes + i, name.length - i);
        if (step == 0)
            return kg_fail(error, KG_BAD_INPUT, "expected names in UTF-8, found %s",
                           kg__quote(name.bytes, name.length).text);
    }
    return KG_OK;
}

void serve_fact_names(kg_text out[3], const json_t *fact) {
    for (size_t i = 0; i < 3; i++) {
        const json_t *name = json_array_get(fact, i);
        out[i] = (kg_text){json_string_value(name), json_string_length(name)};
    }
}
