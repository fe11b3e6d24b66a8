/* An allocation back end that counts, in place of the library's, and that can be made to fail. */
#ifndef KG_TESTS_COUNTED_MEMORY_H
#define KG_TESTS_COUNTED_MEMORY_H

#include <stdatomic.h>

/* Readers allocate in two threads at a time. */
extern atomic_long allocations; /* so far */
extern atomic_long failing;     /* the one that fails, from 1; 0: none */
extern atomic_long allocated;   /* blocks that are not yet freed */

#endif
