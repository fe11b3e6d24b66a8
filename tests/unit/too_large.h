/* Numbers and sizes of elements whose product is above PTRDIFF_MAX; many products wrap around to
 * something small. */
#ifndef KG_TESTS_TOO_LARGE_H
#define KG_TESTS_TOO_LARGE_H

#include <stddef.h>
#include <stdint.h>

static const struct {
    size_t count;
    size_t size;
} too_large[] = {
    {SIZE_MAX, 2},
    {2, SIZE_MAX},
    {SIZE_MAX / 2 + 1, 2},
    {SIZE_MAX / 8 + 2, 8},
    {(size_t)1 << 32, (size_t)1 << 32},
    {((size_t)1 << 32) + 1, (size_t)1 << 32},
    {SIZE_MAX, SIZE_MAX},
    {SIZE_MAX, 1},
    {SIZE_MAX - 64, 1}, /* and rounded up to cache lines */
    {(size_t)PTRDIFF_MAX + 1, 1},
    {1, (size_t)PTRDIFF_MAX + 1},
};

#endif
