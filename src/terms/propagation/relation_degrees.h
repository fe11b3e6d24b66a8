/* How many facts of each directed relation the entities of a graph have: for each entity, the
 * groups that its links fall into, and for each directed relation, how many entities are in each
 * class of degree (degree_classes.h). Made once for a graph.
 *
 * Entities with the same counts share one list of groups: of the 32,000 of oWN18RR 2,000 are
 * different, which stay in the cache. */
#ifndef KG_TERMS_RELATION_DEGREES_H
#define KG_TERMS_RELATION_DEGREES_H

#include "base/names.h"
#include "graph/adjacency.h"
#include "model/degree_classes.h"

typedef struct kg_relation_degrees {
    const kg_adjacency *graph; /* borrowed; its overlay has the groups of what it has links of */
    size_t directed_count;
    kg_id *list_of;  /* of each entity: its list of groups */
    kg_names lists;  /* their bytes are groups */
    double *classes; /* directed_count x classes: entities with so many links of that relation, for
                      * training alone: changes of an overlay are not counted */
} kg_relation_degrees;

KG_MUST_CHECK kg_status kg__relation_degrees_open(kg_relation_degrees *out,
                                                  const kg_adjacency *graph, size_t directed_count,
                                                  kg_error *error);
void kg__relation_degrees_close(kg_relation_degrees *counts);

typedef struct kg_relation_groups {
    const kg_relation_group *items; /* by directed relation */
    size_t count;
} kg_relation_groups;

/* Those of an entity. */
static inline kg_relation_groups kg__relation_degrees_groups(const kg_relation_degrees *counts,
                                                             kg_id entity) {
    const kg_entity_facts *changed = kg__adjacency_changed(counts->graph, entity);
    if (changed != NULL)
        return (kg_relation_groups){changed->groups, changed->group_count};
    const uint64_t *starts = counts->lists.starts + counts->list_of[entity];
    return (kg_relation_groups){(const void *)(counts->lists.bytes + starts[0]),
                                (starts[1] - starts[0]) / sizeof(kg_relation_group)};
}

/* Prefetches them. Inlined, since gcc takes a call of a function that only fetches for one without
 * effect. */
__attribute__((always_inline)) static inline void
kg__relation_degrees_fetch(const kg_relation_degrees *counts, kg_id entity) {
    __builtin_prefetch(kg__relation_degrees_groups(counts, entity).items);
}

/* How many links of that relation an entity has. */
size_t kg__relation_degrees_of(const kg_relation_degrees *counts, kg_id entity,
                               kg_directed directed);

/* Whether an entity has a link of that relation with another one. */
bool kg__relation_degrees_has(const kg_relation_degrees *counts, kg_id entity, kg_link link);

#endif
