/* A file as memory, read only: what is not looked at is not read. */
#ifndef KG_BASE_MAPPING_H
#define KG_BASE_MAPPING_H

#include <stddef.h>

#include "base/status.h"

typedef struct kg_mapping {
    char *bytes; /* cannot be written to; NULL if there are none */
    size_t size;
    char *path; /* what messages call it */
} kg_mapping;

/* Only regular files can be mapped. */
KG_MUST_CHECK kg_status kg__mapping_open(kg_mapping *mapping, const char *path, kg_error *error);
void kg__mapping_close(kg_mapping *mapping);

/* Opens a regular file for reading. Anything else is refused: a pipe in the place of a file would
 * be waited for. */
KG_MUST_CHECK kg_status kg__open_regular(int *fd, const char *path, kg_error *error);

#endif
