/* Random ranks by Zipf's law, whose k-th rank is drawn in proportion to k^-exponent. */
#ifndef KG_GRAPH_ZIPF_H
#define KG_GRAPH_ZIPF_H

#include "base/random.h"

typedef struct kg_zipf {
    uint64_t count; /* of ranks */
    double exponent;
    double low; /* the range of the law's integral */
    double high;
} kg_zipf;

kg_zipf kg__zipf_make(uint64_t count, double exponent);

/* A rank from 0, a function of the seed, the stream and the draw's index. */
uint64_t kg__zipf_draw(const kg_zipf *zipf, uint64_t seed, kg_stream stream, uint64_t index);

#endif
