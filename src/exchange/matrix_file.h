/* A matrix in a NumPy (.npy) or safetensors file of another tool. The file is mapped, not copied.
 */
#ifndef KG_EXCHANGE_MATRIX_FILE_H
#define KG_EXCHANGE_MATRIX_FILE_H

#include "base/file_mapping.h"
#include "exchange/matrix.h"
#include "model/safetensors.h"

typedef struct kg_matrix_file {
    kg_matrix matrix;    /* borrows from one of these */
    kg_mapping mapping;  /* of an .npy file */
    kg_safetensors file; /* or of such a file */
    char *path;
} kg_matrix_file;

/* Opens FILE or, for a tensor of a safetensors file, FILE#NAME. Without NAME it is the only tensor,
 * or the one called `usual`. */
KG_MUST_CHECK kg_status kg__matrix_file_open(kg_matrix_file *out, const char *place,
                                             const char *usual, kg_error *error);
void kg__matrix_file_close(kg_matrix_file *file);

#endif
