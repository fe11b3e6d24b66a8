/* Counter-based random numbers (Philox4x32-10, Salmon et al. 2011): a pure function of a seed, a
 * stream and a position, so results do not depend on threads or order of computation. */
#ifndef KG_BASE_RANDOM_H
#define KG_BASE_RANDOM_H

#include <stdint.h>

/* One stream for each use of randomness: two uses never share numbers. Values are part of what a
 * seed means, so they never change. */
typedef enum kg_stream {
    KG_STREAM_SPLIT_UNSEEN = 1,
    KG_STREAM_SPLIT_VALID = 2,
    KG_STREAM_GENERATE_HEAD = 3,
    KG_STREAM_GENERATE_RELATION = 4,
    KG_STREAM_GENERATE_TAIL = 5,
    KG_STREAM_INIT_ENTITIES = 6,
    KG_STREAM_INIT_RELATIONS = 7,
    KG_STREAM_SHUFFLE = 8,
    KG_STREAM_CORRUPT = 9,
    KG_STREAM_UNSEEN = 10,
    KG_STREAM_DROPOUT = 11,
    KG_STREAM_INIT_ENCODER = 12,
    KG_STREAM_NEGATIVES = 13,
    KG_STREAM_CANDIDATES = 14,
    KG_STREAM_ECHOES = 15,
    KG_STREAM_INIT_TERMS = 16,
    KG_STREAM_LINKS = 17,
    KG_STREAM_CALIBRATE = 20,
    KG_STREAM_LATER_ROWS = 21,
    KG_STREAM_REPLAY = 22,
    KG_STREAM_WITHDRAW = 23,
    KG_STREAM_PLANT_TYPE = 30,
    KG_STREAM_PLANT_SOURCE = 31,
    KG_STREAM_PLANT_TARGET = 32,
    KG_STREAM_PLANT_FOLLOWS = 33,
} kg_stream;

/* 64 random bits. */
uint64_t kg__random(uint64_t seed, kg_stream stream, uint64_t position);

/* Uniform in [0, 1), 53 bits. */
double kg__random_unit(uint64_t seed, kg_stream stream, uint64_t position);

/* Uniform in [0, bound), bound > 0; the bias is below bound/2^64. */
uint64_t kg__random_below(uint64_t bound, uint64_t seed, kg_stream stream, uint64_t position);

/* A permutation of 0 .. count - 1 that is never stored: the place of `index` in it. */
uint64_t kg__random_permute(uint64_t index, uint64_t count, uint64_t seed, kg_stream stream,
                            uint64_t position);

#endif
