/* A file mapped into memory, read only: pages are read when they are used. */
#ifndef KG_BASE_FILE_MAPPING_H
#define KG_BASE_FILE_MAPPING_H

#include <stddef.h>

#include "base/status.h"

typedef struct kg_mapping {
    char *bytes; /* read only; NULL if the file is empty */
    size_t size;
    char *path; /* its name in messages */
} kg_mapping;

/* Only regular files can be mapped. */
KG_MUST_CHECK kg_status kg__mapping_open(kg_mapping *mapping, const char *path, kg_error *error);
void kg__mapping_close(kg_mapping *mapping);

/* Opens a regular file for reading. Anything else is refused: opening a pipe would wait for its
 * writer. */
KG_MUST_CHECK kg_status kg__open_regular(int *fd, const char *path, kg_error *error);

#endif
