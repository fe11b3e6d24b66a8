/* Sections are written one after the other, and viewed in place. */
#include "base/section_file.h"

#include <string.h>

#define ALIGNMENT 64

struct place {
    uint64_t offset;
    uint64_t size;
};

struct header {
    char magic[KG_MAGIC_SIZE];
    struct place places[KG_MOST_SECTIONS];
    char padding[24];
};

_Static_assert(sizeof(struct header) % ALIGNMENT == 0, "sections start at multiples of 64");

static uint64_t padded(uint64_t size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

kg_status kg__sections_start(kg_output *output, const char *magic, const size_t *sizes,
                             size_t count, kg_error *error) {
    struct header header = {0};
    memcpy(header.magic, magic, sizeof header.magic);
    uint64_t offset = sizeof header;
    for (size_t i = 0; i < count; i++) {
        header.places[i] = (struct place){offset, sizes[i]};
        offset += padded(sizes[i]);
    }
    KG_TRY(kg__output_write(output, &header, sizeof header, error));
    kg__output_end_head(output);
    return KG_OK;
}

kg_status kg__sections_pad(kg_output *output, size_t size, kg_error *error) {
    static const char zeroes[ALIGNMENT] = {0};
    return kg__output_write(output, zeroes, (size_t)(padded(size) - size), error);
}

kg_status kg__sections_write(kg_output *output, const char *magic, const kg_section *sections,
                             size_t count, kg_error *error) {
    size_t sizes[KG_MOST_SECTIONS] = {0};
    for (size_t i = 0; i < count; i++)
        sizes[i] = sections[i].size;
    KG_TRY(kg__sections_start(output, magic, sizes, count, error));
    for (size_t i = 0; i < count; i++) {
        KG_TRY(kg__output_write(output, sections[i].bytes, sizes[i], error));
        KG_TRY(kg__sections_pad(output, sizes[i], error));
    }
    return KG_OK;
}

kg_status kg__sections_refuse(const char *path, const char *found, kg_error *error) {
    return kg_fail_at(error, path, 0, 0, "expected a file as kgraft writes it, found %s", found);
}

kg_status kg__sections_view(kg_section sections[KG_MOST_SECTIONS], const kg_mapping *mapping,
                            const char *magic, kg_error *error) {
    struct header header;
    if (mapping->size < sizeof header)
        return kg__sections_refuse(mapping->path, "one that ends within its header", error);
    memcpy(&header, mapping->bytes, sizeof header);
    if (memcmp(header.magic, magic, sizeof header.magic) != 0)
        return kg__sections_refuse(mapping->path, "one of another kind", error);
    for (size_t i = 0; i < KG_MOST_SECTIONS; i++) {
        struct place place = header.places[i];
        if (place.offset > mapping->size || place.size > mapping->size - place.offset ||
            place.offset % ALIGNMENT != 0)
            return kg__sections_refuse(mapping->path, "sections outside of it", error);
        sections[i] = (kg_section){mapping->bytes + place.offset, (size_t)place.size};
    }
    return KG_OK;
}
