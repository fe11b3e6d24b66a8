#include "counted_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

atomic_long allocations;
atomic_long failing;
atomic_long allocated;

void *kg__backend_resize(void *block, size_t bytes) {
    if (atomic_fetch_add(&allocations, 1) + 1 == atomic_load(&failing)) {
        errno = ENOMEM;
        return NULL;
    }
    void *moved = realloc(block, bytes);
    if (moved != NULL && block == NULL)
        atomic_fetch_add(&allocated, 1);
    return moved;
}

void kg__backend_free(void *block) {
    if (block != NULL)
        atomic_fetch_sub(&allocated, 1);
    free(block);
}
