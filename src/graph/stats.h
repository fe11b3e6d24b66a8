/* What a data set looks like in numbers: how many facts entities have, and how many facts are
 * left to know an unseen entity by when one of them is asked (the paper's Figure 2). */
#ifndef KG_GRAPH_STATS_H
#define KG_GRAPH_STATS_H

#include <stdbool.h>

#include "graph/dataset.h"

/* counts[k] things have the value k, for k < size. */
typedef struct kg_histogram {
    uint64_t *counts;
    size_t size;
} kg_histogram;

uint64_t kg__histogram_total(const kg_histogram *histogram);
double kg__histogram_mean(const kg_histogram *histogram);

/* The smallest value that at least this share of the things do not exceed. */
size_t kg__histogram_quantile(const kg_histogram *histogram, double share);

typedef struct kg_stats {
    kg_histogram degrees;       /* in-sample entities by number of training facts */
    kg_histogram queries_valid; /* queries by number of facts that the unseen entity keeps */
    kg_histogram queries_test;
} kg_stats;

KG_MUST_CHECK kg_status kg__stats_make(kg_stats *out, const kg_dataset *dataset, kg_error *error);
void kg__stats_free(kg_stats *stats);

#endif
