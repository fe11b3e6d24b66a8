/* Sections in a file: written one after the other, viewed where they lie. */
#include "model/twins.h"

#include <string.h>

#include "base/memory.h"

#define ALIGNMENT 64
#define MOST_SECTIONS 6

struct section {
    uint64_t offset;
    uint64_t size;
};

struct header {
    char magic[8];
    struct section sections[MOST_SECTIONS];
    char padding[24];
};

_Static_assert(sizeof(struct header) % ALIGNMENT == 0, "sections start at multiples of 64");

static const char names_magic[] = "kgnames1";
static const char known_magic[] = "kgknown1";

/* ---- Writing ---- */

struct part {
    const void *bytes;
    size_t size;
};

static uint64_t padded(uint64_t size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static kg_status write_parts(kg_output *output, const char magic[8], const struct part *parts,
                             size_t count, kg_error *error) {
    static const char zeroes[ALIGNMENT] = {0};
    struct header header = {0};
    memcpy(header.magic, magic, sizeof header.magic);
    uint64_t offset = sizeof header;
    for (size_t i = 0; i < count; i++) {
        header.sections[i] = (struct section){offset, parts[i].size};
        offset += padded(parts[i].size);
    }
    KG_TRY(kg_output_write(output, &header, sizeof header, error));
    kg_output_end_head(output);
    for (size_t i = 0; i < count; i++) {
        KG_TRY(kg_output_write(output, parts[i].bytes, parts[i].size, error));
        KG_TRY(kg_output_write(output, zeroes, (size_t)(padded(parts[i].size) - parts[i].size),
                               error));
    }
    return KG_OK;
}

/* A table of the first `count` names alone. */
static kg_status first_names(kg_names *out, const kg_names *names, size_t count, kg_error *error) {
    for (size_t i = 0; i < count; i++) {
        kg_name name = kg_names_get(names, (kg_id)i);
        kg_id id = KG_NO_ID;
        KG_TRY(kg_names_intern(out, &id, kg_name_of(name.bytes, name.length), error));
    }
    return KG_OK;
}

static void list_parts(struct part parts[3], const kg_names *names) {
    size_t bytes = names->count == 0 ? 0 : (size_t)names->starts[names->count];
    size_t starts = names->count == 0 ? 0 : names->count + 1;
    parts[0] = (struct part){names->starts, starts * sizeof *names->starts};
    parts[1] = (struct part){names->slots, names->slot_count * sizeof *names->slots};
    parts[2] = (struct part){names->bytes, bytes};
}

kg_status kg_names_twin_write(kg_output *output, const kg_names *entities, size_t entity_count,
                              const kg_names *relations, size_t relation_count, kg_error *error) {
    kg_names tables[2] = {{0}};
    struct part parts[MOST_SECTIONS];
    kg_status status = KG_OK;
    KG_CHECK(first_names(&tables[0], entities, entity_count, error));
    KG_CHECK(first_names(&tables[1], relations, relation_count, error));
    list_parts(parts, &tables[0]);
    list_parts(parts + 3, &tables[1]);
    status = write_parts(output, names_magic, parts, MOST_SECTIONS, error);
done:
    kg_names_free(&tables[0]);
    kg_names_free(&tables[1]);
    return status;
}

kg_status kg_known_twin_write(kg_output *output, const kg_triples *facts, size_t entity_count,
                              kg_error *error) {
    kg_adjacency known;
    KG_TRY(kg_adjacency_make(&known, facts, entity_count, KG_WITH_REFLEXIVE, error));
    const struct part parts[] = {
        {known.starts, (entity_count + 1) * sizeof *known.starts},
        {known.links, (size_t)known.starts[entity_count] * sizeof *known.links},
    };
    kg_status status = write_parts(output, known_magic, parts, 2, error);
    kg_adjacency_free(&known);
    return status;
}

/* ---- Viewing ---- */

static kg_status refuse(const char *path, const char *found, kg_error *error) {
    return kg_fail_at(error, path, 0, 0, "expected a file as kgraft writes it, found %s", found);
}

/* The sections, if they lie within the file. */
static kg_status find_sections(struct section sections[MOST_SECTIONS], const kg_mapping *mapping,
                               const char magic[8], kg_error *error) {
    struct header header;
    if (mapping->size < sizeof header)
        return refuse(mapping->path, "one that ends within its header", error);
    memcpy(&header, mapping->bytes, sizeof header);
    if (memcmp(header.magic, magic, sizeof header.magic) != 0)
        return refuse(mapping->path, "one of another kind", error);
    for (size_t i = 0; i < MOST_SECTIONS; i++) {
        struct section section = header.sections[i];
        if (section.offset > mapping->size || section.size > mapping->size - section.offset ||
            section.offset % ALIGNMENT != 0)
            return refuse(mapping->path, "sections outside of it", error);
    }
    memcpy(sections, header.sections, sizeof header.sections);
    return KG_OK;
}

static void *at(const kg_mapping *mapping, struct section section) {
    return mapping->bytes + section.offset;
}

/* Starts of `count` things that have `total` parts, as far as can be told from the ends. */
static bool are_starts(const uint64_t *starts, size_t count, uint64_t total) {
    return starts[0] == 0 && starts[count] == total;
}

static kg_status view_names(kg_names *out, const kg_mapping *mapping,
                            const struct section sections[3], kg_error *error) {
    *out = (kg_names){0};
    if (sections[0].size == 0)
        return KG_OK;
    size_t count = (size_t)(sections[0].size / sizeof *out->starts) - 1;
    size_t slot_count = (size_t)(sections[1].size / sizeof *out->slots);
    bool whole = sections[0].size % sizeof *out->starts == 0 && count < KG_NO_ID &&
                 sections[1].size % sizeof *out->slots == 0 &&
                 (slot_count & (slot_count - 1)) == 0 && slot_count > count;
    *out = (kg_names){
        .bytes = at(mapping, sections[2]),
        .bytes_capacity = (size_t)sections[2].size,
        .starts = at(mapping, sections[0]),
        .slots = at(mapping, sections[1]),
        .slot_count = slot_count,
        .count = count,
    };
    if (!whole || !are_starts(out->starts, count, sections[2].size))
        return refuse(mapping->path, "names that do not fit together", error);
    return KG_OK;
}

kg_status kg_names_twin_view(kg_names *entities, kg_names *relations, const kg_mapping *mapping,
                             kg_error *error) {
    struct section sections[MOST_SECTIONS];
    KG_TRY(find_sections(sections, mapping, names_magic, error));
    KG_TRY(view_names(entities, mapping, sections, error));
    return view_names(relations, mapping, sections + 3, error);
}

static kg_status refuse_facts(const char *path, kg_error *error) {
    return refuse(path, "facts that do not fit together", error);
}

kg_status kg_known_twin_view(kg_known *known, const kg_mapping *mapping, size_t entity_count,
                             size_t relation_count, kg_error *error) {
    struct section sections[MOST_SECTIONS];
    KG_TRY(find_sections(sections, mapping, known_magic, error));
    *known = (kg_known){
        .links = at(mapping, sections[1]),
        .starts = at(mapping, sections[0]),
        .link_count = (size_t)(sections[1].size / sizeof *known->links),
        .entity_count = entity_count,
        .relation_count = relation_count,
        .path = mapping->path,
    };
    bool good = sections[0].size == (entity_count + 1) * sizeof *known->starts &&
                sections[1].size % sizeof *known->links == 0 &&
                are_starts(known->starts, entity_count, known->link_count);
    return good ? KG_OK : refuse_facts(mapping->path, error);
}

/* Links are sorted by this. */
static uint64_t order_of(kg_link link) {
    return (uint64_t)link.directed << 32 | link.other;
}

kg_status kg_known_twin_links(const kg_known *known, kg_id entity, const kg_link **links,
                              size_t *count, kg_error *error) {
    *links = NULL;
    *count = 0;
    if (entity >= known->entity_count)
        return KG_OK;
    uint64_t from = known->starts[entity];
    uint64_t to = known->starts[entity + 1];
    if (from > to || to > known->link_count)
        return refuse_facts(known->path, error);
    const kg_link *list = known->links + from;
    size_t size = (size_t)(to - from);
    for (size_t i = 0; i < size; i++)
        if (list[i].other >= known->entity_count || list[i].directed / 2 >= known->relation_count ||
            (i > 0 && order_of(list[i - 1]) >= order_of(list[i])))
            return refuse_facts(known->path, error);
    *links = list;
    *count = size;
    return KG_OK;
}
