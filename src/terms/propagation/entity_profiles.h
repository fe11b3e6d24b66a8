/* Profiles: which facts an entity has, as a vector sum_r weights[r] log(1 + n_r(e)). Those that a
 * thread needs are kept until weights change, since queries that follow one another reach many of
 * the same entities, and entities with the same counts share one. */
#ifndef KG_TERMS_ENTITY_PROFILES_H
#define KG_TERMS_ENTITY_PROFILES_H

#include "base/arena.h"
#include "math/real.h"
#include "terms/propagation/relation_degrees.h"

#define KG_PROFILE_LOGS 64

/* Zeroed before first use. */
typedef struct kg_profiles {
    const kg_relation_degrees *graph; /* borrowed */
    size_t width;
    kg_arena memory;
    real *weights; /* directed_count x width: what sums are made of */
    uint32_t version;
    uint32_t *versions; /* of the sum in each place, */
    uint32_t *lists;    /* and the list of groups that it is of */
    size_t list_count;  /* places: as many as lists, or KG_MOST_PROFILES */
    real *sums;         /* list_count x width */
    real *changed;      /* width: a sum where facts are left out, or of an overlay */
    real logs[KG_PROFILE_LOGS];
} kg_profiles;

/* Sums that are kept at most: graphs of millions of entities have as many lists, and a sum that was
 * overwritten is made again. */
#define KG_MOST_PROFILES ((size_t)1 << 20) /* a power of two */

static inline size_t kg__profiles_place(size_t list) {
    return list & (KG_MOST_PROFILES - 1);
}

/* Sums are of these weights from now on. O(directed_count x width) if they are as before. */
KG_MUST_CHECK kg_status kg__profiles_use(kg_profiles *profiles, const kg_relation_degrees *graph,
                                         const real *weights, size_t width, kg_error *error);
void kg__profiles_close(kg_profiles *profiles);

/* To another overlay of the same graph: sums that are kept are of the graph below. */
void kg__profiles_move(kg_profiles *profiles, const kg_relation_degrees *graph);

/* Facts of an entity that are left out: a directed relation for each. */
typedef struct kg_own_facts {
    const kg_directed *relations;
    size_t count;
} kg_own_facts;

/* The entity's profile (width), until the next one is asked for. */
const real *kg__profiles_of(kg_profiles *profiles, kg_id entity, kg_own_facts left_out);

/* Gradients on weights; those of relations that have none are not filled in. */
typedef struct kg_profile_gradients {
    real *sums; /* directed_count x width */
    bool *is_used;
} kg_profile_gradients;

/* Without any yet, in scratch memory. False if memory is short. */
bool kg__profile_gradients_open(kg_profile_gradients *out, const kg_profiles *profiles,
                                kg_arena *scratch);

/* Adds what a gradient on an entity's profile means for weights. */
void kg__profiles_backward(kg_profile_gradients out, const kg_profiles *profiles, kg_id entity,
                           kg_own_facts left_out, const real *gradient);

#define KG_CACHE_LINE 64 /* bytes */

/* Prefetches what an entity's profile is made of. */
__attribute__((always_inline)) static inline void kg__profiles_fetch(const kg_profiles *profiles,
                                                                     kg_id entity) {
    if (kg__adjacency_changed(profiles->graph->graph, entity) != NULL)
        return;
    size_t place = kg__profiles_place(profiles->graph->list_of[entity]);
    const real *sum = profiles->sums + place * profiles->width;
    __builtin_prefetch(profiles->versions + place);
    __builtin_prefetch(profiles->lists + place);
    for (size_t k = 0; k < profiles->width; k += KG_CACHE_LINE / sizeof *sum)
        __builtin_prefetch(sum + k);
}

#endif
