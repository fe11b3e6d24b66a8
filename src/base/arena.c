/* Slabs, each as large as all before it together. What a round took of several slabs, the next
 * finds in one, with a little more: rounds that grow slowly seldom need another one, and slabs that
 * were too large do not stay. */
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

#define LINE ((size_t)64)
#define SMALLEST ((size_t)16 << 10)

struct kg_slab {
    struct kg_slab *before;
    size_t size; /* bytes behind this, whole lines */
};

/* Under the address sanitizer a piece has a line behind it that nobody may touch. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define HIDE(at, size) __asan_poison_memory_region(at, size)
#define SHOW(at, size) __asan_unpoison_memory_region(at, size)
#define GAP LINE
#endif
#endif
#ifndef GAP
#define HIDE(at, size) (void)(at)
#define SHOW(at, size) (void)(at)
#define GAP 0
#endif

static char *first_line(struct kg_slab *slab) {
    uintptr_t behind = (uintptr_t)(slab + 1);
    return (char *)slab + ((behind + LINE - 1) / LINE * LINE - (uintptr_t)slab);
}

static bool add_slab(kg_arena *arena, size_t size) {
    struct kg_slab *slab = size > SIZE_MAX - 2 * LINE - sizeof *slab
                               ? NULL
                               : kg__resize(NULL, 1, size + LINE + sizeof *slab);
    if (slab == NULL)
        return false;
    *slab = (struct kg_slab){arena->slabs, size};
    arena->slabs = slab;
    arena->next = first_line(slab);
    arena->left = size;
    arena->size += size;
    HIDE(arena->next, size);
    return true;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* A large slab saves further ones, but a small one will do. */
static bool make_room(kg_arena *arena, size_t needed) {
    return needed <= arena->left ||
           add_slab(arena, larger(needed, larger(arena->size, SMALLEST))) ||
           add_slab(arena, needed);
}

void *kg__arena_take(kg_arena *arena, size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX / 2 - LINE) / size)
        return NULL;
    size_t needed =
        (count * size / LINE + 1) * LINE + GAP; /* also of nothing: a piece of its own */
    if (!make_room(arena, needed))
        return NULL;
    arena->taken += needed;
    char *piece = arena->next;
    arena->next += needed;
    arena->left -= needed;
    SHOW(piece, count * size);
    return piece;
}

void *kg__arena_take_zeroed(kg_arena *arena, size_t count, size_t size) {
    void *piece = kg__arena_take(arena, count, size);
    if (piece != NULL)
        memset(piece, 0, count * size);
    return piece;
}

void kg__arena_free(kg_arena *arena) {
    while (arena->slabs != NULL) {
        struct kg_slab *slab = arena->slabs;
        arena->slabs = slab->before;
        SHOW(first_line(slab), slab->size);
        kg__free(slab);
    }
    *arena = (kg_arena){0};
}

void kg__arena_reset(kg_arena *arena) {
    size_t taken = arena->taken;
    arena->taken = 0;
    if (arena->slabs != NULL && arena->slabs->before == NULL) {
        arena->next = first_line(arena->slabs);
        arena->left = arena->size;
        HIDE(arena->next, arena->size);
        return;
    }
    kg__arena_free(arena);
    if (taken > 0) /* if not now, then when something is taken */
        (void)add_slab(arena, (taken + taken / 8) / LINE * LINE);
}
