/* A hash table that is at most half full. */
#include "terms/features/id_map.h"

#include <string.h>

#include "base/memory.h"

void kg__id_map_free(kg_id_map *roster) {
    kg__free(roster->ids);
    kg__free(roster->slots);
    *roster = (kg_id_map){0};
}

/* Where an entity is, or where it belongs. */
static uint32_t *find_slot(const kg_id_map *roster, kg_id entity) {
    size_t mask = roster->slot_count - 1;
    size_t i = (size_t)((entity * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & mask;
    while (roster->slots[i] != 0 && roster->ids[roster->slots[i] - 1] != entity)
        i = (i + 1) & mask;
    return &roster->slots[i];
}

/* Who came last stands in nobody's way, so who came last goes first.
 * All slots at once are cheaper to clear than many one by one. */
#define MANY 16
void kg__id_map_clear(kg_id_map *roster) {
    if (roster->count > roster->slot_count / MANY) {
        memset(roster->slots, 0, roster->slot_count * sizeof *roster->slots);
        roster->count = 0;
    }
    for (; roster->count > 0; roster->count--)
        *find_slot(roster, roster->ids[roster->count - 1]) = 0;
}

static bool grow(kg_id_map *roster) {
    size_t slot_count = roster->slot_count == 0 ? 256 : 2 * roster->slot_count;
    uint32_t *slots = kg__alloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return false;
    kg__free(roster->slots);
    roster->slots = slots;
    roster->slot_count = slot_count;
    for (size_t i = 0; i < roster->count; i++)
        *find_slot(roster, roster->ids[i]) = (uint32_t)i + 1;
    return true;
}

size_t kg__id_map_add(kg_id_map *roster, kg_id entity) {
    if (2 * (roster->count + 1) > roster->slot_count && !grow(roster))
        return KG_NOT_MAPPED;
    uint32_t *slot = find_slot(roster, entity);
    if (*slot != 0)
        return *slot - 1;
    kg_id *ids = kg__grow(roster->ids, &roster->room, roster->count + 1, sizeof *ids);
    if (ids == NULL)
        return KG_NOT_MAPPED;
    roster->ids = ids;
    ids[roster->count] = entity;
    *slot = (uint32_t)++roster->count;
    return roster->count - 1;
}

size_t kg__id_map_find(const kg_id_map *roster, kg_id entity) {
    if (roster->slot_count == 0)
        return KG_NOT_MAPPED;
    uint32_t slot = *find_slot(roster, entity);
    return slot == 0 ? KG_NOT_MAPPED : slot - 1;
}
