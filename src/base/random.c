/* Philox, as Random123 implements it. */
#include "base/random.h"

#include <Random123/philox.h>

uint64_t kg_random(uint64_t seed, kg_stream stream, uint64_t position) {
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t counter = {
        {(uint32_t)position, (uint32_t)(position >> 32), (uint32_t)stream, 0}};
    philox4x32_ctr_t bits = philox4x32(counter, key);
    return (uint64_t)bits.v[1] << 32 | bits.v[0];
}

double kg_random_unit(uint64_t seed, kg_stream stream, uint64_t position) {
    return (double)(kg_random(seed, stream, position) >> 11) * 0x1p-53;
}

uint64_t kg_random_below(uint64_t bound, uint64_t seed, kg_stream stream, uint64_t position) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)kg_random(seed, stream, position) * bound >> 64);
}
