/* From changed facts to the lists of entities: each fact is two changes of links, one for each end;
 * entities that come and go get and lose ids; then the lists of all that is concerned are merged.
 */
#include <string.h>

#include "base/lower_bound.h"
#include "base/radix_sort.h"
#include "live/live.h"

/* ---- Links that change ---- */

/* Ids are those of the version before. */
struct link_change {
    kg_id entity;
    kg_link link;
    bool is_added;
};

/* All of them, by entity and link. */
struct link_changes {
    struct link_change *items;
    size_t count;
};

static void sort_link_changes(struct link_changes *changes, struct link_change *spare) {
    const size_t keys[] = {offsetof(struct link_change, link.other),
                           offsetof(struct link_change, link.directed),
                           offsetof(struct link_change, entity)};
    for (size_t i = 0; i < 3; i++)
        kg__radix_sort(changes->items, spare, changes->count, sizeof *spare, keys[i]);
}

static kg_status list_link_changes(struct link_changes *out, kg_live_commit *c, kg_error *error) {
    out->count = 2 * c->change_count;
    out->items = kg__arena_take(&c->memory, out->count, sizeof *out->items);
    struct link_change *spare = kg__arena_take(&c->memory, out->count, sizeof *spare);
    if (out->items == NULL || spare == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < c->change_count; i++) {
        kg_triple fact = c->changes[i].fact;
        bool is_added = c->changes[i].is_added;
        out->items[2 * i] = (struct link_change){
            fact.head, {kg_direct(fact.relation, KG_HEAD), fact.tail}, is_added};
        out->items[2 * i + 1] = (struct link_change){
            fact.tail, {kg_direct(fact.relation, KG_TAIL), fact.head}, is_added};
    }
    sort_link_changes(out, spare);
    return KG_OK;
}

/* Where the changes of the entity at `from` end. */
static size_t end_of_entity(const struct link_changes *changes, size_t from) {
    size_t to = from;
    while (to < changes->count && changes->items[to].entity == changes->items[from].entity)
        to++;
    return to;
}

/* ---- Ids ---- */

static kg_status find_gone(kg_live_commit *c, const struct link_changes *changes, kg_error *error) {
    c->gone = kg__arena_take(&c->memory, changes->count, sizeof *c->gone);
    if (c->gone == NULL)
        return kg__fail_memory(error);
    for (size_t from = 0, to = 0; from < changes->count; from = to) {
        kg_id entity = changes->items[from].entity;
        const kg_link *links = NULL;
        size_t count = 0;
        to = end_of_entity(changes, from);
        if (entity < c->before->names.first || entity >= c->before->model.entities.count)
            continue;
        KG_TRY(kg__live_known(&links, &count, &c->before->model, entity, error));
        for (size_t i = from; i < to; i++)
            count += changes->items[i].is_added ? 1 : SIZE_MAX;
        if (count == 0)
            c->gone[c->gone_count++] = entity;
    }
    return KG_OK;
}

bool kg__live_is_gone(const kg_live_commit *c, kg_id entity) {
    size_t i = kg__lower_bound(c->gone, c->gone_count, sizeof *c->gone, 0, entity);
    return i < c->gone_count && c->gone[i] == entity;
}

/* New entities get the ids of those that go, then ids behind all. If more go than come, the last
 * ones move to what is left. */
static kg_status give_ids(kg_live_commit *c, kg_error *error) {
    kg_id end = (kg_id)c->before->model.entities.count;
    size_t kept = end - c->gone_count + c->new_count;
    size_t free_id = 0; /* among those that go */
    c->new_ids = kg__arena_take(&c->memory, c->new_count + c->gone_count, sizeof *c->new_ids);
    if (c->new_ids == NULL)
        return kg__fail_memory(error);
    if (kept >= KG_NO_ID)
        return kg_fail(error, KG_BAD_INPUT, "more than %u entities", KG_NO_ID - 1);
    for (kg_id id = (kg_id)kept; id < end; id++)
        if (!kg__live_is_gone(c, id))
            c->new_ids[c->new_id_count++] = (kg_new_id){id, c->gone[free_id++]};
    for (size_t i = 0; i < c->new_count; i++) {
        kg_id id = free_id < c->gone_count ? c->gone[free_id] : (kg_id)(end + i - free_id);
        free_id += free_id < c->gone_count;
        c->new_ids[c->new_id_count++] = (kg_new_id){end + (kg_id)i, id};
    }
    c->after->names.count = kept - c->after->names.first;
    return KG_OK;
}

kg_id kg__live_new_id(const kg_live_commit *c, kg_id before) {
    if (c->gone_count == 0 || before < c->before->names.first)
        return before; /* new ones are behind all others, and the model's own stay */
    size_t i = kg__lower_bound(c->new_ids, c->new_id_count, sizeof *c->new_ids,
                               offsetof(kg_new_id, before), before);
    return i < c->new_id_count && c->new_ids[i].before == before ? c->new_ids[i].after : before;
}

/* ---- Lists ---- */

kg_status kg__live_known(const kg_link **out, size_t *count, const kg_model *model, kg_id entity,
                         kg_error *error) {
    return kg__known_facts_links(&model->known, entity, out, count, error);
}

/* Facts as the version before had them, with the changes, and with new ids. */
static kg_status merge(kg_link **out, size_t *merged, kg_live_commit *c, kg_id entity,
                       const struct link_change *changes, size_t change_count, kg_error *error) {
    const kg_link *links = NULL;
    size_t count = 0;
    if (entity < c->before->model.entities.count)
        KG_TRY(kg__live_known(&links, &count, &c->before->model, entity, error));
    *out = kg__arena_take(&c->scratch, count + change_count, sizeof **out);
    *merged = 0;
    if (*out == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0, k = 0; i < count || k < change_count;) {
        int order = i == count          ? 1
                    : k == change_count ? -1
                                        : kg__links_compare(links[i], changes[k].link);
        if (order != 0)
            (*out)[(*merged)++] = order < 0 ? links[i] : changes[k].link;
        i += order <= 0; /* the same: it is removed */
        k += order >= 0;
    }
    bool is_moved = false;
    for (size_t i = 0; i < *merged; i++) {
        kg_id other = (*out)[i].other;
        (*out)[i].other = kg__live_new_id(c, other);
        is_moved = is_moved || (*out)[i].other != other;
    }
    if (is_moved)
        kg__links_sort(*out, *merged);
    return KG_OK;
}

static bool is_as_in_base(const kg_live_commit *c, kg_id entity, const kg_link *known, size_t count,
                          kg_status *status, kg_error *error) {
    const kg_link *links = NULL;
    size_t base_count = 0;
    if (entity >= c->before->names.first)
        return false;
    *status = kg__live_known(&links, &base_count, c->generation->base, entity, error);
    return *status == KG_OK && base_count == count &&
           (count == 0 || memcmp(links, known, count * sizeof *known) == 0);
}

static uint32_t count_groups(const kg_link *links, size_t count) {
    uint32_t groups = 0;
    for (size_t from = 0; from < count; from = kg__group_end(links, count, from))
        groups++;
    return groups;
}

/* All in one object: the facts by id, those without reflexive ones if they are others or in another
 * order, and groups. */
static kg_status pack(kg_entity_facts *out, kg_live_commit *c, kg_id entity, const kg_link *known,
                      size_t count, kg_error *error) {
    kg_link *links = kg__arena_take(&c->scratch, count, sizeof *links);
    size_t used = 0;
    if (links == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        if (known[i].other != entity)
            links[used++] = known[i];
    kg__links_order(links, used, &c->after->model.entities);
    bool is_same =
        used == count && (count == 0 || memcmp(links, known, count * sizeof *links) == 0);
    uint32_t group_count = count_groups(links, used);
    kg_link *packed = kg__snapshots_take(
        &c->generation->versions, count + (is_same ? 0 : used) + group_count, sizeof *packed);
    if (packed == NULL || count > UINT32_MAX)
        return kg__fail_memory(error);
    _Static_assert(sizeof(kg_link) == sizeof(kg_relation_group), "they share an array");
    kg_link *ordered = is_same ? packed : packed + count;
    kg_relation_group *groups = (kg_relation_group *)(void *)(ordered + used);
    if (count > 0)
        memcpy(packed, known, count * sizeof *packed);
    if (used > 0)
        memcpy(ordered, links, used * sizeof *ordered);
    *out = (kg_entity_facts){.links = ordered,
                             .groups = groups,
                             .known = packed,
                             .link_count = (uint32_t)used,
                             .group_count = group_count,
                             .known_count = (uint32_t)count,
                             .is_changed = true};
    for (size_t from = 0, to = 0; from < used; from = to) {
        to = kg__group_end(links, used, from);
        *groups++ = (kg_relation_group){links[from].directed, (uint32_t)(to - from)};
    }
    return KG_OK;
}

static kg_status set_facts(kg_live_commit *c, kg_id entity, const kg_entity_facts *facts,
                           kg_error *error) {
    kg_entity_facts *page =
        kg__pages_edit(&c->after->overlay.facts, &c->generation->versions, entity, sizeof *page);
    if (page == NULL)
        return kg__fail_memory(error);
    page[entity % KG_PAGE] = *facts;
    return KG_OK;
}

/* What the version before had of an entity is not needed. */
static uint8_t drop(kg_live_commit *c, kg_id entity) {
    const kg_entity_facts *facts = kg__overlay_find(&c->before->overlay, entity);
    if (facts == NULL)
        return 0;
    kg__snapshots_drop(&c->generation->versions, facts->known);
    return facts->level;
}

static kg_status change_list(kg_live_commit *c, kg_id before, const struct link_change *changes,
                             size_t change_count, kg_error *error) {
    kg_entity_facts facts = {0};
    kg_link *known = NULL;
    size_t count = 0;
    kg_status status = KG_OK;
    kg_id entity = kg__live_new_id(c, before);
    kg__arena_reset(&c->scratch);
    KG_TRY(merge(&known, &count, c, before, changes, change_count, error));
    if (!is_as_in_base(c, entity, known, count, &status, error)) {
        KG_TRY(status);
        KG_TRY(pack(&facts, c, entity, known, count, error));
    }
    facts.level = drop(c, before);
    c->changed[c->changed_count++] = entity;
    return set_facts(c, entity, &facts, error);
}

/* ---- Which lists change ---- */

/* Entities that move, and what is linked to them, besides those that have changes. Sorted, and
 * perhaps repeated. */
static kg_status list_moved(kg_id **out, size_t *count, kg_live_commit *c, kg_error *error) {
    kg_id end = (kg_id)c->before->model.entities.count;
    const kg_link *links = NULL;
    size_t link_count = 0;
    size_t moved = 0; /* those that get an id and are there already come first */
    size_t most = 0;
    for (; moved < c->new_id_count && c->new_ids[moved].before < end; moved++) {
        KG_TRY(kg__live_known(&links, &link_count, &c->before->model, c->new_ids[moved].before,
                              error));
        most += 1 + link_count;
    }
    *count = 0;
    *out = kg__arena_take(&c->memory, most, sizeof **out);
    kg_id *spare = kg__arena_take(&c->memory, most, sizeof *spare);
    if (*out == NULL || spare == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < moved; i++) {
        KG_TRY(kg__live_known(&links, &link_count, &c->before->model, c->new_ids[i].before, error));
        (*out)[(*count)++] = c->new_ids[i].before;
        for (size_t k = 0; k < link_count; k++)
            (*out)[(*count)++] = links[k].other;
    }
    kg__radix_sort(*out, spare, *count, sizeof *spare, 0);
    return KG_OK;
}

/* Both lists are sorted: a merge. Entities that go have no lists. */
static kg_status change_lists(kg_live_commit *c, const struct link_changes *changes,
                              kg_error *error) {
    kg_id *moved = NULL;
    size_t moved_count = 0;
    KG_TRY(list_moved(&moved, &moved_count, c, error));
    c->changed = kg__arena_take(&c->memory, moved_count + changes->count, sizeof *c->changed);
    if (c->changed == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0, from = 0; i < moved_count || from < changes->count;) {
        kg_id entity = i < moved_count ? moved[i] : KG_NO_ID;
        size_t to = from;
        if (from < changes->count && changes->items[from].entity <= entity) {
            entity = changes->items[from].entity;
            to = end_of_entity(changes, from);
        }
        while (i < moved_count && moved[i] == entity)
            i++;
        if (!kg__live_is_gone(c, entity))
            KG_TRY(change_list(c, entity, changes->items + from, to - from, error));
        from = to;
    }
    return KG_OK;
}

/* Ids that are not in use any more have no facts. */
static kg_status clear_ids(kg_live_commit *c, kg_error *error) {
    const kg_entity_facts none = {0};
    size_t end = c->after->names.first + c->after->names.count;
    for (size_t i = 0; i < c->gone_count; i++)
        drop(c, c->gone[i]);
    for (size_t id = end; id < c->before->model.entities.count; id++)
        KG_TRY(set_facts(c, (kg_id)id, &none, error));
    return KG_OK;
}

kg_status kg__live_change_facts(kg_live_commit *c, kg_error *error) {
    struct link_changes changes;
    KG_TRY(list_link_changes(&changes, c, error));
    KG_TRY(find_gone(c, &changes, error));
    KG_TRY(give_ids(c, error));
    KG_TRY(kg__live_change_names(c, error));
    KG_TRY(change_lists(c, &changes, error));
    return clear_ids(c, error);
}
