/* A sorted list of ids, and a short list of the best. */
#define _GNU_SOURCE /* qsort_r */
#include "serve/name_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int compare_bytes(kg_text a, kg_text b) {
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = memcmp(a.bytes, b.bytes, shorter);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_ids(const void *a, const void *b, void *model) {
    return compare_bytes(kg_model_entity_name(model, *(const kg_id *)a),
                         kg_model_entity_name(model, *(const kg_id *)b));
}

kg_status serve_name_index_make(serve_name_index **out, const kg_model *model, int64_t generation,
                                kg_error *error) {
    size_t count = kg__model_own_entities(model);
    serve_name_index *index = kg__alloc(1, sizeof *index);
    kg_id *ids = kg__alloc(count, sizeof *ids);
    if (index == NULL || ids == NULL) {
        kg__free(index);
        kg__free(ids);
        return kg__fail_memory(error);
    }
    for (size_t i = 0; i < count; i++)
        ids[i] = (kg_id)i;
    qsort_r(ids, count, sizeof *ids, compare_ids, (void *)model);
    *index = (serve_name_index){ids, count, generation, 1};
    *out = index;
    return KG_OK;
}

void serve_name_index_free(serve_name_index *index) {
    if (index == NULL)
        return;
    kg__free(index->ids);
    kg__free(index);
}

size_t serve_fact_count(const kg_model *model, kg_id entity) {
    const kg_known_facts *known = &model->known;
    const kg_entity_facts *changed =
        known->overlay == NULL ? NULL : kg__overlay_find(known->overlay, entity);
    if (changed != NULL)
        return changed->known_count;
    if (entity >= known->entity_count || known->starts[entity] > known->starts[entity + 1])
        return 0;
    return (size_t)(known->starts[entity + 1] - known->starts[entity]);
}

static bool has_prefix(kg_text name, kg_text prefix) {
    return name.length >= prefix.length && memcmp(name.bytes, prefix.bytes, prefix.length) == 0;
}

/* The first place in the list whose name does not come before the prefix. */
static size_t lower_bound(const serve_name_index *index, const kg_model *model, kg_text prefix) {
    size_t low = 0;
    size_t high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_bytes(kg_model_entity_name(model, index->ids[middle]), prefix) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The best so far, the best first. */
struct best {
    const kg_model *model;
    serve_completion *items;
    size_t count;
    size_t most;
};

static bool is_better(const struct best *best, serve_completion a, serve_completion b) {
    if (a.facts != b.facts)
        return a.facts > b.facts;
    return compare_bytes(kg_model_entity_name(best->model, a.entity),
                         kg_model_entity_name(best->model, b.entity)) < 0;
}

static void offer(struct best *best, kg_id entity) {
    serve_completion found = {entity, serve_fact_count(best->model, entity)};
    size_t place = best->count;
    if (place == best->most && !is_better(best, found, best->items[place - 1]))
        return;
    best->count += place < best->most;
    place -= place == best->most;
    for (; place > 0 && is_better(best, found, best->items[place - 1]); place--)
        best->items[place] = best->items[place - 1];
    best->items[place] = found;
}

size_t serve_name_index_find(serve_completion *out, size_t most, const serve_name_index *index,
                             const kg_model *model, int64_t generation, kg_text prefix) {
    struct best best = {.model = model, .items = out, .most = most};
    bool has_index = index != NULL && index->generation == generation;
    size_t sorted = has_index ? index->count : 0;
    for (size_t i = has_index ? lower_bound(index, model, prefix) : 0; i < sorted; i++) {
        if (!has_prefix(kg_model_entity_name(model, index->ids[i]), prefix))
            break;
        offer(&best, index->ids[i]);
    }
    for (size_t id = sorted; id < model->entities.count; id++)
        if (has_prefix(kg_model_entity_name(model, (kg_id)id), prefix))
            offer(&best, (kg_id)id);
    return best.count;
}
