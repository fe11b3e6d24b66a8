/* Rows and their quantised copy, as it is in a file of the working folder. */
#ifndef KG_TESTS_SOME_QUANTIZED_H
#define KG_TESTS_SOME_QUANTIZED_H

#include "model/quantized_rows.h"

struct some_quantized {
    kg_quantized_rows rows;
    kg_mapping mapping;
};

void quantize_rows(struct some_quantized *out, const real *rows, size_t count, size_t dim);
void free_quantized(struct some_quantized *quantized);

#endif
