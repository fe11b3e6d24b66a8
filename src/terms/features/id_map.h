/* Some entities out of very many, each with a number from 0 in the order in which they came. Costs
 * what there are, not what there could be. */
#ifndef KG_TERMS_ID_MAP_H
#define KG_TERMS_ID_MAP_H

#include "base/names.h"

#define KG_NOT_MAPPED SIZE_MAX

typedef struct kg_id_map {
    kg_id *ids; /* by number */
    size_t count;
    size_t room;
    uint32_t *slots; /* open addressing: 1 + the number of who is here, or 0 */
    size_t slot_count;
} kg_id_map;

void kg__id_map_free(kg_id_map *roster);
void kg__id_map_clear(kg_id_map *roster);

/* The number of an entity, which is the next one if it is new; KG_NOT_MAPPED if memory is short. */
size_t kg__id_map_add(kg_id_map *roster, kg_id entity);

/* The number of an entity, or KG_NOT_MAPPED. */
size_t kg__id_map_find(const kg_id_map *roster, kg_id entity);

#endif
