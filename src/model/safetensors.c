/* Writing and mapping safetensors files. The header is untrusted input: every
 * number in it is checked against the size of the file. */
#define _GNU_SOURCE
#include "model/safetensors.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "math/half.h"

#define ALIGNMENT 64

#ifdef KG_DOUBLE
#define DTYPE "F64"
#else
#define DTYPE "F32"
#endif
#define HALF_DTYPE "F16"

#define STRIP 4096 /* numbers that are rounded at a time */

/* Takes the place of a file's own checksum while it is computed. */
static const char no_checksum[] = "00000000000000000000000000000000";
#define CHECKSUM_LENGTH (sizeof no_checksum - 1)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors are little-endian");

/* ---- Writing ---- */

static size_t size_of(const kg_tensor *tensor) {
    return tensor->rows * tensor->columns * (tensor->is_half ? sizeof(uint16_t) : sizeof(real));
}

static json_t *make_header(const kg_tensor *tensors, size_t count, const char *note) {
    json_t *header = json_object();
    json_int_t offset = 0;
    bool good = note == NULL ||
                json_object_set_new(header, "__metadata__",
                                    json_pack("{ss ss}", "xxh3", no_checksum, "kgraft", note)) == 0;
    for (size_t i = 0; i < count && good; i++) {
        json_int_t end = offset + (json_int_t)size_of(&tensors[i]);
        json_t *entry =
            json_pack("{ss s[II] s[II]}", "dtype", tensors[i].is_half ? HALF_DTYPE : DTYPE, "shape",
                      (json_int_t)tensors[i].rows, (json_int_t)tensors[i].columns, "data_offsets",
                      offset, end);
        good = json_object_set_new(header, tensors[i].name, entry) == 0;
        offset = end;
    }
    if (good)
        return header;
    json_decref(header);
    return NULL;
}

/* What is done with a tensor, piece by piece. */
struct visit {
    const kg_mapping *mapped;
    kg_hasher *hasher; /* adds it, */
    kg_output *output; /* or writes it; the other one is NULL */
};

static bool is_mapped(const struct visit *visit, const kg_tensor *tensor) {
    const char *bytes = (const char *)tensor->values;
    const kg_mapping *mapped = visit->mapped;
    return mapped != NULL && mapped->size > 0 && mapped->bytes <= bytes &&
           bytes < mapped->bytes + mapped->size;
}

static kg_status visit_bytes(const struct visit *visit, const void *bytes, size_t size,
                             kg_error *error) {
    if (visit->hasher == NULL)
        return kg__output_write(visit->output, bytes, size, error);
    kg__hasher_add(visit->hasher, bytes, size);
    return KG_OK;
}

static kg_status visit_half(const struct visit *visit, const kg_tensor *tensor, kg_error *error) {
    size_t count = tensor->rows * tensor->columns;
    uint16_t halves[STRIP];
    for (size_t from = 0, size = 0; from < count; from += size) {
        size = count - from < STRIP ? count - from : STRIP;
        if (!kg__halves_round(halves, tensor->values + from, size))
            return kg_fail(error, KG_BAD_INPUT,
                           "expected numbers of at most %d in %s, to store in half precision, "
                           "found a larger one",
                           KG_LARGEST_HALF, tensor->name);
        KG_TRY(visit_bytes(visit, halves, size * sizeof *halves, error));
        if (is_mapped(visit, tensor))
            kg__mapping_give_back(tensor->values + from, size * sizeof *tensor->values);
    }
    return KG_OK;
}

static kg_status visit_tensor(const struct visit *visit, const kg_tensor *tensor, kg_error *error) {
    const char *bytes = (const char *)tensor->values;
    size_t left = size_of(tensor);
    if (tensor->is_half)
        return visit_half(visit, tensor, error);
    for (size_t size = 0; left > 0; left -= size, bytes += size) {
        size = left < KG_PIECE ? left : KG_PIECE;
        KG_TRY(visit_bytes(visit, bytes, size, error));
        if (is_mapped(visit, tensor))
            kg__mapping_give_back(bytes, size);
    }
    return KG_OK;
}

/* The metadata is the first entry of the header, and the checksum the first in it. */
static kg_status seal(char *head, size_t size, const kg_tensor *tensors, size_t count,
                      const kg_mapping *mapped, kg_error *error) {
    char *place = memmem(head, size, no_checksum, CHECKSUM_LENGTH);
    kg_hasher *hasher = kg__hasher_new();
    struct visit visit = {.mapped = mapped, .hasher = hasher};
    kg_status status = KG_OK;
    if (hasher == NULL)
        return kg__fail_memory(error);
    kg__hasher_add(hasher, head, size);
    for (size_t i = 0; i < count && status == KG_OK; i++)
        status = visit_tensor(&visit, &tensors[i], error);
    memcpy(place, kg__hasher_checksum(hasher).text, CHECKSUM_LENGTH);
    kg__hasher_free(hasher);
    return status;
}

/* The length of the header, and the header, padded with spaces; to be kg_freed, NULL if memory is
 * short. Then jansson may leave out parts without an error; so it writes twice. */
static char *make_head(size_t *size, const json_t *header) {
    size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT);
    *size = (sizeof(uint64_t) + length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t padded = *size - sizeof padded;
    char *head = kg__resize(NULL, *size, 1);
    if (head == NULL)
        return NULL;
    memset(head, ' ', *size);
    memcpy(head, &padded, sizeof padded);
    if (length > 0 && json_dumpb(header, head + sizeof padded, length, JSON_COMPACT) == length)
        return head;
    kg__free(head);
    return NULL;
}

kg_status kg__safetensors_write(kg_output *output, const kg_tensor *tensors, size_t count,
                                const char *note, const kg_mapping *mapped, kg_error *error) {
    struct visit visit = {.mapped = mapped, .output = output};
    json_t *header = make_header(tensors, count, note);
    size_t size = 0;
    char *head = make_head(&size, header);
    json_decref(header);
    if (head == NULL)
        return kg__fail_memory(error);
    kg_status status = note == NULL ? KG_OK : seal(head, size, tensors, count, mapped, error);
    if (status == KG_OK)
        status = kg__output_write(output, head, size, error);
    kg__free(head);
    kg__output_end_head(output);
    for (size_t i = 0; i < count && status == KG_OK; i++)
        status = visit_tensor(&visit, &tensors[i], error);
    return status;
}

/* ---- Reading ---- */

void kg__safetensors_close(kg_safetensors *file) {
    kg__mapping_close(&file->mapping);
    json_decref(file->header);
    *file = (kg_safetensors){0};
}

static kg_status read_header(kg_safetensors *file, kg_error *error) {
    uint64_t length = 0;
    if (file->mapping.size < sizeof length)
        return kg_fail_at(error, file->mapping.path, 0, 0,
                          "expected a safetensors file, found something shorter than its header");
    memcpy(&length, file->mapping.bytes, sizeof length);
    if (length > KG_JSON_MAX || length > file->mapping.size - sizeof length)
        return kg_fail_at(error, file->mapping.path, 0, 0,
                          "expected a safetensors file, found a header of %ju bytes in %zu",
                          (uintmax_t)length, file->mapping.size);
    file->data = sizeof length + (size_t)length;
    KG_TRY(kg__json_check(file->mapping.path, (const char *)file->mapping.bytes + sizeof length,
                          (size_t)length, error));
    json_error_t problem;
    file->header = json_loadb(file->mapping.bytes + sizeof length, (size_t)length,
                              JSON_REJECT_DUPLICATES, &problem);
    /* If memory is short, jansson often gives no reason. */
    if (file->header == NULL &&
        (json_error_code(&problem) == json_error_out_of_memory || problem.text[0] == '\0'))
        return kg__fail_memory(error);
    if (!json_is_object(file->header))
        return kg_fail_at(error, file->mapping.path, 0, 0,
                          "expected a safetensors file, found a header that is no JSON object");
    return KG_OK;
}

kg_status kg__safetensors_take(kg_safetensors *out, kg_mapping *mapping, kg_error *error) {
    *out = (kg_safetensors){.mapping = *mapping};
    *mapping = (kg_mapping){0};
    kg_status status = read_header(out, error);
    if (status != KG_OK)
        kg__safetensors_close(out);
    return status;
}

kg_status kg__safetensors_open(kg_safetensors *out, const char *path, kg_error *error) {
    kg_mapping mapping;
    KG_TRY(kg__mapping_open(&mapping, path, error));
    return kg__safetensors_take(out, &mapping, error);
}

/* A whole number from 0 at `index` of the list, or -1. */
static json_int_t number_at(const json_t *list, size_t index) {
    const json_t *item = json_array_get(list, index);
    return json_is_integer(item) ? json_integer_value(item) : -1;
}

/* A tensor of a type with numbers of so many bytes: its shape, and where they are. */
static kg_status find(const kg_safetensors *file, kg_tensor *out, const char **bytes,
                      const char *name, const char *type, size_t number_size, kg_error *error) {
    const json_t *entry = json_object_get(file->header, name);
    const json_t *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    json_int_t rows = number_at(shape, 0);
    json_int_t columns = number_at(shape, 1);
    json_int_t from = number_at(offsets, 0);
    json_int_t to = number_at(offsets, 1);
    json_int_t size = 0;
    if (dtype == NULL || strcmp(dtype, type) != 0 || json_array_size(shape) != 2)
        return kg_fail_at(error, file->mapping.path, 0, 0,
                          "expected a tensor %s of type %s with two dimensions, found none", name,
                          type);
    if (rows < 0 || columns < 0 || from < 0 || to < from ||
        (uint64_t)to > file->mapping.size - file->data ||
        __builtin_mul_overflow(rows, columns, &size) ||
        __builtin_mul_overflow(size, (json_int_t)number_size, &size) || size != to - from ||
        (file->data + (size_t)from) % number_size != 0)
        return kg_fail_at(
            error, file->mapping.path, 0, 0,
            "expected tensor %s within the file, found that its shape and place do not "
            "fit (is the file cut off?)",
            name);
    *out = (kg_tensor){.name = name, .rows = (size_t)rows, .columns = (size_t)columns};
    *bytes = file->mapping.bytes + file->data + from;
    return KG_OK;
}

kg_status kg__safetensors_get(const kg_safetensors *file, kg_tensor *out, const char *name,
                              kg_error *error) {
    const char *bytes = NULL;
    KG_TRY(find(file, out, &bytes, name, DTYPE, sizeof(real), error));
    out->values = (const real *)(const void *)bytes;
    return KG_OK;
}

static kg_status check_shape(const kg_safetensors *file, const kg_tensor *tensor, size_t rows,
                             size_t columns, kg_error *error) {
    if (tensor->rows == rows && tensor->columns == columns)
        return KG_OK;
    return kg_fail_at(error, file->mapping.path, 0, 0, "expected %s of %zu x %zu, found %zu x %zu",
                      tensor->name, rows, columns, tensor->rows, tensor->columns);
}

kg_status kg__safetensors_view(const kg_safetensors *file, const real **out, const char *name,
                               size_t rows, size_t columns, kg_error *error) {
    kg_tensor tensor;
    KG_TRY(kg__safetensors_get(file, &tensor, name, error));
    *out = tensor.values;
    return check_shape(file, &tensor, rows, columns, error);
}

bool kg__safetensors_is_half(const kg_safetensors *file, const char *name) {
    const json_t *entry = json_object_get(file->header, name);
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    return dtype != NULL && strcmp(dtype, HALF_DTYPE) == 0;
}

kg_status kg__safetensors_view_half(const kg_safetensors *file, const uint16_t **out,
                                    const char *name, size_t rows, size_t columns,
                                    kg_error *error) {
    kg_tensor tensor;
    const char *bytes = NULL;
    KG_TRY(find(file, &tensor, &bytes, name, HALF_DTYPE, sizeof **out, error));
    *out = (const uint16_t *)(const void *)bytes;
    return check_shape(file, &tensor, rows, columns, error);
}

bool kg__safetensors_has(const kg_safetensors *file, const char *name) {
    return json_object_get(file->header, name) != NULL;
}

const char *kg__safetensors_note(const kg_safetensors *file) {
    const json_t *metadata = json_object_get(file->header, "__metadata__");
    return json_string_value(json_object_get(metadata, "kgraft"));
}

static void hash_mapped(kg_hasher *hasher, const char *bytes, size_t left) {
    for (size_t size = 0; left > 0; left -= size, bytes += size) {
        size = left < KG_PIECE ? left : KG_PIECE;
        kg__hasher_add(hasher, bytes, size);
        kg__mapping_give_back(bytes, size);
    }
}

kg_status kg__safetensors_verify(const kg_safetensors *file, kg_error *error) {
    const kg_mapping *mapping = &file->mapping;
    const json_t *metadata = json_object_get(file->header, "__metadata__");
    const char *expected = json_string_value(json_object_get(metadata, "xxh3"));
    const char *place = expected == NULL || strlen(expected) != CHECKSUM_LENGTH
                            ? NULL
                            : memmem(mapping->bytes, file->data, expected, CHECKSUM_LENGTH);
    if (place == NULL)
        return kg_fail_at(error, mapping->path, 0, 0,
                          "expected a checksum in its metadata, found none");
    const char *behind = place + CHECKSUM_LENGTH;
    kg_hasher *hasher = kg__hasher_new();
    if (hasher == NULL)
        return kg__fail_memory(error);
    kg__hasher_add(hasher, mapping->bytes, (size_t)(place - mapping->bytes));
    kg__hasher_add(hasher, no_checksum, CHECKSUM_LENGTH);
    hash_mapped(hasher, behind, (size_t)(mapping->bytes + mapping->size - behind));
    kg_checksum found = kg__hasher_checksum(hasher);
    kg__hasher_free(hasher);
    if (strcmp(expected, found.text) == 0)
        return KG_OK;
    return kg_fail_at(error, mapping->path, 0, 0,
                      "expected what has the checksum %s, found %s: it is damaged",
                      kg__quote(expected, strlen(expected)).text, found.text);
}

kg_status kg__tensor_check(const kg_tensor *tensor, const char *path, kg_error *error) {
    for (size_t i = 0; i < tensor->rows * tensor->columns; i++)
        if (!isfinite(tensor->values[i]))
            return kg_fail_at(error, path, 0, 0,
                              "expected finite numbers, found %g in row %zu of %s",
                              (double)tensor->values[i], i / tensor->columns,
                              kg__quote(tensor->name, strlen(tensor->name)).text);
    return KG_OK;
}

static kg_status check_halves(const kg_safetensors *file, kg_tensor *out, const char *name,
                              kg_error *error) {
    const char *bytes = NULL;
    KG_TRY(find(file, out, &bytes, name, HALF_DTYPE, sizeof(uint16_t), error));
    const uint16_t *halves = (const uint16_t *)(const void *)bytes;
    for (size_t i = 0; i < out->rows * out->columns; i++)
        if (!kg__half_is_finite(halves[i]))
            return kg_fail_at(error, file->mapping.path, 0, 0,
                              "expected finite numbers, found one that is not in row %zu of %s",
                              i / out->columns, kg__quote(name, strlen(name)).text);
    return KG_OK;
}

kg_status kg__safetensors_check_numbers(const kg_safetensors *file, uint64_t *count,
                                        kg_error *error) {
    const char *name = NULL;
    json_t *entry = NULL;
    json_object_foreach(file->header, name, entry) {
        kg_tensor tensor;
        if (strcmp(name, "__metadata__") == 0)
            continue;
        if (kg__safetensors_is_half(file, name)) {
            KG_TRY(check_halves(file, &tensor, name, error));
        } else {
            KG_TRY(kg__safetensors_get(file, &tensor, name, error));
            KG_TRY(kg__tensor_check(&tensor, file->mapping.path, error));
        }
        *count += tensor.rows * tensor.columns;
    }
    return KG_OK;
}
