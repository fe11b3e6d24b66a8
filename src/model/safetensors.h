/* Tensors in a file that any safetensors reader opens: eight bytes with the length of a JSON
 * header, the header, the numbers. The header is padded with spaces so that the numbers start at a
 * multiple of 64 bytes. Reading maps the file; nothing is copied. */
#ifndef KG_MODEL_SAFETENSORS_H
#define KG_MODEL_SAFETENSORS_H

#include <stdbool.h>

#include "base/file_mapping.h"
#include "base/json.h"
#include "math/real.h"

typedef struct kg_tensor {
    const char *name;
    const real *values; /* rows x columns */
    size_t rows;
    size_t columns;
    bool is_half; /* to be written in half precision */
} kg_tensor;

/* Checks that its numbers are finite; `path` is where they come from, for messages. */
KG_MUST_CHECK kg_status kg__tensor_check(const kg_tensor *tensor, const char *path,
                                         kg_error *error);

/* The header is the file's head. `note` is kept in the header as the string "kgraft" of its
 * metadata; NULL for none. A file with a note also has its own checksum there, "xxh3": that of the
 * whole file with 32 zeros in its place. Tensors may be in a mapped file, whose pages
 * are given back once they are read; NULL: none are. */
KG_MUST_CHECK kg_status kg__safetensors_write(kg_output *output, const kg_tensor *tensors,
                                              size_t count, const char *note,
                                              const kg_mapping *mapped, kg_error *error);

/* An open file. One that is all zeroes may be closed, too. */
typedef struct kg_safetensors {
    kg_mapping mapping;
    size_t data;    /* where the numbers start; offsets in the header are from there */
    json_t *header; /* an object */
} kg_safetensors;

KG_MUST_CHECK kg_status kg__safetensors_open(kg_safetensors *out, const char *path,
                                             kg_error *error);

/* The same for a mapped file. Takes ownership of the mapping, also if it fails. */
KG_MUST_CHECK kg_status kg__safetensors_take(kg_safetensors *out, kg_mapping *mapping,
                                             kg_error *error);
void kg__safetensors_close(kg_safetensors *file);

/* The tensor of that name, which must be of our precision and have two dimensions. Its values live
 * as long as the file is open. */
KG_MUST_CHECK kg_status kg__safetensors_get(const kg_safetensors *file, kg_tensor *out,
                                            const char *name, kg_error *error);

/* The values of the tensor of that name, which must have that shape, too. */
KG_MUST_CHECK kg_status kg__safetensors_view(const kg_safetensors *file, const real **out,
                                             const char *name, size_t rows, size_t columns,
                                             kg_error *error);

/* Whether the tensor of that name is in half precision; and its values. */
bool kg__safetensors_is_half(const kg_safetensors *file, const char *name);
KG_MUST_CHECK kg_status kg__safetensors_view_half(const kg_safetensors *file, const uint16_t **out,
                                                  const char *name, size_t rows, size_t columns,
                                                  kg_error *error);

/* Whether there is a tensor of that name. */
bool kg__safetensors_has(const kg_safetensors *file, const char *name);

/* Verifies the checksum of a file with a note. */
KG_MUST_CHECK kg_status kg__safetensors_verify(const kg_safetensors *file, kg_error *error);

/* Checks that all numbers of all tensors, of our precision or half, are finite; adds their number.
 */
KG_MUST_CHECK kg_status kg__safetensors_check_numbers(const kg_safetensors *file, uint64_t *count,
                                                      kg_error *error);

/* The note, or NULL; lives as long as the file is open. */
const char *kg__safetensors_note(const kg_safetensors *file);

#endif
