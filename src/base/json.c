/* Reading within limits, writing, and errors with their place. */
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

json_t *kg__json_text(const char *bytes, size_t length) {
    static const char replacement[] = "\xef\xbf\xbd";
    /* In the worst case every byte becomes three. */
    char *text = length > SIZE_MAX / 3 ? NULL : kg__resize(NULL, 3 * length, 1);
    if (text == NULL)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t step = bytes[i] == '\0' ? 0 : kg__utf8_length(bytes + i, length - i);
        const char *piece = step == 0 ? replacement : bytes + i;
        size_t piece_length = step == 0 ? sizeof replacement - 1 : step;
        memcpy(text + used, piece, piece_length);
        used += piece_length;
        i += step == 0 ? 1 : step;
    }
    json_t *out = json_stringn_nocheck(text, used);
    kg__free(text);
    return out;
}

/* Counts of the text so far. An empty object takes three bytes of text, and 230 in jansson. */
struct meter {
    const char *name;
    size_t limit;
    size_t size;
    size_t containers; /* lists and objects */
    bool in_string;
    bool is_escaped;
};

static kg_status check_limits(struct meter *meter, const char *bytes, size_t size,
                              kg_error *error) {
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        if (!meter->is_escaped && c == '"')
            meter->in_string = !meter->in_string;
        meter->is_escaped = meter->in_string && !meter->is_escaped && c == '\\';
        meter->containers += !meter->in_string && (c == '{' || c == '[');
    }
    meter->size += size;
    if (meter->size > meter->limit)
        return kg_fail_at(error, meter->name, 0, 0,
                          "expected at most %zu bytes of JSON, found more", meter->limit);
    if (meter->containers > KG_JSON_FREE + meter->size / KG_JSON_BYTES)
        return kg_fail_at(error, meter->name, 0, 0,
                          "expected at most one list or object for %d bytes of JSON, found %zu in "
                          "%zu bytes",
                          KG_JSON_BYTES, meter->containers, meter->size);
    return KG_OK;
}

kg_status kg__json_check(const char *name, const char *bytes, size_t size, kg_error *error) {
    struct meter meter = {.name = name, .limit = KG_JSON_MAX};
    return check_limits(&meter, bytes, size, error);
}

struct source {
    kg_input *input;
    struct meter meter;
    kg_status status;
    kg_error *error;
};

static size_t read_some(void *buffer, size_t size, void *payload) {
    struct source *source = payload;
    size_t got = 0;
    if (source->status == KG_OK)
        source->status = kg__input_read(source->input, buffer, size, &got, source->error);
    if (source->status == KG_OK)
        source->status = check_limits(&source->meter, buffer, got, source->error);
    return source->status == KG_OK ? got : (size_t)-1;
}

kg_status kg__json_read(json_t **out, kg_input *input, kg_error *error) {
    return kg__json_read_most(out, input, KG_JSON_MAX, error);
}

kg_status kg__json_read_most(json_t **out, kg_input *input, size_t limit, kg_error *error) {
    struct meter meter = {.name = kg__input_name(input), .limit = limit};
    struct source source = {input, meter, KG_OK, error};
    json_error_t problem;
    json_t *value = json_load_callback(read_some, &source, JSON_REJECT_DUPLICATES, &problem);
    if (source.status != KG_OK) {
        json_decref(value);
        return source.status;
    }
    /* Out of memory, jansson often gives no message. */
    if (value == NULL &&
        (json_error_code(&problem) == json_error_out_of_memory || problem.text[0] == '\0'))
        return kg__fail_memory(error);
    if (value == NULL)
        return kg_fail_at(
            error, kg__input_name(input), (uint64_t)(problem.line > 0 ? problem.line : 0),
            (uint64_t)(problem.column > 0 ? problem.column : 0), "expected JSON, found that %s",
            kg__quote(problem.text, strlen(problem.text)).text);
    *out = value;
    return KG_OK;
}

struct sink {
    kg_output *output;
    kg_status status;
    kg_error *error;
};

static int write_plain(struct sink *sink, const char *bytes, size_t size) {
    if (size > 0 && sink->status == KG_OK)
        sink->status = kg__output_write(sink->output, bytes, size, sink->error);
    return sink->status == KG_OK ? 0 : -1;
}

/* jansson escapes only the control characters below U+0020; U+007F to U+009F control terminals,
 * too. They can only be within strings, and jansson passes whole characters. */
static int write_some(const char *bytes, size_t size, void *payload) {
    struct sink *sink = payload;
    size_t from = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bool is_pair = c == 0xc2 && i + 1 < size && (unsigned char)bytes[i + 1] < 0xa0;
        if (c != 0x7f && !is_pair)
            continue;
        char escaped[8];
        write_plain(sink, bytes + from, i - from);
        i += is_pair;
        snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)(unsigned char)bytes[i]);
        write_plain(sink, escaped, strlen(escaped));
        from = i + 1;
    }
    return write_plain(sink, bytes + from, size - from);
}

kg_status kg__json_put(const json_t *value, kg_output *output, kg_error *error) {
    struct sink sink = {output, KG_OK, error};
    if (json_dump_callback(value, write_some, &sink,
                           JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY) != 0)
        return sink.status == KG_OK ? kg__fail_memory(error) : sink.status;
    return KG_OK;
}

kg_status kg__json_write(const json_t *value, kg_output *output, kg_error *error) {
    KG_TRY(kg__json_put(value, output, error));
    return kg__output_write(output, "\n", 1, error);
}

json_t *kg__json_complete(json_t *value, bool good) {
    if (good)
        return value;
    json_decref(value);
    return NULL;
}

void kg__json_free_text(char *text) {
    json_free_t release = NULL;
    json_get_alloc_funcs(NULL, &release);
    release(text);
}

const char *kg__json_kind(const json_t *value) {
    if (value == NULL)
        return "none";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a truth value";
    case JSON_NULL:
        return "null";
    }
    return "something else";
}

/* Out of memory, jansson leaves out parts without an error; so it writes twice. */
static kg_status hash_text(kg_checksum *out, const json_t *object, kg_error *error) {
    const size_t flags = JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15);
    size_t size = json_dumpb(object, NULL, 0, flags);
    char *text = kg__resize(NULL, size, 1);
    bool good = text != NULL && size > 0 && json_dumpb(object, text, size, flags) == size;
    if (good)
        *out = kg__checksum_of(text, size);
    kg__free(text);
    return good ? KG_OK : kg__fail_memory(error);
}

/* The member is removed meanwhile: a copy might be incomplete in the same way. */
kg_status kg__json_checksum(kg_checksum *out, json_t *object, kg_error *error) {
    json_t *told = json_incref(json_object_get(object, "checksum"));
    json_object_del(object, "checksum");
    kg_status status = hash_text(out, object, error);
    bool is_back = told == NULL || json_object_set_new(object, "checksum", told) == 0;
    return status == KG_OK && !is_back ? kg__fail_memory(error) : status;
}

kg_status kg__json_seal(json_t *object, kg_error *error) {
    kg_checksum checksum;
    KG_TRY(kg__json_checksum(&checksum, object, error));
    return json_object_set_new(object, "checksum", json_string(checksum.text)) == 0
               ? KG_OK
               : kg__fail_memory(error);
}

kg_status kg__json_verify(json_t *object, const char *name, kg_error *error) {
    const json_t *told = json_object_get(object, "checksum");
    kg_checksum found;
    KG_TRY(kg__json_checksum(&found, object, error));
    if (strcmp(json_string_value(told), found.text) == 0)
        return KG_OK;
    return kg_fail_at(
        error, name, 0, 0, "expected what has the checksum %s, found %s: it was changed since",
        kg__quote(json_string_value(told), json_string_length(told)).text, found.text);
}
