/* A matrix that was made elsewhere: in a file of numpy's (.npy) or in a safetensors file. The file
 * is mapped; nothing is copied. */
#ifndef KG_MODEL_FOREIGN_H
#define KG_MODEL_FOREIGN_H

#include "base/mapping.h"
#include "model/matrix.h"
#include "model/safetensors.h"

typedef struct kg_foreign {
    kg_matrix matrix;     /* borrows from one of these */
    kg_mapping mapping;   /* of an .npy file */
    kg_safetensors *file; /* NULL if it is none */
    char *path;
} kg_foreign;

/* Opens FILE or, for a certain tensor of a safetensors file, FILE#NAME. Without a NAME it is the
 * tensor called `usual`, or else the only one. */
KG_MUST_CHECK kg_status kg_foreign_open(kg_foreign *foreign, const char *place, const char *usual,
                                        kg_error *error);
void kg_foreign_close(kg_foreign *foreign);

#endif
