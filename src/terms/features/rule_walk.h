/* Walks through a graph along the rules of a question (rules.h). */
#ifndef KG_TERMS_RULE_WALK_H
#define KG_TERMS_RULE_WALK_H

#include "terms/features/rules.h"

/* Whom a path has met, and by which steps: the entity that is asked about comes first if it is in
 * the graph (by no step, KG_SELF), then everybody on the way. */
#define KG_SELF UINT32_MAX
typedef struct kg_path_so_far {
    kg_link met[KG_MOST_STEPS + 1];
    size_t count;
} kg_path_so_far;

static inline bool kg__path_so_far_has(const kg_path_so_far *trail, kg_id entity) {
    for (size_t i = 0; i < trail->count; i++)
        if (trail->met[i].other == entity)
            return true;
    return false;
}

/* How many of these links, all of one directed relation, lead to someone not met yet. */
size_t kg__path_so_far_open(const kg_path_so_far *trail, const kg_link *links, size_t count);

/* How far a path has spread. */
typedef struct kg_spread {
    uint64_t fan;
    uint64_t reach; /* numbers above KG_MOST_REACH are all one */
} kg_spread;

/* Whether a path may go on from whoever it met last; its reach is then that of the next step. */
bool kg__path_so_far_goes_on(const kg_path_so_far *trail, const kg_adjacency *graph,
                             uint64_t *reach);

static inline unsigned kg__width(uint64_t fan) {
    return 63 - (unsigned)__builtin_clzll(fan);
}

/* The end of a step: links of one directed relation, from whoever the trail met last. Those on the
 * trail do not count. */
typedef struct kg_arrival {
    const kg_rule *rule;
    size_t steps; /* of the path, this one included */
    uint64_t fan; /* of the path */
    const kg_link *links;
    size_t count;
    size_t open; /* of these, those that lead to someone not met yet */
    const kg_path_so_far *trail;
} kg_arrival;

typedef struct kg_walk {
    const kg_adjacency *graph;
    const kg_rules *rules;
    void (*arrive)(void *payload, const kg_arrival *arrival);
    void *payload;
} kg_walk;

/* Follows all rules of a question that start with a fact of `self`, which is KG_NO_ID if the graph
 * does not have it. The first arrival is at the fact's other end. */
void kg__walk_from(const kg_walk *walk, kg_directed asked, kg_id self, const kg_link *fact);

#endif
