/* A matrix as written by another tool: of any number type, byte order and storage order. It is read
 * row by row, converted to `real`. */
#ifndef KG_EXCHANGE_MATRIX_H
#define KG_EXCHANGE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "math/real.h"

typedef enum kg_number_type { KG_F16, KG_BF16, KG_F32, KG_F64 } kg_number_type;

/* Order of the parts of complex numbers or quaternions in a row: all first parts, then all second
 * ones (the order used in this program), or the parts of each number together. */
typedef enum kg_layout { KG_HALVES, KG_INTERLEAVED } kg_layout;

typedef struct kg_matrix {
    const char *bytes; /* borrowed, at any address */
    size_t rows;       /* at least 1, and no more than there can be ids */
    size_t columns;    /* at least 1 */
    kg_number_type type;
    bool is_big_endian;
    bool is_complex; /* each entry is two numbers: the real part, then the imaginary part */
    bool by_columns; /* stored column after column */
} kg_matrix;

/* Checks that a matrix of this shape has `size` bytes. `path` is for messages. */
KG_MUST_CHECK kg_status kg__matrix_check(const kg_matrix *matrix, size_t size, const char *path,
                                         kg_error *error);

/* Numbers in a row: a complex one counts as two. */
size_t kg__matrix_width(const kg_matrix *matrix);

/* A row of numbers with `parts` parts each, converted to KG_HALVES. Fails on numbers that are not
 * finite or out of range. */
KG_MUST_CHECK kg_status kg__matrix_row(const kg_matrix *matrix, real *out, size_t row, size_t parts,
                                       kg_layout layout, const char *path, kg_error *error);

/* The values if the file has the same layout as memory, NULL if not. */
const real *kg__matrix_values(const kg_matrix *matrix);

#endif
