/* Adjacency lists: for each entity the facts that it is in, as links. The links of an entity are
 * sorted by directed relation, since much can be computed once for such a group.
 *
 * An overlay has the lists of those entities whose facts have changed since (live/live.h), and of
 * entities that came later, whose ids follow. */
#ifndef KG_GRAPH_ADJACENCY_H
#define KG_GRAPH_ADJACENCY_H

#include "base/names.h"
#include "base/snapshots.h"
#include "graph/triples.h"

static inline kg_end kg__other_end(kg_end end) {
    return end == KG_HEAD ? KG_TAIL : KG_HEAD;
}

/* The same relation, seen from the other end. */
static inline kg_directed kg__inverse(kg_directed directed) {
    return directed ^ 1;
}

/* The links of an entity with one directed relation: as many, one after the other. */
typedef struct kg_relation_group {
    kg_directed directed;
    uint32_t count;
} kg_relation_group;

/* The facts of an entity, where they are not those of the graph below. Ids of entities that came
 * later depend on the order in which they came, but sums over links must not: so there are two
 * orders. */
typedef struct kg_entity_facts {
    const kg_link *links; /* but reflexive ones, by directed relation, then the other end: first
                           * those of the graph below, by id, then those that came later, by name */
    const kg_relation_group *groups; /* of these */
    const kg_link *known;            /* all of them, by directed relation, then id */
    uint32_t link_count;
    uint32_t group_count;
    uint32_t known_count;
    bool is_changed; /* if not, they are those of the graph below */
    uint8_t level;   /* of an entity that came later: see live/later_rows.h */
} kg_entity_facts;

typedef struct kg_overlay {
    size_t first;          /* entities from here on came later */
    kg_pages facts;        /* kg_entity_facts of each entity */
    const kg_names *names; /* of all */
} kg_overlay;

/* NULL if they are those of the graph below. */
static inline const kg_entity_facts *kg__overlay_find(const kg_overlay *overlay, kg_id entity) {
    size_t number = entity / KG_PAGE;
    if (number >= overlay->facts.count || overlay->facts.pages[number] == NULL)
        return NULL;
    const kg_entity_facts *facts =
        (const kg_entity_facts *)overlay->facts.pages[number] + entity % KG_PAGE;
    return facts->is_changed ? facts : NULL;
}

typedef struct kg_adjacency {
    kg_link *links;   /* of all entities, one after the other; each sorted by (directed, other) */
    uint64_t *starts; /* entity_count + 1: links of entity v are starts[v] up to starts[v + 1] */
    size_t entity_count;
    const kg_overlay *overlay; /* NULL: none. If there is one, its later entities are counted */
} kg_adjacency;

/* The facts of an entity that are not in the lists above; NULL if they are. */
static inline const kg_entity_facts *kg__adjacency_changed(const kg_adjacency *adjacency,
                                                           kg_id entity) {
    return adjacency->overlay == NULL ? NULL : kg__overlay_find(adjacency->overlay, entity);
}

/* Whether facts of an entity with itself are in the lists: they add nothing to what an entity is
 * linked to, but they are known facts. */
typedef enum kg_reflexive { KG_WITHOUT_REFLEXIVE, KG_WITH_REFLEXIVE } kg_reflexive;

/* The links of the entities with ids below `entity_count`; facts must be distinct. */
KG_MUST_CHECK kg_status kg__adjacency_make(kg_adjacency *out, const kg_triples *facts,
                                           size_t entity_count, kg_reflexive reflexive,
                                           kg_error *error);
void kg__adjacency_free(kg_adjacency *adjacency);

/* The same lists, some at a time. First where they start, without links; then those of the entities
 * `from` up to `to`, to `links`, which has room for as many. */
KG_MUST_CHECK kg_status kg__adjacency_count(kg_adjacency *out, const kg_triples *facts,
                                            size_t entity_count, kg_reflexive reflexive,
                                            kg_error *error);
KG_MUST_CHECK kg_status kg__adjacency_list(const kg_adjacency *counted, kg_link *links, size_t from,
                                           size_t to, const kg_triples *facts,
                                           kg_reflexive reflexive, kg_error *error);

static inline size_t kg__adjacency_degree(const kg_adjacency *adjacency, kg_id entity) {
    const kg_entity_facts *changed = kg__adjacency_changed(adjacency, entity);
    if (changed != NULL)
        return changed->link_count;
    return (size_t)(adjacency->starts[entity + 1] - adjacency->starts[entity]);
}

static inline const kg_link *kg__adjacency_links(const kg_adjacency *adjacency, kg_id entity) {
    const kg_entity_facts *changed = kg__adjacency_changed(adjacency, entity);
    return changed != NULL ? changed->links : adjacency->links + adjacency->starts[entity];
}

/* Whether an entity comes before another one in the order of links. */
static inline bool kg__adjacency_before(const kg_adjacency *adjacency, kg_id a, kg_id b) {
    return adjacency->overlay == NULL ? a < b : kg__names_before(adjacency->overlay->names, a, b);
}

/* The position of a link among those of an entity, or of some of them in the same order, or
 * `count`. Linear in the links of the relation if its other end came later. */
size_t kg__adjacency_find(const kg_adjacency *adjacency, const kg_link *links, size_t count,
                          kg_link link);

/* Links are sorted, so those of a directed relation are contiguous: the end of such a group. Steps
 * double until one is too long, then halve: O(log size). */
static inline size_t kg__group_end(const kg_link *links, size_t count, size_t from) {
    size_t to = from + 1; /* all before are of the group */
    size_t step = 1;
    while (to + step <= count && links[to + step - 1].directed == links[from].directed) {
        to += step;
        step *= 2;
    }
    for (; step > 0; step /= 2)
        if (to + step <= count && links[to + step - 1].directed == links[from].directed)
            to += step;
    return to;
}

/* How many facts the links of an entity are: one with itself is two links, one from each end. */
static inline size_t kg__links_facts(const kg_link *links, size_t count, kg_id entity) {
    size_t facts = count;
    for (size_t i = 0; i < count; i++)
        facts -= links[i].other == entity && kg_directed_end(links[i].directed) == KG_TAIL;
    return facts;
}

/* Puts links that are sorted by id into the order of a graph with these names (kg_entity_facts). */
void kg__links_order(kg_link *links, size_t count, const kg_names *names);

/* The order of links by id, as qsort wants to know it. */
static inline int kg__links_compare(kg_link a, kg_link b) {
    if (a.directed != b.directed)
        return a.directed < b.directed ? -1 : 1;
    return a.other < b.other ? -1 : a.other > b.other;
}

/* Sorted links by their other ends, those with the same one by directed relation. `sorted` and
 * `spare` have room for all. Linear. */
void kg__links_by_other(kg_link *sorted, kg_link *spare, const kg_link *links, size_t count);

/* kg_links_sort of the public interface. */
size_t kg__links_sort(kg_link *links, size_t count);

/* The position of a link among `count` sorted ones, or `count`. */
size_t kg__links_find(const kg_link *links, size_t count, kg_link link);

/* Whether the answer to a query is an echo: another of the links leads to it, too. */
bool kg__links_echo(const kg_link *links, size_t count, kg_link target);

/* The links of a directed relation among `count` sorted ones, `*found` of them. */
const kg_link *kg__links_run(const kg_link *links, size_t count, kg_directed directed,
                             size_t *found);

#endif
