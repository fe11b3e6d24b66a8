/* Ranks to metrics. */
#include "rank/metrics.h"

double kg_rank_of(uint64_t higher, uint64_t equal, kg_ties ties) {
    switch (ties) {
    case KG_OPTIMISTIC:
        return (double)(higher + 1);
    case KG_PESSIMISTIC:
        return (double)(higher + equal + 1);
    case KG_REFERENCE: {
        uint64_t rounded_down = equal / 2;
        return (double)(higher + rounded_down + 1);
    }
    case KG_REALISTIC:
        break;
    }
    return (double)higher + (double)equal / 2 + 1;
}

kg_metrics kg_metrics_of(const double *ranks, size_t count) {
    static const double limits[3] = {1, 3, 10};
    kg_metrics out = {.queries = count};
    if (count == 0)
        return out;
    for (size_t i = 0; i < count; i++) {
        out.mrr += 1 / ranks[i];
        out.mr += ranks[i];
        for (int k = 0; k < 3; k++)
            out.hits[k] += ranks[i] <= limits[k];
    }
    out.mrr /= (double)count;
    out.mr /= (double)count;
    for (int k = 0; k < 3; k++)
        out.hits[k] /= (double)count;
    return out;
}
