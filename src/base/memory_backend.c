/* The C library as allocation back end. Large blocks are mostly tables that are accessed at random,
 * so they ask for huge pages: an access then seldom also misses the TLB.
 *
 * The advice covers all pages of a block, its mapping: advice for some of them would split the
 * mapping, and one that is split cannot be moved by the kernel, so that growing would copy it. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

#define LARGE ((size_t)4 << 20) /* two huge pages */

static void ask_for_huge_pages(void *block, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = (uintptr_t)block % page;
    size_t covered = (before + bytes + page - 1) / page * page;
    madvise((char *)block - before, covered, MADV_HUGEPAGE); /* only advice: it may fail */
}

void *kg__backend_resize(void *block, size_t bytes) {
    void *moved = realloc(block, bytes);
    if (moved != NULL && bytes >= LARGE)
        ask_for_huge_pages(moved, bytes);
    return moved;
}

void kg__backend_free(void *block) {
    free(block);
}
