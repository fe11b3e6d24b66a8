/* Philox, as Random123 implements it. */
#include "base/random.h"

#include <Random123/philox.h>

uint64_t kg__random(uint64_t seed, kg_stream stream, uint64_t position) {
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t counter = {
        {(uint32_t)position, (uint32_t)(position >> 32), (uint32_t)stream, 0}};
    philox4x32_ctr_t bits = philox4x32(counter, key);
    return (uint64_t)bits.v[1] << 32 | bits.v[0];
}

double kg__random_unit(uint64_t seed, kg_stream stream, uint64_t position) {
    return (double)(kg__random(seed, stream, position) >> 11) * 0x1p-53;
}

uint64_t kg__random_below(uint64_t bound, uint64_t seed, kg_stream stream, uint64_t position) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)kg__random(seed, stream, position) * bound >> 64);
}

/* A Feistel network permutes the numbers of 2b bits, whatever its round function is. Those that
 * land outside are permuted again until they land inside, which leaves a permutation of the inside;
 * as at least a quarter is inside, that takes four rounds on average at most. */
uint64_t kg__random_permute(uint64_t index, uint64_t count, uint64_t seed, kg_stream stream,
                            uint64_t position) {
    unsigned half = 1;
    while (half < 32 && (uint64_t)1 << 2 * half < count)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t key = kg__random(seed, stream, position);
    do {
        uint64_t left = index >> half;
        uint64_t right = index & mask;
        for (unsigned round = 0; round < 4; round++) {
            uint64_t mixed = (right + key + round) * 0x9e3779b97f4a7c15U;
            mixed = (mixed ^ (mixed >> 32)) * 0xbf58476d1ce4e5b9U;
            uint64_t next = left ^ ((mixed ^ (mixed >> 29)) & mask);
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index >= count);
    return index;
}
