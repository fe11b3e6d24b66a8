/* Sections in a file: written one after the other, viewed after every number in them was checked.
 */
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
                               const char magic[8], const char *path, kg_error *error) {
    struct header header;
    if (mapping->size < sizeof header)
        return refuse(path, "one that ends within its header", error);
    memcpy(&header, mapping->bytes, sizeof header);
    if (memcmp(header.magic, magic, sizeof header.magic) != 0)
        return refuse(path, "one of another kind", error);
    for (size_t i = 0; i < MOST_SECTIONS; i++) {
        struct section section = header.sections[i];
        if (section.offset > mapping->size || section.size > mapping->size - section.offset ||
            section.offset % ALIGNMENT != 0)
            return refuse(path, "sections outside of it", error);
    }
    memcpy(sections, header.sections, sizeof header.sections);
    return KG_OK;
}

static void *at(const kg_mapping *mapping, struct section section) {
    return mapping->bytes + section.offset;
}

/* `starts` begins with 0, never falls and ends with `total`. */
static bool are_starts(const uint64_t *starts, size_t count, uint64_t total) {
    bool good = starts[0] == 0 && starts[count] == total;
    for (size_t i = 0; i < count; i++)
        good = good && starts[i] <= starts[i + 1];
    return good;
}

/* Every name has its slot, and some are free, or a search would never end. */
static bool are_slots(const kg_names *names) {
    size_t used = 0;
    for (size_t i = 0; i < names->slot_count; i++) {
        kg_id id = names->slots[i].id;
        if (id == KG_NO_ID)
            continue;
        if (id >= names->count)
            return false;
        used++;
    }
    bool is_power = (names->slot_count & (names->slot_count - 1)) == 0;
    return is_power && used == names->count && used < names->slot_count;
}

static bool are_short(const kg_names *names) {
    for (size_t i = 0; i < names->count; i++)
        if (names->starts[i + 1] - names->starts[i] > UINT32_MAX)
            return false;
    return true;
}

static kg_status view_names(kg_names *out, const kg_mapping *mapping,
                            const struct section sections[3], const char *path, kg_error *error) {
    *out = (kg_names){0};
    if (sections[0].size == 0)
        return KG_OK;
    size_t count = (size_t)(sections[0].size / sizeof *out->starts) - 1;
    bool whole = sections[0].size % sizeof *out->starts == 0 && count < KG_NO_ID &&
                 sections[1].size % sizeof *out->slots == 0;
    *out = (kg_names){
        .bytes = at(mapping, sections[2]),
        .starts = at(mapping, sections[0]),
        .slots = at(mapping, sections[1]),
        .slot_count = (size_t)(sections[1].size / sizeof *out->slots),
        .count = count,
    };
    if (!whole || !are_starts(out->starts, count, sections[2].size) || !are_short(out) ||
        !are_slots(out))
        return refuse(path, "names that do not fit together", error);
    return KG_OK;
}

kg_status kg_names_twin_view(kg_names *entities, kg_names *relations, const kg_mapping *mapping,
                             const char *path, kg_error *error) {
    struct section sections[MOST_SECTIONS];
    KG_TRY(find_sections(sections, mapping, names_magic, path, error));
    KG_TRY(view_names(entities, mapping, sections, path, error));
    return view_names(relations, mapping, sections + 3, path, error);
}

kg_status kg_known_twin_view(kg_adjacency *known, const kg_mapping *mapping, size_t entity_count,
                             size_t relation_count, const char *path, kg_error *error) {
    struct section sections[MOST_SECTIONS];
    KG_TRY(find_sections(sections, mapping, known_magic, path, error));
    size_t link_count = (size_t)(sections[1].size / sizeof *known->links);
    *known = (kg_adjacency){
        .links = at(mapping, sections[1]),
        .starts = at(mapping, sections[0]),
        .entity_count = entity_count,
    };
    bool good = sections[0].size == (entity_count + 1) * sizeof *known->starts &&
                sections[1].size % sizeof *known->links == 0 &&
                are_starts(known->starts, entity_count, link_count);
    for (size_t i = 0; i < link_count && good; i++)
        good =
            known->links[i].other < entity_count && known->links[i].directed / 2 < relation_count;
    return good ? KG_OK : refuse(path, "facts that do not fit together", error);
}
