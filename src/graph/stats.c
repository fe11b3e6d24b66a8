/* Counting facts per entity, and entities per count. */
#include "graph/stats.h"

#include "base/memory.h"

uint64_t kg__histogram_total(const kg_histogram *histogram) {
    uint64_t total = 0;
    for (size_t k = 0; k < histogram->size; k++)
        total += histogram->counts[k];
    return total;
}

double kg__histogram_mean(const kg_histogram *histogram) {
    double sum = 0;
    for (size_t k = 0; k < histogram->size; k++)
        sum += (double)k * (double)histogram->counts[k];
    uint64_t total = kg__histogram_total(histogram);
    return total == 0 ? 0 : sum / (double)total;
}

size_t kg__histogram_quantile(const kg_histogram *histogram, double share) {
    double wanted = share * (double)kg__histogram_total(histogram);
    uint64_t seen = 0;
    for (size_t k = 0; k < histogram->size; k++) {
        seen += histogram->counts[k];
        if (seen > 0 && (double)seen >= wanted)
            return k;
    }
    return 0;
}

/* Facts of a part that each entity with an id from `from` up to `to` is in. */
static uint32_t *count_facts(const kg_triples *facts, size_t from, size_t to) {
    uint32_t *counts = kg__alloc(to - from, sizeof *counts);
    if (counts == NULL)
        return NULL;
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        if (fact.head >= from && fact.head < to)
            counts[fact.head - from]++;
        if (fact.tail != fact.head && fact.tail >= from && fact.tail < to)
            counts[fact.tail - from]++;
    }
    return counts;
}

static bool open_histogram(kg_histogram *out, const uint32_t *values, size_t count) {
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = values[i] > largest ? values[i] : largest;
    out->counts = kg__alloc((size_t)largest + 1, sizeof *out->counts);
    out->size = out->counts == NULL ? 0 : (size_t)largest + 1;
    return out->counts != NULL;
}

static kg_status make_degrees(kg_histogram *out, const kg_triples *facts, size_t entities,
                              kg_error *error) {
    uint32_t *degrees = count_facts(facts, 0, entities);
    if (degrees == NULL || !open_histogram(out, degrees, entities)) {
        kg__free(degrees);
        return kg__fail_memory(error);
    }
    for (size_t i = 0; i < entities; i++)
        out->counts[degrees[i]]++;
    kg__free(degrees);
    return KG_OK;
}

/* An entity with N facts has N queries, each with N - 1 facts left. */
static kg_status make_queries(kg_histogram *out, const kg_dataset *dataset, kg_part part,
                              kg_error *error) {
    size_t from = dataset->entities_before[part];
    size_t to = dataset->entities_before[part + 1];
    uint32_t *counts = count_facts(&dataset->parts[part], from, to);
    if (counts == NULL || !open_histogram(out, counts, to - from)) {
        kg__free(counts);
        return kg__fail_memory(error);
    }
    for (size_t i = 0; i < to - from; i++)
        out->counts[counts[i] - 1] += counts[i];
    kg__free(counts);
    return KG_OK;
}

kg_status kg__stats_make(kg_stats *out, const kg_dataset *dataset, kg_error *error) {
    *out = (kg_stats){0};
    kg_status status = KG_OK;
    KG_CHECK(make_degrees(&out->degrees, &dataset->parts[KG_TRAIN], kg__dataset_in_sample(dataset),
                          error));
    KG_CHECK(make_queries(&out->queries_valid, dataset, KG_UNSEEN_VALID, error));
    KG_CHECK(make_queries(&out->queries_test, dataset, KG_UNSEEN_TEST, error));
    KG_CHECK(make_degrees(&out->graph_degrees, &dataset->parts[KG_GRAPH],
                          dataset->graph_entities.count, error));
done:
    if (status != KG_OK)
        kg__stats_free(out);
    return status;
}

void kg__stats_free(kg_stats *stats) {
    kg__free(stats->degrees.counts);
    kg__free(stats->queries_valid.counts);
    kg__free(stats->queries_test.counts);
    kg__free(stats->graph_degrees.counts);
    *stats = (kg_stats){0};
}
