/* The C library as allocation back end. Large blocks are mostly tables that are accessed at random,
 * so they ask for huge pages: an access then seldom also misses the TLB. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/memory.h"

#define HUGE_PAGE ((size_t)2 << 20)

static void ask_for_huge_pages(void *block, size_t bytes) {
    size_t skipped = (HUGE_PAGE - (uintptr_t)block % HUGE_PAGE) % HUGE_PAGE;
    size_t covered = (bytes - skipped) / HUGE_PAGE * HUGE_PAGE;
    madvise((char *)block + skipped, covered, MADV_HUGEPAGE); /* only advice: it may fail */
}

void *kg__backend_resize(void *block, size_t bytes) {
    void *moved = realloc(block, bytes);
    if (moved != NULL && bytes >= 2 * HUGE_PAGE)
        ask_for_huge_pages(moved, bytes);
    return moved;
}

void kg__backend_free(void *block) {
    free(block);
}
