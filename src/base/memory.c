/* Checked sizes over the allocation back end. */
#include "base/memory.h"

#include <stdint.h>
#include <string.h>

void *kg__resize(void *block, size_t count, size_t size) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return kg__backend_resize(block, bytes == 0 ? 1 : bytes);
}

void *kg__alloc(size_t count, size_t size) {
    void *block = kg__resize(NULL, count, size);
    if (block != NULL)
        memset(block, 0, count * size);
    return block;
}

void *kg__grow(void *block, size_t *capacity, size_t needed, size_t size) {
    if (block != NULL && needed <= *capacity)
        return block;
    size_t larger = *capacity < 8 ? 8 : *capacity;
    while (larger < needed && larger <= SIZE_MAX / 2)
        larger *= 2;
    if (larger < needed)
        return NULL;
    void *moved = kg__resize(block, larger, size);
    if (moved != NULL)
        *capacity = larger;
    return moved;
}

void kg__free(void *block) {
    kg__backend_free(block);
}

char *kg__copy_string(const char *bytes, size_t length) {
    char *copy = length == SIZE_MAX ? NULL : kg__resize(NULL, length + 1, 1);
    if (copy != NULL) {
        memcpy(copy, bytes, length);
        copy[length] = '\0';
    }
    return copy;
}
