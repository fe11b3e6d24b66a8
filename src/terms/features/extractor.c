/* Accumulation fact by fact, and the selection of the best candidates. */
#include "terms/features/extractor.h"

#include <math.h>

#include "base/memory.h"
#include "terms/features/feature_table.h"

/* Of path1 in the order of candidates. */
#define PATH1_WEIGHT 10

void kg__extractor_open(kg_extractor *extractor, const kg_features *features) {
    *extractor = (kg_extractor){.features = features, .self = KG_NO_ID};
}

void kg__extractor_close(kg_extractor *extractor) {
    kg__id_map_free(&extractor->adjacent);
    kg__id_map_free(&extractor->candidates);
    kg__id_map_free(&extractor->neighbors);
    kg__free(extractor->adjacent_facts);
    kg__free(extractor->accumulators);
    kg__free(extractor->overlaps);
    kg__free(extractor->selection);
    kg__free(extractor->touched);
    *extractor = (kg_extractor){0};
}

static void reset(kg_extractor *extractor) {
    kg__id_map_clear(&extractor->candidates);
    kg__id_map_clear(&extractor->neighbors);
    extractor->touched_count = 0;
    extractor->is_accumulated = false;
    extractor->is_short_of_memory = false;
}

static bool count_adjacent(kg_extractor *extractor, kg_id other) {
    size_t before = extractor->adjacent.count;
    size_t number = kg__id_map_add(&extractor->adjacent, other);
    uint32_t *grown = number == KG_NOT_MAPPED
                          ? NULL
                          : kg__grow(extractor->adjacent_facts, &extractor->adjacent_capacity,
                                     number + 1, sizeof *grown);
    if (grown == NULL)
        return false;
    extractor->adjacent_facts = grown;
    if (number == before)
        grown[number] = 0;
    grown[number]++;
    return true;
}

kg_status kg__extractor_load(kg_extractor *extractor, kg_id self, const kg_link *links,
                             size_t count, kg_error *error) {
    const kg_adjacency *graph = extractor->features->graph;
    extractor->self = self;
    extractor->links = links;
    extractor->count = count;
    reset(extractor);
    kg__id_map_clear(&extractor->adjacent);
    for (size_t i = 0; self != KG_NO_ID && i < kg__adjacency_degree(graph, self); i++)
        if (!count_adjacent(extractor, kg__adjacency_links(graph, self)[i].other))
            return kg__fail_memory(error);
    return KG_OK;
}

size_t kg__extractor_facts_of(const kg_extractor *extractor, kg_id other) {
    size_t number = kg__id_map_find(&extractor->adjacent, other);
    return kg__adjacency_degree(extractor->features->graph, other) -
           (number == KG_NOT_MAPPED ? 0 : extractor->adjacent_facts[number]);
}

void kg__extractor_set_query(kg_extractor *extractor, kg_directed query) {
    extractor->query = query;
    reset(extractor);
}

kg_accumulator *kg__extractor_accumulator(kg_extractor *extractor, kg_id entity) {
    size_t before = extractor->candidates.count;
    size_t number = kg__id_map_add(&extractor->candidates, entity);
    kg_accumulator *accumulators =
        number == KG_NOT_MAPPED
            ? NULL
            : kg__grow(extractor->accumulators, &extractor->accumulator_capacity, number + 1,
                       sizeof *accumulators);
    if (accumulators == NULL) {
        extractor->is_short_of_memory = true;
        return NULL;
    }
    extractor->accumulators = accumulators;
    if (number == before)
        accumulators[number] = (kg_accumulator){.best_fact = KG_NO_FACT};
    return &accumulators[number];
}

/* ---- Accumulation ---- */

static void accumulate(kg_extractor *extractor, size_t fact, int sign) {
    void (*last)(kg_extractor *, size_t, int) = NULL;
    for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++) {
        void (*own)(kg_extractor *, size_t, int) = kg__feature_rows[k].accumulate;
        if (own != last && kg__feature_set_has(extractor->features->enabled, k)) {
            own(extractor, fact, sign);
            last = own;
        }
    }
}

static void finish(kg_extractor *extractor) {
    for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++)
        if (kg__feature_rows[k].finish != NULL &&
            kg__feature_set_has(extractor->features->enabled, k))
            kg__feature_rows[k].finish(extractor);
}

/* All facts but one; after the first time only the difference. */
static void accumulate_all_but(kg_extractor *extractor, size_t left_out) {
    if (!extractor->is_accumulated) {
        for (size_t i = 0; i < extractor->count; i++)
            if (i != left_out)
                accumulate(extractor, i, 1);
    } else if (extractor->left_out != left_out) {
        if (extractor->left_out < extractor->count)
            accumulate(extractor, extractor->left_out, 1);
        if (left_out < extractor->count)
            accumulate(extractor, left_out, -1);
    }
    extractor->is_accumulated = true;
    extractor->left_out = left_out;
}

/* ---- Candidates ---- */

double kg__extractor_phi(const kg_extractor *extractor, size_t candidate, kg_feature feature) {
    if (!kg__feature_set_has(extractor->features->enabled, feature))
        return 0;
    return kg__feature_rows[feature].phi(extractor, &extractor->accumulators[candidate], feature);
}

static bool is_known(const kg_extractor *extractor, kg_id entity) {
    kg_link answer = {extractor->query, entity};
    size_t found = kg__links_find(extractor->links, extractor->count, answer);
    return found < extractor->count && found != extractor->left_out;
}

static bool is_candidate(const kg_extractor *extractor, size_t number) {
    const kg_accumulator *sums = &extractor->accumulators[number];
    kg_id entity = extractor->candidates.ids[number];
    return (sums->support > 0 || sums->vote > 0) && !is_known(extractor, entity);
}

/* Sums of paths are added as integers, the other features behind them. */
static double order_of(const kg_extractor *extractor, size_t number) {
    const int64_t *paths = extractor->accumulators[number].paths;
    double order = (double)(PATH1_WEIGHT * paths[0] + paths[1] + paths[2] + paths[3]) * 0x1p-32;
    for (kg_feature k = KG_PATH4 + 1; k < KG_EXTRACTED_COUNT; k++)
        order += kg__extractor_phi(extractor, number, k);
    return order;
}

static bool list_candidates(kg_extractor *extractor, size_t *count) {
    *count = 0;
    kg_selectable *items = kg__grow(extractor->selection, &extractor->selection_capacity,
                                    extractor->candidates.count, sizeof *items);
    if (items == NULL)
        return false;
    extractor->selection = items;
    for (size_t i = 0; i < extractor->candidates.count; i++)
        if (is_candidate(extractor, i))
            items[(*count)++] =
                (kg_selectable){order_of(extractor, i), extractor->candidates.ids[i], (uint32_t)i};
    return true;
}

static uint16_t round_feature(double phi) {
    double feature = log1p(phi / KG_FEATURE_FLOOR) / (double)KG_FEATURE_UNIT;
    return (uint16_t)lround(fmin(feature, UINT16_MAX));
}

kg_status kg__extractor_candidates(kg_extractor *extractor, kg_candidate_features *out, size_t most,
                                   size_t *found, size_t left_out, kg_error *error) {
    size_t count = 0;
    accumulate_all_but(extractor, left_out);
    finish(extractor);
    if (extractor->is_short_of_memory || !list_candidates(extractor, &count)) {
        reset(extractor);
        return kg__fail_memory(error);
    }
    *found = kg__select_top(extractor->selection, count, most);
    for (size_t i = 0; i < *found; i++) {
        out[i].entity = extractor->selection[i].id;
        for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++)
            out[i].features[k] =
                round_feature(kg__extractor_phi(extractor, extractor->selection[i].number, k));
    }
    return KG_OK;
}
