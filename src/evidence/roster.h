/* Some entities out of very many, each with a number from 0 in the order in which they came. Costs
 * what there are, not what there could be. */
#ifndef KG_EVIDENCE_ROSTER_H
#define KG_EVIDENCE_ROSTER_H

#include "base/names.h"

#define KG_NOBODY SIZE_MAX

typedef struct kg_roster {
    kg_id *ids; /* by number */
    size_t count;
    size_t room;
    uint32_t *slots; /* open addressing: 1 + the number of who is here, or 0 */
    size_t slot_count;
} kg_roster;

void kg_roster_free(kg_roster *roster);
void kg_roster_clear(kg_roster *roster);

/* The number of an entity, which is the next one if it is new; KG_NOBODY if memory is short. */
size_t kg_roster_add(kg_roster *roster, kg_id entity);

/* The number of an entity, or KG_NOBODY. */
size_t kg_roster_find(const kg_roster *roster, kg_id entity);

#endif
