/* Memory that is taken piece by piece and given back all at once, for what belongs together: all
 * that is computed for one entity, or for one part of a training step. Pieces start at a cache line
 * and never move. Once a round has been as large as it gets, rounds allocate nothing. */
#ifndef KG_BASE_ARENA_H
#define KG_BASE_ARENA_H

#include <stddef.h>

/* An empty one is all zeroes. */
typedef struct kg_arena {
    struct kg_slab *slabs; /* the newest first */
    char *next;            /* where the next piece starts, in the newest slab */
    size_t left;           /* bytes behind it */
    size_t size;           /* of all slabs */
    size_t taken;          /* bytes of this round */
} kg_arena;

/* A piece for `count` elements, not filled in; NULL if memory is short. */
void *kg__arena_take(kg_arena *arena, size_t count, size_t size);

/* The same, zeroed. */
void *kg__arena_take_zeroed(kg_arena *arena, size_t count, size_t size);

/* Gives all pieces back, and keeps the memory for the next round. */
void kg__arena_reset(kg_arena *arena);

/* Gives the memory back. */
void kg__arena_free(kg_arena *arena);

#endif
