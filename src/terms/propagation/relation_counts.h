/* How many facts of each directed relation the entities of a graph have: for each entity, the
 * groups that its links fall into, and for each directed relation, how many entities are in each
 * class of degree (degree_classes.h). Made once for a graph. */
#ifndef KG_TERMS_RELATION_COUNTS_H
#define KG_TERMS_RELATION_COUNTS_H

#include "graph/adjacency.h"
#include "terms/propagation/degree_classes.h"

/* The links of an entity with one directed relation: as many, one after the other. */
typedef struct kg_relation_group {
    kg_directed directed;
    uint32_t count;
} kg_relation_group;

typedef struct kg_relation_counts {
    const kg_adjacency *graph; /* borrowed */
    size_t directed_count;
    uint64_t *starts; /* entity_count + 1: groups of entity e are starts[e] up to starts[e + 1] */
    kg_relation_group *groups;
    double *classes; /* directed_count x classes: entities with so many links of that relation */
} kg_relation_counts;

KG_MUST_CHECK kg_status kg__relation_counts_open(kg_relation_counts *out, const kg_adjacency *graph,
                                                 size_t directed_count, kg_error *error);
void kg__relation_counts_close(kg_relation_counts *counts);

static inline size_t kg__relation_counts_groups(const kg_relation_counts *counts, kg_id entity) {
    return (size_t)(counts->starts[entity + 1] - counts->starts[entity]);
}

/* Prefetches what is read of some entities in turn, entities[i] being at hand: where lists of one
 * begin, and lists of another, a little nearer. Inlined, since gcc takes a call of a function that
 * only fetches for one without effect. */
__attribute__((always_inline)) static inline void
kg__relation_counts_fetch(const kg_relation_counts *counts, const kg_id *entities, size_t i,
                          size_t count) {
    if (i + 8 < count) {
        __builtin_prefetch(counts->starts + entities[i + 8]);
        __builtin_prefetch(counts->graph->starts + entities[i + 8]);
    }
    if (i + 4 < count) {
        __builtin_prefetch(counts->groups + counts->starts[entities[i + 4]]);
        __builtin_prefetch(counts->graph->links + counts->graph->starts[entities[i + 4]]);
    }
}

/* How many links of that relation an entity has. */
size_t kg__relation_counts_of(const kg_relation_counts *counts, kg_id entity, kg_directed directed);

/* Whether an entity has a link of that relation with another one. */
bool kg__relation_counts_has(const kg_relation_counts *counts, kg_id entity, kg_link link);

#endif
