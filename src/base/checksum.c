/* xxHash's streaming state behind a small interface. */
#include "base/checksum.h"

#include <stdio.h>
#include <xxhash.h>

#include "base/memory.h"

/* xxHash wants its state aligned to 64 bytes, which an allocation does not promise. */
struct kg_hasher {
    XXH3_state_t *state;
};

kg_hasher *kg__hasher_new(void) {
    kg_hasher *hasher = kg__alloc(1, sizeof *hasher);
    if (hasher == NULL)
        return NULL;
    hasher->state = XXH3_createState();
    if (hasher->state == NULL) {
        kg__free(hasher);
        return NULL;
    }
    XXH3_128bits_reset(hasher->state);
    return hasher;
}

void kg__hasher_free(kg_hasher *hasher) {
    if (hasher != NULL)
        XXH3_freeState(hasher->state);
    kg__free(hasher);
}

void kg__hasher_add(kg_hasher *hasher, const void *bytes, size_t size) {
    XXH3_128bits_update(hasher->state, bytes, size);
}

static kg_checksum show(XXH128_hash_t hash) {
    kg_checksum out;
    snprintf(out.text, sizeof out.text, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    return out;
}

kg_checksum kg__hasher_checksum(const kg_hasher *hasher) {
    return show(XXH3_128bits_digest(hasher->state));
}

kg_checksum kg__checksum_of(const void *bytes, size_t size) {
    return show(XXH3_128bits(bytes, size));
}
