/* Writing and reading .npy files. The header is untrusted input: only the form of dictionary that
 * NumPy writes is accepted, it is never evaluated as Python, and its shape must fit the file. */
#include "exchange/npy.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define ALIGNMENT 64
#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE (sizeof MAGIC - 1)

/* ---- Writing ---- */

kg_status kg__npy_write(kg_output *output, const real *values, size_t rows, size_t columns,
                        kg_error *error) {
    char text[2 * ALIGNMENT];
    int length = snprintf(text, sizeof text,
                          "{'descr': '<f%zu', 'fortran_order': False, 'shape': (%zu, %zu), }",
                          sizeof *values, rows, columns);
    const char start[] = MAGIC "\x01"; /* version 1, and the terminating zero is the minor one */
    size_t before = sizeof start + sizeof(uint16_t);
    size_t padded = (before + (size_t)length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - before;
    uint16_t header = (uint16_t)padded;
    memset(text + length, ' ', padded - (size_t)length);
    text[padded - 1] = '\n';
    KG_TRY(kg__output_write(output, start, sizeof start, error));
    KG_TRY(kg__output_write(output, &header, sizeof header, error));
    KG_TRY(kg__output_write(output, text, padded, error));
    return kg__output_write(output, values, rows * columns * sizeof *values, error);
}

/* ---- Reading ---- */

/* What is left of the header. */
struct cursor {
    const char *at;
    const char *end;
};

struct fields {
    const char *type;
    size_t type_length;
    bool by_columns;
    size_t dimensions;
    uint64_t shape[2]; /* of the first two */
    unsigned seen;     /* a bit for each key */
};

static void skip_spaces(struct cursor *cursor) {
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n'))
        cursor->at++;
}

static bool take(struct cursor *cursor, const char *word) {
    skip_spaces(cursor);
    size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

/* A string in single or double quotes. The expected ones have no escapes. */
static bool take_string(struct cursor *cursor, const char **text, size_t *length) {
    const char *quote = take(cursor, "'") ? "'" : take(cursor, "\"") ? "\"" : NULL;
    if (quote == NULL || cursor->at == cursor->end)
        return false;
    const char *stop = memchr(cursor->at, *quote, (size_t)(cursor->end - cursor->at));
    if (stop == NULL)
        return false;
    *text = cursor->at;
    *length = (size_t)(stop - cursor->at);
    cursor->at = stop + 1;
    return true;
}

static bool take_number(struct cursor *cursor, uint64_t *out) {
    skip_spaces(cursor);
    const char *start = cursor->at;
    *out = 0;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++)
        if (__builtin_mul_overflow(*out, (uint64_t)10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*cursor->at - '0'), out))
            return false;
    if (cursor->at == start)
        return false;
    take(cursor, "L"); /* Python 2 wrote some numbers so */
    return true;
}

/* (2, 3) or (2,) or (). */
static bool take_shape(struct cursor *cursor, struct fields *fields) {
    if (!take(cursor, "("))
        return false;
    while (!take(cursor, ")")) {
        uint64_t number = 0;
        if (!take_number(cursor, &number))
            return false;
        if (fields->dimensions < 2)
            fields->shape[fields->dimensions] = number;
        fields->dimensions++;
        if (!take(cursor, ",") && (cursor->at == cursor->end || *cursor->at != ')'))
            return false;
    }
    return true;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

static bool take_value(struct cursor *cursor, struct fields *fields, unsigned key) {
    if (key == 0)
        return take_string(cursor, &fields->type, &fields->type_length);
    if (key == 1) {
        fields->by_columns = take(cursor, "True");
        return fields->by_columns || take(cursor, "False");
    }
    return take_shape(cursor, fields);
}

static bool take_field(struct cursor *cursor, struct fields *fields) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *name = NULL;
    size_t length = 0;
    if (!take_string(cursor, &name, &length) || !take(cursor, ":"))
        return false;
    unsigned key = 0;
    while (key < 3 && !is_word(name, length, keys[key]))
        key++;
    if (key == 3 || fields->seen & 1U << key)
        return false;
    fields->seen |= 1U << key;
    return take_value(cursor, fields, key);
}

/* The whole dictionary, followed only by spaces. */
static bool take_fields(struct cursor *cursor, struct fields *fields) {
    if (!take(cursor, "{"))
        return false;
    while (!take(cursor, "}")) {
        if (!take_field(cursor, fields))
            return false;
        if (!take(cursor, ",") && (cursor->at == cursor->end || *cursor->at != '}'))
            return false;
    }
    skip_spaces(cursor);
    return cursor->at == cursor->end && fields->seen == 7;
}

/* '<f4': byte order, kind, bytes. */
static bool find_type(kg_matrix *out, const struct fields *fields) {
    static const struct {
        const char *name;
        kg_number_type type;
        bool is_complex;
    } types[] = {
        {.name = "f2", .type = KG_F16},
        {.name = "f4", .type = KG_F32},
        {.name = "f8", .type = KG_F64},
        {.name = "c8", .type = KG_F32, .is_complex = true},
        {.name = "c16", .type = KG_F64, .is_complex = true},
    };
    if (fields->type_length == 0 || (fields->type[0] != '<' && fields->type[0] != '>'))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (is_word(fields->type + 1, fields->type_length - 1, types[i].name)) {
            out->type = types[i].type;
            out->is_complex = types[i].is_complex;
            out->is_big_endian = fields->type[0] == '>';
            return true;
        }
    return false;
}

/* Start and length of the header, which depend on the version. */
static kg_status find_header(size_t *start, uint64_t *length, const char *bytes, size_t size,
                             const char *path, kg_error *error) {
    unsigned version = size > MAGIC_SIZE ? (unsigned char)bytes[MAGIC_SIZE] : 0;
    if (!kg__npy_is(bytes, size) || version < 1 || version > 3)
        return kg_fail_at(error, path, 0, 0, "expected an .npy file of version 1, 2 or 3, found %s",
                          version == 0 ? "none" : "another version");
    size_t width = version == 1 ? sizeof(uint16_t) : sizeof(uint32_t);
    *start = MAGIC_SIZE + 2 + width;
    *length = 0;
    if (size >= *start)
        memcpy(length, bytes + MAGIC_SIZE + 2, width);
    if (size < *start || *length > size - *start)
        return kg_fail_at(error, path, 0, 0,
                          "expected an .npy file, found that its header is cut "
                          "off");
    return KG_OK;
}

bool kg__npy_is(const char *bytes, size_t size) {
    return size >= MAGIC_SIZE && memcmp(bytes, MAGIC, MAGIC_SIZE) == 0;
}

kg_status kg__npy_view(kg_matrix *out, const char *bytes, size_t size, const char *path,
                       kg_error *error) {
    size_t start = 0;
    uint64_t length = 0;
    struct fields fields = {0};
    KG_TRY(find_header(&start, &length, bytes, size, path, error));
    size_t data = start + (size_t)length;
    struct cursor cursor = {bytes + start, bytes + data};
    if (!take_fields(&cursor, &fields))
        return kg_fail_at(error, path, 0, 0,
                          "expected a header with descr, fortran_order and shape, found %s",
                          kg__quote(bytes + start, (size_t)length).text);
    if (fields.dimensions != 2)
        return kg_fail_at(error, path, 0, 0, "expected two dimensions, found %zu",
                          fields.dimensions);
    *out = (kg_matrix){.bytes = bytes + data,
                       .rows = (size_t)fields.shape[0],
                       .columns = (size_t)fields.shape[1],
                       .by_columns = fields.by_columns};
    if (!find_type(out, &fields))
        return kg_fail_at(error, path, 0, 0,
                          "expected numbers of type f2, f4, f8, c8 or c16, found %s",
                          kg__quote(fields.type, fields.type_length).text);
    return kg__matrix_check(out, size - data, path, error);
}
