/* Statistics of a data set: the distribution of facts per entity, and of the facts that are left to
 * embed an unseen entity from when one of them is the query (the paper's Figure 2). */
#ifndef KG_GRAPH_STATS_H
#define KG_GRAPH_STATS_H

#include <stdbool.h>

#include "graph/dataset.h"

/* counts[k] items have the value k, for k < size. */
typedef struct kg_histogram {
    uint64_t *counts;
    size_t size;
} kg_histogram;

uint64_t kg__histogram_total(const kg_histogram *histogram);
double kg__histogram_mean(const kg_histogram *histogram);

/* A quantile: the smallest value that at least this share of the items do not exceed. */
size_t kg__histogram_quantile(const kg_histogram *histogram, double share);

typedef struct kg_stats {
    kg_histogram degrees;       /* in-sample entities by number of training facts */
    kg_histogram queries_valid; /* queries by number of facts left to the unseen entity */
    kg_histogram queries_test;
    kg_histogram graph_degrees; /* entities of the new graph by number of known facts */
} kg_stats;

KG_MUST_CHECK kg_status kg__stats_make(kg_stats *out, const kg_dataset *dataset, kg_error *error);
void kg__stats_free(kg_stats *stats);

#endif
