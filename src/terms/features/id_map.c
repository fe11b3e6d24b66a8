/* A hash table with linear probing, at most half full. */
#include "terms/features/id_map.h"

#include <string.h>

#include "base/memory.h"

void kg__id_map_free(kg_id_map *map) {
    kg__free(map->ids);
    kg__free(map->slots);
    *map = (kg_id_map){0};
}

/* The slot of an entity, or the empty one where it belongs. */
static uint32_t *find_slot(const kg_id_map *map, kg_id entity) {
    size_t mask = map->slot_count - 1;
    size_t i = (size_t)((entity * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & mask;
    while (map->slots[i] != 0 && map->ids[map->slots[i] - 1] != entity)
        i = (i + 1) & mask;
    return &map->slots[i];
}

/* Entries are removed in reverse order of insertion, so that none breaks the probe sequence of
 * another. Clearing all slots at once is cheaper than removing many entries. */
#define MANY 16
void kg__id_map_clear(kg_id_map *map) {
    if (map->count > map->slot_count / MANY) {
        memset(map->slots, 0, map->slot_count * sizeof *map->slots);
        map->count = 0;
    }
    for (; map->count > 0; map->count--)
        *find_slot(map, map->ids[map->count - 1]) = 0;
}

static bool grow(kg_id_map *map) {
    size_t slot_count = map->slot_count == 0 ? 256 : 2 * map->slot_count;
    uint32_t *slots = kg__alloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return false;
    kg__free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    for (size_t i = 0; i < map->count; i++)
        *find_slot(map, map->ids[i]) = (uint32_t)i + 1;
    return true;
}

size_t kg__id_map_add(kg_id_map *map, kg_id entity) {
    if (2 * (map->count + 1) > map->slot_count && !grow(map))
        return KG_NOT_MAPPED;
    uint32_t *slot = find_slot(map, entity);
    if (*slot != 0)
        return *slot - 1;
    kg_id *ids = kg__grow(map->ids, &map->capacity, map->count + 1, sizeof *ids);
    if (ids == NULL)
        return KG_NOT_MAPPED;
    map->ids = ids;
    ids[map->count] = entity;
    *slot = (uint32_t)++map->count;
    return map->count - 1;
}

size_t kg__id_map_find(const kg_id_map *map, kg_id entity) {
    if (map->slot_count == 0)
        return KG_NOT_MAPPED;
    uint32_t slot = *find_slot(map, entity);
    return slot == 0 ? KG_NOT_MAPPED : slot - 1;
}
