/* A file mapped into memory, read only: pages are read when they are used. Or memory of that kind
 * without a file. */
#ifndef KG_BASE_FILE_MAPPING_H
#define KG_BASE_FILE_MAPPING_H

#include <stddef.h>

#include "base/status.h"

/* A large file is read in pieces of so many bytes, each of which is given back when it was read:
 * otherwise all of it would count as memory of the process. */
#define KG_PIECE ((size_t)16 << 20)

typedef struct kg_mapping {
    char *bytes; /* read only, if there is a file; NULL if it is empty */
    size_t size;
    char *path; /* its name in messages */
} kg_mapping;

/* Only regular files can be mapped. */
KG_MUST_CHECK kg_status kg__mapping_open(kg_mapping *mapping, const char *path, kg_error *error);
void kg__mapping_close(kg_mapping *mapping);

/* The same of an open file, whose `path` is its name in messages. */
KG_MUST_CHECK kg_status kg__mapping_of_file(kg_mapping *mapping, int fd, const char *path,
                                            kg_error *error);

/* Zeroes without a file, to be written: pages take memory from then on, so there may be more of
 * them than there is memory. */
KG_MUST_CHECK kg_status kg__mapping_reserve(kg_mapping *mapping, size_t size, kg_error *error);

/* Pages of a mapping, those that begin within `bytes`, that will not be read soon. */
void kg__mapping_give_back(const void *bytes, size_t size);

/* Of a mapping without a file, makes pages that are within `bytes` zeroes again, which take no
 * memory. */
void kg__mapping_clear(void *bytes, size_t size);

/* Copies from a mapping, and gives back what was copied. */
void kg__mapping_copy(void *to, const void *bytes, size_t size);

/* Opens a regular file for reading. Anything else is refused: opening a pipe would wait for its
 * writer. */
KG_MUST_CHECK kg_status kg__open_regular(int *fd, const char *path, kg_error *error);

#endif
