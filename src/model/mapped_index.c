/* Names and facts as sections of a file. */
#include "model/mapped_index.h"

#include "base/memory.h"
#include "base/section_file.h"

static const char names_magic[] = "kgnames1";
static const char known_magic[] = "kgknown1";

/* ---- Writing ---- */

static void list_parts(kg_section parts[3], const kg_names *names) {
    size_t bytes = names->count == 0 ? 0 : (size_t)names->starts[names->count];
    size_t starts = names->count == 0 ? 0 : names->count + 1;
    parts[0] = (kg_section){names->starts, starts * sizeof *names->starts};
    parts[1] = (kg_section){names->slots, names->slot_count * sizeof *names->slots};
    parts[2] = (kg_section){names->bytes, bytes};
}

kg_status kg__names_index_write(kg_output *output, const kg_names *entities, size_t entity_count,
                                const kg_names *relations, size_t relation_count, kg_error *error) {
    kg_names tables[2] = {{0}};
    kg_section parts[KG_MOST_SECTIONS];
    kg_status status = KG_OK;
    KG_CHECK(kg__names_first(&tables[0], entities, entity_count, error));
    KG_CHECK(kg__names_first(&tables[1], relations, relation_count, error));
    list_parts(parts, &tables[0]);
    list_parts(parts + 3, &tables[1]);
    status = kg__sections_write(output, names_magic, parts, KG_MOST_SECTIONS, error);
done:
    kg__names_first_close(&tables[0], entities);
    kg__names_first_close(&tables[1], relations);
    return status;
}

/* Links that are made at a time, but all of one entity. */
#define WINDOW ((size_t)1 << 24)

/* The links of as many entities as there is room for: from `*from` on, which becomes the next. */
static kg_status write_window(kg_output *output, kg_link **links, size_t *capacity, size_t *from,
                              const kg_adjacency *known, const kg_triples *facts, kg_error *error) {
    const uint64_t *starts = known->starts;
    size_t to = *from + 1;
    while (to < known->entity_count && starts[to + 1] - starts[*from] <= WINDOW)
        to++;
    size_t count = (size_t)(starts[to] - starts[*from]);
    kg_link *grown = kg__grow(*links, capacity, count, sizeof *grown);
    if (grown == NULL)
        return kg__fail_memory(error);
    *links = grown;
    KG_TRY(kg__adjacency_list(known, grown, *from, to, facts, KG_WITH_REFLEXIVE, error));
    *from = to;
    return kg__output_write(output, grown, count * sizeof *grown, error);
}

kg_status kg__known_facts_write(kg_output *output, const kg_triples *facts, size_t entity_count,
                                kg_error *error) {
    kg_adjacency known;
    kg_link *links = NULL;
    size_t capacity = 0;
    kg_status status = KG_OK;
    KG_TRY(kg__adjacency_count(&known, facts, entity_count, KG_WITH_REFLEXIVE, error));
    size_t sizes[] = {(entity_count + 1) * sizeof *known.starts,
                      (size_t)known.starts[entity_count] * sizeof *links};
    KG_CHECK(kg__sections_start(output, known_magic, sizes, 2, error));
    KG_CHECK(kg__output_write(output, known.starts, sizes[0], error));
    KG_CHECK(kg__sections_pad(output, sizes[0], error));
    for (size_t from = 0; from < entity_count;)
        KG_CHECK(write_window(output, &links, &capacity, &from, &known, facts, error));
    status = kg__sections_pad(output, sizes[1], error);
done:
    kg__free(links);
    kg__adjacency_free(&known);
    return status;
}

/* ---- Viewing ---- */

/* Whether the first and last of `count` + 1 starts are valid; those between are checked when used.
 */
static bool are_starts(const uint64_t *starts, size_t count, uint64_t total) {
    return starts[0] == 0 && starts[count] == total;
}

static kg_status view_names(kg_names *out, const kg_mapping *mapping, const kg_section sections[3],
                            kg_error *error) {
    *out = (kg_names){0};
    if (sections[0].size == 0)
        return KG_OK;
    size_t count = (size_t)(sections[0].size / sizeof *out->starts) - 1;
    size_t slot_count = (size_t)(sections[1].size / sizeof *out->slots);
    bool whole = sections[0].size % sizeof *out->starts == 0 && count < KG_NO_ID &&
                 sections[1].size % sizeof *out->slots == 0 &&
                 (slot_count & (slot_count - 1)) == 0 && slot_count > count;
    *out = (kg_names){
        .bytes = (void *)sections[2].bytes,
        .bytes_capacity = (size_t)sections[2].size,
        .starts = (void *)sections[0].bytes,
        .slots = (void *)sections[1].bytes,
        .slot_count = slot_count,
        .count = count,
    };
    if (!whole || !are_starts(out->starts, count, sections[2].size))
        return kg__sections_refuse(mapping->path, "names that do not fit together", error);
    return KG_OK;
}

kg_status kg__names_index_view(kg_names *entities, kg_names *relations, const kg_mapping *mapping,
                               kg_error *error) {
    kg_section sections[KG_MOST_SECTIONS];
    KG_TRY(kg__sections_view(sections, mapping, names_magic, error));
    KG_TRY(view_names(entities, mapping, sections, error));
    return view_names(relations, mapping, sections + 3, error);
}

static kg_status refuse_facts(const char *path, kg_error *error) {
    return kg__sections_refuse(path, "facts that do not fit together", error);
}

kg_status kg__known_facts_view(kg_known_facts *known, const kg_mapping *mapping,
                               size_t entity_count, size_t relation_count, kg_error *error) {
    kg_section sections[KG_MOST_SECTIONS];
    KG_TRY(kg__sections_view(sections, mapping, known_magic, error));
    *known = (kg_known_facts){
        .links = (void *)sections[1].bytes,
        .starts = (void *)sections[0].bytes,
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

/* The sort key of links. */
static uint64_t order_of(kg_link link) {
    return (uint64_t)link.directed << 32 | link.other;
}

kg_status kg__known_facts_links(const kg_known_facts *known, kg_id entity, const kg_link **links,
                                size_t *count, kg_error *error) {
    const kg_entity_facts *changed =
        known->overlay == NULL ? NULL : kg__overlay_find(known->overlay, entity);
    *links = changed == NULL ? NULL : changed->known;
    *count = changed == NULL ? 0 : changed->known_count;
    if (changed != NULL || entity >= known->entity_count)
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

kg_status kg__known_facts_copy(kg_adjacency *out, const kg_known_facts *known, kg_error *error) {
    size_t entity_count = known->entity_count;
    *out = (kg_adjacency){.links = kg__resize(NULL, known->link_count, sizeof *out->links),
                          .starts = kg__alloc(entity_count + 1, sizeof *out->starts),
                          .entity_count = entity_count};
    kg_status status = out->links == NULL || out->starts == NULL ? kg__fail_memory(error) : KG_OK;
    size_t copied = 0;
    for (kg_id v = 0; v < entity_count && status == KG_OK; v++) {
        const kg_link *links = NULL;
        size_t count = 0;
        status = kg__known_facts_links(known, v, &links, &count, error);
        for (size_t i = 0; i < count; i++)
            if (links[i].other != v)
                out->links[copied++] = links[i];
        out->starts[v + 1] = copied;
    }
    if (status != KG_OK)
        kg__adjacency_free(out);
    return status;
}
