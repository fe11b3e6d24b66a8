/* Finding a matrix in a file, which is untrusted input: shapes and offsets are checked against the
 * size of the file. */
#include "exchange/matrix_file.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "exchange/npy.h"

void kg__matrix_file_close(kg_matrix_file *file) {
    kg__mapping_close(&file->mapping);
    kg__safetensors_close(&file->file);
    kg__free(file->path);
    *file = (kg_matrix_file){0};
}

/* A whole number from 0 at `index` of the list. */
static bool number_at(const json_t *list, size_t index, size_t *out) {
    const json_t *item = json_array_get(list, index);
    *out = (size_t)json_integer_value(item);
    return json_is_integer(item) && json_integer_value(item) >= 0;
}

static bool find_type(kg_matrix *out, const char *name) {
    static const char *const types[] = {
        [KG_F16] = "F16", [KG_BF16] = "BF16", [KG_F32] = "F32", [KG_F64] = "F64"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (name != NULL && strcmp(name, types[i]) == 0) {
            out->type = (kg_number_type)i;
            return true;
        }
    return false;
}

static kg_status view_tensor(kg_matrix_file *out, const char *name, const json_t *entry,
                             kg_error *error) {
    const json_t *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    kg_quoted shown = kg__quote(name, strlen(name));
    kg_matrix *matrix = &out->matrix;
    size_t size = out->file.mapping.size - out->file.data;
    size_t from = 0;
    size_t to = 0;
    if (!find_type(matrix, type))
        return kg_fail_at(error, out->path, 0, 0,
                          "expected tensor %s of type F16, BF16, F32 or F64, found %s", shown.text,
                          type == NULL ? "none" : kg__quote(type, strlen(type)).text);
    if (json_array_size(shape) != 2 || !number_at(shape, 0, &matrix->rows) ||
        !number_at(shape, 1, &matrix->columns))
        return kg_fail_at(error, out->path, 0, 0,
                          "expected tensor %s with two dimensions, found %zu", shown.text,
                          json_array_size(shape));
    if (!number_at(offsets, 0, &from) || !number_at(offsets, 1, &to) || to < from || to > size)
        return kg_fail_at(error, out->path, 0, 0,
                          "expected tensor %s within the file, found that it is not (is the file "
                          "cut off?)",
                          shown.text);
    matrix->bytes = out->file.mapping.bytes + out->file.data + from;
    return kg__matrix_check(matrix, to - from, out->path, error);
}

/* How many tensors there are, and the last of them. */
static size_t count_tensors(const json_t *header, const char **last) {
    size_t count = 0;
    const char *name = NULL;
    const json_t *entry = NULL;
    json_object_foreach((json_t *)header, name, entry) {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        *last = name;
        count++;
    }
    return count;
}

static kg_status choose_tensor(kg_matrix_file *out, const char *name, const char *usual,
                               kg_error *error) {
    const json_t *header = out->file.header;
    const char *last = "";
    size_t count = count_tensors(header, &last);
    const char *wanted = name == NULL ? usual : name;
    if (name == NULL && count == 1)
        wanted = last;
    const json_t *entry = json_object_get(header, wanted);
    if (entry != NULL)
        return view_tensor(out, wanted, entry, error);
    kg_quoted shown = kg__quote(wanted, strlen(wanted));
    if (count == 0)
        return kg_fail_at(error, out->path, 0, 0, "expected a tensor %s, found none", shown.text);
    return kg_fail_at(
        error, out->path, 0, 0,
        "expected a tensor %s, found %zu others, one of them %s (FILE#NAME chooses it)", shown.text,
        count, kg__quote(last, strlen(last)).text);
}

static kg_status open_matrix(kg_matrix_file *out, const char *name, const char *usual,
                             kg_error *error) {
    const char *path = out->path;
    KG_TRY(kg__mapping_open(&out->mapping, path, error));
    const char *bytes = out->mapping.bytes;
    size_t size = out->mapping.size;
    if (kg__npy_is(bytes, size)) {
        if (name != NULL)
            return kg_fail_at(error, path, 0, 0,
                              "expected a safetensors file, which has names, found an .npy file");
        return kg__npy_view(&out->matrix, bytes, size, path, error);
    }
    if (size >= 4 && memcmp(bytes, "PK\3\4", 4) == 0)
        return kg_fail_at(error, path, 0, 0,
                          "expected an .npy or safetensors file, found an archive (.npz or .pt?): "
                          "save the array in it by numpy.save");
    if (size >= 9 && bytes[8] != '{')
        return kg_fail_at(error, path, 0, 0, "expected an .npy or safetensors file, found neither");
    KG_TRY(kg__safetensors_take(&out->file, &out->mapping, error));
    return choose_tensor(out, name, usual, error);
}

kg_status kg__matrix_file_open(kg_matrix_file *out, const char *place, const char *usual,
                               kg_error *error) {
    *out = (kg_matrix_file){0};
    /* A file's own name may have a '#' in it. */
    const char *mark = access(place, F_OK) == 0 ? NULL : strrchr(place, '#');
    out->path = kg__copy_string(place, mark == NULL ? strlen(place) : (size_t)(mark - place));
    kg_status status = out->path == NULL
                           ? kg__fail_memory(error)
                           : open_matrix(out, mark == NULL ? NULL : mark + 1, usual, error);
    if (status != KG_OK)
        kg__matrix_file_close(out);
    return status;
}
