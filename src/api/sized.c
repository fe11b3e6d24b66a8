/* Copies structs of other sizes. The size is the first member, and is read without knowing the
 * type. */
#include "api/sized.h"

#include <string.h>

/* Above the size that any struct will ever have, and below most numbers that are no size. */
#define MOST ((size_t)1 << 16)

static size_t size_of(const void *sized) {
    size_t size = 0;
    memcpy(&size, sized, sizeof size);
    return size;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The size of a struct is a multiple of the alignment of its first field. */
kg_status kg__sized_check(const void *sized, const char *name, kg_error *error) {
    if (sized == NULL)
        return kg_fail(error, KG_BAD_INPUT, "%s: expected one, found NULL", name);
    size_t size = size_of(sized);
    if (size > 0 && size <= MOST && size % _Alignof(size_t) == 0)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "%s: expected `size` to be that of the struct, found %zu",
                   name, size);
}

kg_status kg__sized_read(void *out, size_t size, const void *from, const char *name,
                         kg_error *error) {
    KG_TRY(kg__sized_check(from, name, error));
    memcpy(out, from, smaller(size, size_of(from)));
    memcpy(out, &size, sizeof size);
    return KG_OK;
}

void kg__sized_write(void *out, const void *from, size_t size) {
    size_t room = size_of(out);
    memcpy(out, from, smaller(size, room));
    if (room > size)
        memset((char *)out + size, 0, room - size);
    memcpy(out, &room, sizeof room);
}
