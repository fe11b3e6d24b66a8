/* The rest of an input as one block, for unit tests and fuzzers; the program itself reads by
 * pieces. */
#ifndef KG_TESTS_READ_ALL_H
#define KG_TESTS_READ_ALL_H

#include <stdlib.h>

#include "base/input.h"

/* With a terminating zero; the caller frees it with free. */
static inline kg_status read_all(kg_input *input, char **out, size_t *size, kg_error *error) {
    char *bytes = NULL;
    size_t used = 0;
    size_t capacity = 0;
    while (used == capacity) {
        size_t got = 0;
        capacity += ((size_t)1 << 18) + capacity;
        char *larger = realloc(bytes, capacity + 1);
        if (larger == NULL)
            abort();
        bytes = larger;
        kg_status status = kg__input_read(input, bytes + used, capacity - used, &got, error);
        if (status != KG_OK) {
            free(bytes);
            return status;
        }
        used += got;
    }
    bytes[used] = '\0';
    *out = bytes;
    *size = used;
    return KG_OK;
}

#endif
