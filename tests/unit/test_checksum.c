/* Checksums: xxHash's published value for nothing, and against xxHash's own one-shot function for
 * everything else, however the bytes are cut into pieces. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/checksum.h"

static void test_of_nothing(void **state) {
    (void)state;
    kg_hasher *hasher = kg__hasher_new();
    assert_string_equal(kg__hasher_checksum(hasher).text, "99aa06d3014798d86001c324468d497f");
    kg__hasher_add(hasher, "", 0);
    assert_string_equal(kg__hasher_checksum(hasher).text, "99aa06d3014798d86001c324468d497f");
    kg__hasher_free(hasher);
    kg__hasher_free(NULL);
}

/* In hexadecimal as xxHash's canonical form has it, most significant byte first. */
static void test_of_pieces(void **state) {
    (void)state;
    enum { SIZE = 100000 };
    unsigned char *bytes = must_allocate(SIZE, 1);
    uint64_t random = 1;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)next_random(&random);
    for (uint64_t largest = 1; largest <= SIZE; largest *= 10) {
        kg_hasher *hasher = kg__hasher_new();
        size_t done = 0;
        while (done < SIZE) {
            size_t piece = next_below(&random, largest) + 1;
            piece = piece < SIZE - done ? piece : SIZE - done;
            kg__hasher_add(hasher, bytes + done, piece);
            done += piece;
            if (done > 1000 && done < SIZE && piece % 7 != 0)
                continue;
            XXH128_canonical_t canonical; /* also in the middle, after which it goes on */
            XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, done));
            char expected[33];
            for (size_t i = 0; i < 16; i++)
                snprintf(expected + 2 * i, 3, "%02x", canonical.digest[i]);
            assert_string_equal(kg__hasher_checksum(hasher).text, expected);
            assert_string_equal(kg__checksum_of(bytes, done).text, expected);
        }
        kg__hasher_free(hasher);
    }
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_nothing),
        cmocka_unit_test(test_of_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
