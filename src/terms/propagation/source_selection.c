/* Selection by threshold: the keys of logits are counted digit by digit, which takes less than to
 * sort them. */
#include "terms/propagation/source_selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/lanes.h"
#include "terms/propagation/query_links.h"
#include "terms/propagation/select_top.h"

KG_CLONES static void fill_logits(real *restrict out, const real *restrict vectors, size_t count,
                                  const real *restrict gate, real bias, size_t width) {
    for (size_t i = 0; i < count; i++)
        out[i] = bias + kg__dot_lanes(gate, vectors + i * width, width);
}

/* Numbers in the order of what they stand for, whatever the precision. */
static uint32_t sort_key(real value) {
    float single = (float)value;
    uint32_t bits = 0;
    memcpy(&bits, &single, sizeof bits);
    return bits >> 31 != 0 ? ~bits : bits | UINT32_C(1) << 31;
}

#define DIGIT_BITS 11
#define DIGITS (1U << DIGIT_BITS)

/* The key of place `most` from the top; `*above` is how many keys are higher. */
static uint32_t find_threshold(const uint32_t *keys, size_t count, size_t most, size_t *above) {
    uint32_t prefix = 0;
    uint32_t known = 0; /* mask of the bits of prefix */
    *above = 0;
    for (int shift = 32 - DIGIT_BITS; known != UINT32_MAX; shift -= DIGIT_BITS) {
        uint32_t counts[DIGITS] = {0};
        int low = shift < 0 ? 0 : shift;
        for (size_t i = 0; i < count; i++)
            if ((keys[i] & known) == prefix)
                counts[keys[i] >> low & (DIGITS - 1)]++;
        uint32_t digit = DIGITS - 1;
        while (*above + counts[digit] < most)
            *above += counts[digit--];
        prefix |= digit << low;
        known = ~UINT32_C(0) << low;
    }
    return prefix;
}

/* What ties are decided by: the id or, of an entity that came later, whose id depends on when it
 * came, the node, which depends on the graph alone. */
static kg_id tie_order(const kg_propagation_worker *w, size_t node) {
    const kg_overlay *overlay = w->graph->graph->overlay;
    kg_id entity = w->entities[node];
    return overlay == NULL || entity < overlay->first ? entity : (kg_id)(overlay->first + node);
}

/* Of the nodes whose key is the threshold, those with the lowest ids. */
static bool choose_ties(bool *is_chosen, const uint32_t *keys, size_t count, uint32_t threshold,
                        size_t most, kg_propagation_worker *w) {
    kg_selectable *ties = kg__arena_take(&w->scratch, count, sizeof *ties);
    if (ties == NULL)
        return false;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (keys[i] == threshold)
            ties[found++] = (kg_selectable){0, tie_order(w, i), (uint32_t)i};
    found = kg__select_top(ties, found, most);
    for (size_t i = 0; i < found; i++)
        is_chosen[ties[i].number] = true;
    return true;
}

/* The best by logit, ties by id, in the order of nodes. */
static bool choose_best(kg_propagation_layer *layer, const real *logits, size_t most,
                        kg_propagation_worker *w) {
    size_t count = layer->before;
    uint32_t *keys = kg__arena_take(&w->scratch, count, sizeof *keys);
    bool *is_chosen = kg__arena_take(&w->scratch, count, sizeof *is_chosen);
    if (keys == NULL || is_chosen == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        keys[i] = sort_key(logits[i]);
    size_t above = 0;
    uint32_t threshold = find_threshold(keys, count, most, &above);
    for (size_t i = 0; i < count; i++)
        is_chosen[i] = keys[i] > threshold;
    if (!choose_ties(is_chosen, keys, count, threshold, most - above, w))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (is_chosen[i])
            layer->sources[layer->source_count++] = i;
    return true;
}

static int compare_nodes(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Takes sources from the best on, each if its links are not too many for what is left. The queried
 * entity always counts as none, so that its own facts are used. */
static bool cut_sources(kg_propagation_pass *pass, kg_propagation_layer *layer, const real *logits,
                        kg_propagation_worker *w) {
    size_t left = pass->model->options.edges;
    kg_selectable *items = kg__arena_take(&w->scratch, layer->source_count, sizeof *items);
    if (items == NULL)
        return false;
    for (size_t i = 0; i < layer->source_count; i++) {
        uint32_t node = layer->sources[i];
        items[i] = (kg_selectable){(double)logits[node], tie_order(w, node), node};
    }
    size_t count = kg__select_top(items, layer->source_count, layer->source_count);
    layer->source_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t degree =
            items[i].number == 0
                ? 0
                : kg__query_links_other_degree(pass, items[i].number, w->entities[items[i].number]);
        if (degree > left)
            continue;
        left -= degree;
        layer->sources[layer->source_count++] = items[i].number;
    }
    qsort(layer->sources, layer->source_count, sizeof *layer->sources, compare_nodes);
    size_t cut = count - layer->source_count;
    pass->most_cut = cut > pass->most_cut ? cut : pass->most_cut;
    return true;
}

#define AHEAD 12 /* sources */

/* Finds the links of sources, and prefetches where those of the next ones are. */
static void find_links(kg_expansion *out, const kg_propagation_pass *pass,
                       const kg_propagation_layer *layer, const kg_propagation_worker *w) {
    const kg_adjacency *graph = pass->graph->graph;
    out->links = 0;
    for (size_t i = 0; i < layer->source_count; i++) {
        kg_id entity = w->entities[layer->sources[i]];
        kg_source_links links = {pass->own_links, pass->own_count};
        if (graph->overlay == NULL && i + AHEAD < layer->source_count)
            __builtin_prefetch(graph->starts + w->entities[layer->sources[i + AHEAD]]);
        if (layer->sources[i] != 0)
            links = (kg_source_links){kg__adjacency_links(graph, entity),
                                      kg__adjacency_degree(graph, entity)};
        __builtin_prefetch(links.items);
        out->sources[i] = links;
        out->links += links.count;
    }
}

KG_CLONES static void apply_gates(kg_propagation_layer *layer, const real *logits, size_t width) {
    for (size_t i = 0; i < layer->source_count; i++) {
        const real *vector = layer->input + layer->sources[i] * width;
        real gate = 1 / (1 + (real)exp(-(double)logits[layer->sources[i]]));
        layer->gates[i] = gate;
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            layer->gated[i * width + k] = gate * vector[k];
    }
}

/* Nodes that a layer may expand. What is said of a hub depends on more of its links than of others
 * (oFB15k-237, 100,000 queries: validation MRR .4953 instead of .4927). */
static size_t most_sources(const kg_propagation_pass *pass) {
    size_t usual = pass->model->options.sources;
    size_t most = KG_PROPAGATION_HUB_SOURCES * usual;
    size_t links = pass->query.link_count - (pass->query.left_out < pass->query.link_count);
    return links < usual ? usual : links < most ? links : most;
}

bool kg__sources_select(kg_propagation_pass *pass, size_t number, kg_propagation_worker *w,
                        kg_expansion *expansion) {
    const kg_propagation *model = pass->model;
    kg_propagation_layer *layer = &pass->layers[number];
    size_t width = model->options.width;
    size_t most = most_sources(pass);
    most = layer->before < most ? layer->before : most;
    real *logits = kg__arena_take(&w->scratch, layer->before, sizeof *logits);
    layer->sources = kg__arena_take(pass->arena, most, sizeof *layer->sources);
    layer->gates = kg__arena_take(pass->arena, most, sizeof *layer->gates);
    layer->gated = kg__arena_take(pass->arena, most * width, sizeof *layer->gated);
    expansion->sources = kg__arena_take(&w->scratch, most, sizeof *expansion->sources);
    if (logits == NULL || layer->sources == NULL || layer->gates == NULL || layer->gated == NULL ||
        expansion->sources == NULL)
        return false;
    size_t row = number * model->directed_count + pass->query.queried;
    fill_logits(logits, layer->input, layer->before,
                model->tensors[KG_PROPAGATION_GATE] + number * width,
                model->tensors[KG_PROPAGATION_GATE_BIAS][row], width);
    if (most == layer->before)
        for (uint32_t i = 0; i < most; i++)
            layer->sources[layer->source_count++] = i;
    else if (!choose_best(layer, logits, most, w))
        return false;
    find_links(expansion, pass, layer, w);
    if (expansion->links > model->options.edges) {
        if (!cut_sources(pass, layer, logits, w))
            return false;
        find_links(expansion, pass, layer, w);
    }
    apply_gates(layer, logits, width);
    return true;
}
