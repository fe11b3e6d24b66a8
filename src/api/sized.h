/* Structs of the public interface that may grow, which begin with their size: a caller's may be
 * older and shorter than the library's, or newer and longer. All of the interface reads and writes
 * them by these functions, and works with whole structs of its own. */
#ifndef KG_API_SIZED_H
#define KG_API_SIZED_H

#include "base/status.h"

/* Refuses NULL, and sizes that no such struct can have. `name` is that of the argument. */
KG_MUST_CHECK kg_status kg__sized_check(const void *sized, const char *name, kg_error *error);

/* Copies what a caller's struct has of one with `size` bytes over its defaults, which are in `out`.
 * The size stays that of `out`. */
KG_MUST_CHECK kg_status kg__sized_read(void *out, size_t size, const void *from, const char *name,
                                       kg_error *error);

/* Copies what fits of a struct with `size` bytes to a caller's, which was checked and keeps its
 * size. What the caller has behind is set to zero. */
void kg__sized_write(void *out, const void *from, size_t size);

/* The first two, by the name of a function's argument. */
#define KG_CHECK_SIZE(argument) KG_TRY(kg__sized_check((argument), #argument, error))
#define KG_READ(out, argument) \
    KG_TRY(kg__sized_read((out), sizeof *(out), (argument), #argument, error))

#endif
