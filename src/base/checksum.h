/* A running checksum of the bytes that pass through an input or an output: XXH3, 128 bits. */
#ifndef KG_BASE_CHECKSUM_H
#define KG_BASE_CHECKSUM_H

#include <stddef.h>

typedef struct kg_hasher kg_hasher;

/* In hexadecimal, terminated. */
typedef struct kg_checksum {
    char text[33];
} kg_checksum;

/* NULL if memory is short. */
kg_hasher *kg__hasher_new(void);
void kg__hasher_free(kg_hasher *hasher);
void kg__hasher_add(kg_hasher *hasher, const void *bytes, size_t size);

/* Of everything added so far. */
kg_checksum kg__hasher_checksum(const kg_hasher *hasher);

/* Of a whole block of bytes. */
kg_checksum kg__checksum_of(const void *bytes, size_t size);

#endif
