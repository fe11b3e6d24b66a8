/* The features (features/extractor.h) of the candidates for the queries of a run. They are the same
 * in every epoch, and extracting them takes longer than using them: they are extracted when queries
 * are first met, and kept as long as there is room. Whether they are kept changes nothing but time.
 */
#ifndef KG_TERMS_FEATURE_CACHE_H
#define KG_TERMS_FEATURE_CACHE_H

#include <stdatomic.h>

#include "graph/adjacency.h"
#include "terms/features/extractor.h"

#define KG_MOST_QUERIES 64 /* of a range */

/* Links `from` up to `to` of an entity, each asked for by the others. */
typedef struct kg_fact_range {
    kg_id entity;
    uint32_t from;
    uint32_t to;
    uint32_t number; /* its place among all ranges */
} kg_fact_range;

typedef struct kg_kept_features {
    kg_candidate_features *list; /* NULL: not kept */
} kg_kept_features;

typedef struct kg_feature_cache {
    const kg_features *counted; /* borrowed */
    kg_kept_features *kept;     /* of each range, by its number */
    uint8_t *counts;            /* of each link of the graph, if those of its range are kept */
    size_t range_count;
    atomic_size_t room; /* how many more candidates may be kept */
} kg_feature_cache;

/* Keeps so many candidates at most. */
KG_MUST_CHECK kg_status kg__feature_cache_open(kg_feature_cache *cache, const kg_features *counted,
                                               size_t range_count, size_t room, kg_error *error);
void kg__feature_cache_close(kg_feature_cache *cache);

/* One for each thread. */
typedef struct kg_feature_reader {
    kg_extractor extractor;
    kg_candidate_features *features; /* KG_MOST_QUERIES x KG_MOST_CANDIDATES */
    uint8_t *counts;                 /* KG_MOST_QUERIES */
} kg_feature_reader;

KG_MUST_CHECK kg_status kg__feature_reader_open(kg_feature_reader *reader,
                                                const kg_feature_cache *cache, kg_error *error);
void kg__feature_reader_close(kg_feature_reader *reader);

/* The candidates of a range's queries, one query after the other, and how many each has. They live
 * until the reader reads again, unless they are kept, which is for good. Threads may read different
 * ranges at the same time. */
KG_MUST_CHECK kg_status kg__feature_cache_read(kg_feature_cache *cache, kg_feature_reader *reader,
                                               const kg_fact_range *range,
                                               const kg_candidate_features **features,
                                               const uint8_t **counts, kg_error *error);

#endif
