/* A map from some of very many entity ids to dense indices, numbered from 0 in order of insertion.
 * Memory and the time to clear it are proportional to the entries, not to the range of ids. */
#ifndef KG_TERMS_ID_MAP_H
#define KG_TERMS_ID_MAP_H

#include "base/names.h"

#define KG_NOT_MAPPED SIZE_MAX

typedef struct kg_id_map {
    kg_id *ids; /* by index */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* open addressing: 1 + an index, or 0 if empty */
    size_t slot_count;
} kg_id_map;

void kg__id_map_free(kg_id_map *map);
void kg__id_map_clear(kg_id_map *map);

/* The index of an entity, inserted if it is new; KG_NOT_MAPPED if memory is short. Amortised O(1).
 */
size_t kg__id_map_add(kg_id_map *map, kg_id entity);

/* The index of an entity, or KG_NOT_MAPPED. */
size_t kg__id_map_find(const kg_id_map *map, kg_id entity);

#endif
