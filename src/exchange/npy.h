/* NumPy's file format for matrices (.npy): a magic number, a version, the length of a header, the
 * header (a Python dictionary of type, order and shape), the numbers. Written files have
 * version 1.0 and numbers that start at a multiple of 64 bytes, so that NumPy can map them;
 * versions 1, 2 and 3, floats and complex numbers of any width, both byte orders and both storage
 * orders are read. */
#ifndef KG_EXCHANGE_NPY_H
#define KG_EXCHANGE_NPY_H

#include "base/output.h"
#include "exchange/matrix.h"

/* `values` are rows x columns. */
KG_MUST_CHECK kg_status kg__npy_write(kg_output *output, const real *values, size_t rows,
                                      size_t columns, kg_error *error);

/* Whether a file starts with the magic number. */
bool kg__npy_is(const char *bytes, size_t size);

/* The matrix in a file with these bytes, which are borrowed. */
KG_MUST_CHECK kg_status kg__npy_view(kg_matrix *out, const char *bytes, size_t size,
                                     const char *path, kg_error *error);

#endif
