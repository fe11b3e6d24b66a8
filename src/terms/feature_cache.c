/* Gathering, and keeping what was gathered. */
#include "terms/feature_cache.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

static_assert(KG_MOST_CANDIDATES <= UINT8_MAX, "a byte counts the features of a query");

kg_status kg__feature_cache_open(kg_feature_cache *cache, const kg_features *counted,
                                 size_t range_count, size_t room, kg_error *error) {
    const kg_adjacency *graph = counted->graph;
    cache->counted = counted;
    cache->range_count = range_count;
    atomic_init(&cache->room, room);
    cache->kept = kg__alloc(range_count, sizeof *cache->kept);
    cache->counts = kg__alloc((size_t)graph->starts[graph->entity_count], sizeof *cache->counts);
    if (cache->kept != NULL && cache->counts != NULL)
        return KG_OK;
    kg__feature_cache_close(cache);
    return kg__fail_memory(error);
}

void kg__feature_cache_close(kg_feature_cache *cache) {
    for (size_t i = 0; i < cache->range_count && cache->kept != NULL; i++)
        kg__free(cache->kept[i].list);
    kg__free(cache->kept);
    kg__free(cache->counts);
    cache->kept = NULL;
    cache->counts = NULL;
}

kg_status kg__feature_reader_open(kg_feature_reader *reader, const kg_feature_cache *cache,
                                  kg_error *error) {
    kg__extractor_open(&reader->extractor, cache->counted);
    reader->features = kg__resize(NULL, (size_t)KG_MOST_QUERIES * KG_MOST_CANDIDATES,
                                  sizeof(kg_candidate_features));
    reader->counts = kg__alloc(KG_MOST_QUERIES, sizeof *reader->counts);
    if (reader->features != NULL && reader->counts != NULL)
        return KG_OK;
    kg__feature_reader_close(reader);
    return kg__fail_memory(error);
}

void kg__feature_reader_close(kg_feature_reader *reader) {
    kg__extractor_close(&reader->extractor);
    kg__free(reader->features);
    kg__free(reader->counts);
    *reader = (kg_feature_reader){0};
}

/* Each fact is asked for by the others. */
static kg_status gather(kg_feature_reader *reader, const kg_adjacency *graph,
                        const kg_fact_range *range, size_t *total, kg_error *error) {
    const kg_link *links = kg__adjacency_links(graph, range->entity);
    kg_extractor *extractor = &reader->extractor;
    *total = 0;
    KG_TRY(kg__extractor_load(extractor, range->entity, links,
                              kg__adjacency_degree(graph, range->entity), error));
    for (size_t i = range->from; i < range->to; i++) {
        size_t found = 0;
        if (i == range->from || links[i].directed != links[i - 1].directed)
            kg__extractor_set_query(extractor, links[i].directed);
        KG_TRY(kg__extractor_candidates(extractor, reader->features + *total, KG_MOST_CANDIDATES,
                                        &found, i, error));
        reader->counts[i - range->from] = (uint8_t)found;
        *total += found;
    }
    return KG_OK;
}

static bool take_room(kg_feature_cache *cache, size_t needed) {
    size_t room = atomic_load(&cache->room);
    while (room >= needed)
        if (atomic_compare_exchange_weak(&cache->room, &room, room - needed))
            return true;
    return false;
}

/* Where memory is short they are found again each time. */
static void keep(kg_feature_cache *cache, const kg_feature_reader *reader,
                 const kg_fact_range *range, uint8_t *counts, size_t total) {
    if (!take_room(cache, total))
        return;
    kg_candidate_features *features = kg__resize(NULL, total, sizeof *features);
    if (features == NULL) {
        atomic_fetch_add(&cache->room, total);
        return;
    }
    memcpy(features, reader->features, total * sizeof *features);
    memcpy(counts, reader->counts, range->to - range->from);
    cache->kept[range->number].list = features;
}

kg_status kg__feature_cache_read(kg_feature_cache *cache, kg_feature_reader *reader,
                                 const kg_fact_range *range, const kg_candidate_features **features,
                                 const uint8_t **counts, kg_error *error) {
    const kg_adjacency *graph = cache->counted->graph;
    uint8_t *own = cache->counts + graph->starts[range->entity] + range->from;
    if (cache->kept[range->number].list != NULL) {
        *features = cache->kept[range->number].list;
        *counts = own;
        return KG_OK;
    }
    size_t total = 0;
    KG_TRY(gather(reader, graph, range, &total, error));
    *features = reader->features;
    *counts = reader->counts;
    keep(cache, reader, range, own, total);
    return KG_OK;
}
