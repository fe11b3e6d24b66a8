/* Enumerates the paths in a graph that match the rules of a query (rules.h). */
#ifndef KG_TERMS_RULE_WALK_H
#define KG_TERMS_RULE_WALK_H

#include "terms/features/rules.h"

/* The links of a path: the query entity comes first if it is in the graph (with KG_SELF in place of
 * a directed relation), then one link per step. */
#define KG_SELF UINT32_MAX
typedef struct kg_path_so_far {
    kg_link links[KG_MOST_STEPS + 1];
    size_t count;
} kg_path_so_far;

static inline bool kg__path_so_far_has(const kg_path_so_far *path, kg_id entity) {
    for (size_t i = 0; i < path->count; i++)
        if (path->links[i].other == entity)
            return true;
    return false;
}

/* How many of these links, all of one directed relation, lead to entities that are not on the path.
 */
size_t kg__path_so_far_unvisited(const kg_path_so_far *path, const kg_link *links, size_t count);

/* Fan-out and reach of a path, as rules.h defines them. */
typedef struct kg_spread {
    uint64_t fan;
    uint64_t reach; /* values above KG_MOST_REACH are not exact */
} kg_spread;

/* Whether a path may be extended from its last entity; `*reach` becomes that of the next step. */
bool kg__path_so_far_extends(const kg_path_so_far *path, const kg_adjacency *graph,
                             uint64_t *reach);

/* The class of a fan-out: floor(log2(fan)). */
static inline unsigned kg__width(uint64_t fan) {
    return 63 - (unsigned)__builtin_clzll(fan);
}

/* The end of a step: links of one directed relation from the last entity of the path. Those to
 * entities on the path do not count. */
typedef struct kg_arrival {
    const kg_rule *rule;
    size_t steps; /* of the path, this one included */
    uint64_t fan; /* of the path */
    const kg_link *links;
    size_t count;
    size_t unvisited; /* of these links, those to entities that are not on the path */
    const kg_path_so_far *path;
} kg_arrival;

typedef struct kg_walk {
    const kg_adjacency *graph;
    const kg_rules *rules;
    void (*arrive)(void *payload, const kg_arrival *arrival);
    void *payload;
} kg_walk;

/* Follows all rules of a query that start with a fact of `self`, which is KG_NO_ID if it is not in
 * the graph. The first arrival is at the fact's other end. */
void kg__walk_from(const kg_walk *walk, kg_directed query, kg_id self, const kg_link *fact);

#endif
