/* Synthetic graphs of any size, to test scalability: the degrees of entities and the use of
 * relations follow Zipf's law. */
#ifndef KG_GRAPH_GENERATE_H
#define KG_GRAPH_GENERATE_H

#include "base/output.h"
#include "base/progress.h"

typedef struct kg_generate_options {
    uint64_t facts;
    uint64_t entities;
    uint64_t relations;
    double
        exponent; /* of Zipf's law: the k-th most frequent is drawn in proportion to k^-exponent */
    uint64_t seed;
} kg_generate_options;

/* Writes exactly that many different facts as TSV, in which every entity and relation occurs. The
 * bytes are a function of the options. */
KG_MUST_CHECK kg_status kg__generate(kg_output *output, const kg_generate_options *options,
                                     const kg_progress *progress, kg_error *error);

#endif
