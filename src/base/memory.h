/* Allocation that reports failure. Sizes are given as count and element size, and their product is
 * checked. Every block of the library comes from here and is freed by kg__free. */
#ifndef KG_BASE_MEMORY_H
#define KG_BASE_MEMORY_H

#include <stddef.h>

/* A zeroed block, or NULL. A count of 0 gives a valid block. */
void *kg__alloc(size_t count, size_t size) __attribute__((malloc));

/* Like realloc for arrays: NULL on failure, and the old block stays valid. */
void *kg__resize(void *block, size_t count, size_t size);

/* Grows an array to hold `needed` elements, by doubling: amortised O(1) per element. Returns the
 * block (perhaps moved) and sets `*capacity`; on failure NULL, and the old block and capacity stay
 * valid. */
void *kg__grow(void *block, size_t *capacity, size_t needed, size_t size);

void kg__free(void *block);

/* A copy of `length` bytes with a terminating zero, or NULL. */
char *kg__copy_string(const char *bytes, size_t length);

/* The back end, in a file of its own so that a test program can replace it and fail the n-th
 * allocation: the linker then leaves this one out. */
void *kg__backend_resize(void *block, size_t bytes);
void kg__backend_free(void *block);

#endif
