/* Nodes of kept layers stay in the worker's tables between passes. */
#include "terms/propagation/kept_layers.h"

#include <string.h>

void kg__kept_layers_clear(kg_propagation_worker *w) {
    if (w->kept.links == NULL)
        return;
    for (size_t i = 0; i < w->kept.node_count; i++)
        if (w->entities[i] != KG_NO_ID)
            w->node_of[w->entities[i]] = KG_NO_NODE;
    kg__arena_reset(&w->kept.arena);
    w->kept = (kg_kept_layers){.arena = w->kept.arena};
}

static bool is_same(const kg_kept_layers *kept, const kg_propagation_query *query) {
    return kept->links != NULL && query->is_repeated && kept->entity == query->entity &&
           kept->link_count == query->link_count &&
           memcmp(kept->links, query->links, kept->link_count * sizeof *kept->links) == 0;
}

bool kg__kept_layers_start(kg_propagation_worker *w, const kg_propagation_query *query) {
    kg_kept_layers *kept = &w->kept;
    if (is_same(kept, query))
        return true;
    kg__kept_layers_clear(w);
    if (!query->is_repeated || query->link_count == 0)
        return true;
    kept->links = kg__arena_take(&kept->arena, query->link_count, sizeof *kept->links);
    if (kept->links == NULL)
        return false;
    memcpy(kept->links, query->links, query->link_count * sizeof *kept->links);
    kept->link_count = query->link_count;
    kept->entity = query->entity;
    return true;
}

/* Of the last layer only what is scored is computed. */
bool kg__kept_layers_can_add(const kg_propagation_worker *w, const kg_propagation_pass *pass,
                             size_t number) {
    const kg_propagation_layer *layer = &pass->layers[number];
    return w->kept.links != NULL && number == w->kept.count &&
           layer->source_count == layer->before && number + 1 < pass->model->options.layers;
}

void kg__kept_layers_add(kg_propagation_worker *w, const kg_propagation_pass *pass, size_t layer) {
    kg_kept_layers *kept = &w->kept;
    kept->layers[layer] = pass->layers[layer];
    kept->edge_counts[layer] = pass->edge_count;
    kept->linked = pass->linked;
    kept->node_count = pass->node_count;
    kept->count = layer + 1;
}

bool kg__kept_layers_take(kg_propagation_pass *pass, const kg_propagation_worker *w,
                          size_t number) {
    const kg_kept_layers *kept = &w->kept;
    kg_propagation_layer *layer = &pass->layers[number];
    if (number >= kept->count)
        return false;
    kg_propagation_layer taken = kept->layers[number];
    taken.input = layer->input;
    taken.sources = layer->sources;
    taken.gates = layer->gates;
    taken.gated = layer->gated;
    *layer = taken;
    pass->linked = kept->linked;
    pass->node_count = layer->row_count;
    pass->edge_count = kept->edge_counts[number];
    return true;
}
