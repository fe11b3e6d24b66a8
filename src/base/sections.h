/* Files of sections, made to be mapped: a magic word, the places of the sections, and the sections,
 * each of which begins at a multiple of 64 bytes. The first two are the file's head. */
#ifndef KG_BASE_SECTIONS_H
#define KG_BASE_SECTIONS_H

#include "base/mapping.h"
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

/* All sections where they lie, if they are within the file; those that nobody wrote are empty. */
KG_MUST_CHECK kg_status kg__sections_view(kg_section sections[KG_MOST_SECTIONS],
                                          const kg_mapping *mapping, const char *magic,
                                          kg_error *error);

/* What anybody says who finds something wrong in one. */
kg_status kg__sections_refuse(const char *path, const char *found, kg_error *error);

#endif
