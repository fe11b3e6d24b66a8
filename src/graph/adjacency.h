/* Adjacency lists: for each entity the facts that it is in, as links. The links of an entity are
 * sorted by directed relation, since much can be computed once for such a group. */
#ifndef KG_GRAPH_ADJACENCY_H
#define KG_GRAPH_ADJACENCY_H

#include "graph/triples.h"

static inline kg_end kg__other_end(kg_end end) {
    return end == KG_HEAD ? KG_TAIL : KG_HEAD;
}

/* The same relation, seen from the other end. */
static inline kg_directed kg__inverse(kg_directed directed) {
    return directed ^ 1;
}

typedef struct kg_adjacency {
    kg_link *links;   /* of all entities, one after the other; each sorted by (directed, other) */
    uint64_t *starts; /* entity_count + 1: links of entity v are starts[v] up to starts[v + 1] */
    size_t entity_count;
} kg_adjacency;

/* Whether facts of an entity with itself are in the lists: they add nothing to what an entity is
 * linked to, but they are known facts. */
typedef enum kg_reflexive { KG_WITHOUT_REFLEXIVE, KG_WITH_REFLEXIVE } kg_reflexive;

/* The links of the entities with ids below `entity_count`; facts must be distinct. */
KG_MUST_CHECK kg_status kg__adjacency_make(kg_adjacency *out, const kg_triples *facts,
                                           size_t entity_count, kg_reflexive reflexive,
                                           kg_error *error);
void kg__adjacency_free(kg_adjacency *adjacency);

static inline size_t kg__adjacency_degree(const kg_adjacency *adjacency, kg_id entity) {
    return (size_t)(adjacency->starts[entity + 1] - adjacency->starts[entity]);
}

static inline const kg_link *kg__adjacency_links(const kg_adjacency *adjacency, kg_id entity) {
    return adjacency->links + adjacency->starts[entity];
}

/* Links are sorted, so those of a directed relation are contiguous: the end of such a group. */
static inline size_t kg__group_end(const kg_link *links, size_t count, size_t from) {
    size_t to = from + 1;
    while (to < count && links[to].directed == links[from].directed)
        to++;
    return to;
}

/* kg_links_sort of the public interface. */
size_t kg__links_sort(kg_link *links, size_t count);

/* The position of a link among `count` sorted ones, or `count`. */
size_t kg__links_find(const kg_link *links, size_t count, kg_link link);

/* The links of a directed relation among `count` sorted ones, `*found` of them. */
const kg_link *kg__links_run(const kg_link *links, size_t count, kg_directed directed,
                             size_t *found);

#endif
