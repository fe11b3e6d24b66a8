/* A toy: candidates with even ids score log 3 more. It learns nothing. */
#include <math.h>

#include "terms/query_block.h"

static bool is_on(const kg_params *params) {
    (void)params;
    return true;
}

static kg_status forward(kg_query_block *b, size_t number) {
    (void)number;
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < b->candidate_count; j++)
            if (b->candidates[j].entity % 2 == 0)
                b->scores[i * b->candidate_count + j] += (real)log(3);
    return KG_OK;
}

const kg_term kg__term_toy = {.name = "toy", .is_on = is_on, .forward = forward};
