/* The k best candidates so far: a bounded heap whose root is the worst entry, so that most
 * candidates are rejected by one comparison. */
#ifndef KG_RANK_TOP_HEAP_H
#define KG_RANK_TOP_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/names.h"
#include "math/real.h"

typedef struct kg_candidate {
    kg_directed directed;
    kg_id entity;
    real score;
    real value; /* what it is ordered by; ties go by directed relation, then by id, and among
                 * entities that came later by name */
} kg_candidate;

typedef struct kg_top_heap {
    kg_candidate *heap; /* borrowed: `most` entries, at least 1 */
    size_t most;
    size_t count;
    bool found_nonfinite;  /* a score was not finite: see kg_top */
    const kg_names *names; /* of entities; NULL if none came later */
} kg_top_heap;

static inline bool kg__top_heap_is_full(const kg_top_heap *list) {
    return list->count == list->most;
}

/* Inserts the candidate if it is among the best so far. */
void kg__top_heap_offer(kg_top_heap *list, kg_candidate candidate);

/* Turns the heap into a sorted array, best first. */
void kg__top_heap_sort(kg_top_heap *list);

#endif
