/* A matrix that was made elsewhere: in a file of numpy's (.npy) or in a safetensors file. The file
 * is mapped; nothing is copied. */
#ifndef KG_EXCHANGE_MATRIX_FILE_H
#define KG_EXCHANGE_MATRIX_FILE_H

#include "base/mapping.h"
#include "exchange/matrix.h"
#include "model/safetensors.h"

typedef struct kg_matrix_file {
    kg_matrix matrix;     /* borrows from one of these */
    kg_mapping mapping;   /* of an .npy file */
    kg_safetensors *file; /* NULL if it is none */
    char *path;
} kg_matrix_file;

/* Opens FILE or, for a certain tensor of a safetensors file, FILE#NAME. Without a NAME it is the
 * tensor called `usual`, or else the only one. */
KG_MUST_CHECK kg_status kg__matrix_file_open(kg_matrix_file *foreign, const char *place,
                                             const char *usual, kg_error *error);
void kg__matrix_file_close(kg_matrix_file *foreign);

#endif
