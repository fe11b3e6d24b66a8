/* Files of sections, made to be mapped: a magic word, the offsets and sizes of the sections, and
 * the sections, each aligned to 64 bytes. The first two are the file's head. */
#ifndef KG_BASE_SECTION_FILE_H
#define KG_BASE_SECTION_FILE_H

#include "base/file_mapping.h"
#include "base/output.h"

#define KG_MOST_SECTIONS 6
#define KG_MAGIC_SIZE 8

typedef struct kg_section {
    const void *bytes;
    size_t size;
} kg_section;

KG_MUST_CHECK kg_status kg__sections_write(kg_output *output, const char *magic,
                                           const kg_section *sections, size_t count,
                                           kg_error *error);

/* The same step by step: the head of a file of sections of these sizes; then, in their order, the
 * bytes of each, and what is behind it. */
KG_MUST_CHECK kg_status kg__sections_start(kg_output *output, const char *magic,
                                           const size_t *sizes, size_t count, kg_error *error);
KG_MUST_CHECK kg_status kg__sections_pad(kg_output *output, size_t size, kg_error *error);

/* Views of all sections, checked to be within the file; those that were not written are empty. */
KG_MUST_CHECK kg_status kg__sections_view(kg_section sections[KG_MOST_SECTIONS],
                                          const kg_mapping *mapping, const char *magic,
                                          kg_error *error);

/* The error for a damaged file: expected such a file, found `found`. */
kg_status kg__sections_refuse(const char *path, const char *found, kg_error *error);

#endif
