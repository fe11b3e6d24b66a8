/* Matrices as numpy saves them (.npy): a magic word, a version, the length of a header, the header
 * (a dictionary as Python writes it, of type, order and shape), the numbers. Ours have version 1.0
 * and numbers that start at a multiple of 64 bytes, so that numpy can map them; we read versions
 * 1, 2 and 3, floats and complex numbers of any width, both byte orders and both arrangements. */
#ifndef KG_EXCHANGE_NPY_H
#define KG_EXCHANGE_NPY_H

#include "base/output.h"
#include "exchange/matrix.h"

/* `values` are rows x columns. */
KG_MUST_CHECK kg_status kg__npy_write(kg_output *output, const real *values, size_t rows,
                                      size_t columns, kg_error *error);

/* Whether a file starts like one of these. */
bool kg__npy_is(const char *bytes, size_t size);

/* The matrix in a file of that content, which is borrowed. */
KG_MUST_CHECK kg_status kg__npy_view(kg_matrix *out, const char *bytes, size_t size,
                                     const char *path, kg_error *error);

#endif
