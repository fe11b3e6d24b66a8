/* Tiles of entities times bases. */
#include "train/convolve.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "math/linear.h"
#include "math/vector.h"

#define TILE 256 /* entities */
#define PARTS 16 /* of a graph: more than there are likely to be processors */

static size_t count_tiles(const kg_adjacency *graph) {
    return (graph->entity_count + TILE - 1) / TILE;
}

static size_t tile_size(const kg_adjacency *graph, size_t tile) {
    size_t left = graph->entity_count - tile * TILE;
    return left < TILE ? left : TILE;
}

static size_t mixed_width(const kg_layer *layer) {
    return layer->base_count * layer->inputs;
}

static real *allocate(size_t rows, size_t columns) {
    return columns != 0 && rows > SIZE_MAX / columns ? NULL
                                                     : kg__alloc(rows * columns, sizeof(real));
}

/* ---- Forward ---- */

static void mix_entity(const kg_layer *layer, real *mixed, real *sum, const real *rows,
                       const kg_adjacency *graph, kg_id v) {
    const kg_link *links = kg__adjacency_links(graph, v);
    size_t count = kg__adjacency_degree(graph, v);
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        kg__layer_add_up(layer, sum, rows, links + from, to - from);
        kg__layer_mix(layer, mixed, links[from].directed, sum, to - from);
    }
}

/* `room`: a tile of mixed rows, and a row of sums. */
static void convolve_tile(real *out, const kg_layer *layer, const real *rows,
                          const kg_adjacency *graph, size_t tile, real *room) {
    size_t width = mixed_width(layer);
    size_t count = tile_size(graph, tile);
    real *sum = room + TILE * width;
    real *to = out + tile * TILE * layer->outputs;
    memset(room, 0, count * width * sizeof *room);
    for (size_t i = 0; i < count; i++)
        mix_entity(layer, room + i * width, sum, rows, graph, (kg_id)(tile * TILE + i));
    kg__multiply(to, count, layer->outputs, width, 1, room, KG_AS_IS, layer->bases, KG_AS_IS, 0);
    if (layer->self != NULL)
        kg__multiply(to, count, layer->outputs, layer->inputs, 1,
                     rows + tile * TILE * layer->inputs, KG_AS_IS, layer->self, KG_AS_IS, 1);
}

kg_status kg__convolve(real *out, const kg_layer *layer, const real *rows,
                       const kg_adjacency *graph, int threads, kg_error *error) {
    size_t size = TILE * mixed_width(layer) + layer->inputs;
    real *room = allocate((size_t)threads, size);
    if (room == NULL)
        return kg__fail_memory(error);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t tile = 0; tile < count_tiles(graph); tile++)
        convolve_tile(out, layer, rows, graph, tile, room + (size_t)omp_get_thread_num() * size);
    kg__free(room);
    return KG_OK;
}

/* ---- Backward: the weights ---- */

/* Everything that the way back needs. */
struct back {
    const kg_layer *layer;
    const real *rows;
    const real *g;
    const kg_adjacency *graph;
    int threads;
    bool has_all;  /* gradients on what is mixed are kept, since the rows' are made of them */
    real *g_mixed; /* entities x mixed width: these; or else threads x a tile of them */
    real *partial; /* PARTS x (bases, self, mix) */
    real *room;    /* threads x (a tile of mixed rows, a row of sums) */
    real *shares;  /* links: one over how many its entity has of the directed relation */
};

static size_t base_numbers(const struct back *back) {
    return mixed_width(back->layer) * back->layer->outputs;
}

static size_t self_numbers(const struct back *back) {
    return back->layer->self == NULL ? 0 : back->layer->inputs * back->layer->outputs;
}

static size_t mix_numbers(const struct back *back) {
    return back->layer->directed_count * back->layer->base_count;
}

static size_t part_numbers(const struct back *back) {
    return base_numbers(back) + self_numbers(back) + mix_numbers(back);
}

/* Mixes again, and for each group asks how much more of a basis would change the loss. */
static void back_through_entity(const struct back *back, real *mixed, const real *g_mixed,
                                real *sum, real *g_mix, kg_id v) {
    const kg_layer *layer = back->layer;
    const kg_link *links = kg__adjacency_links(back->graph, v);
    size_t count = kg__adjacency_degree(back->graph, v);
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        kg__layer_add_up(layer, sum, back->rows, links + from, to - from);
        kg__layer_mix(layer, mixed, links[from].directed, sum, to - from);
        real *own = g_mix + links[from].directed * layer->base_count;
        for (size_t b = 0; b < layer->base_count; b++)
            own[b] += kg__dot(sum, g_mixed + b * layer->inputs, layer->inputs) / (real)(to - from);
    }
}

static void back_through_tile(const struct back *back, size_t tile, real *partial, real *room,
                              real *g_mixed) {
    const kg_layer *layer = back->layer;
    size_t width = mixed_width(layer);
    size_t count = tile_size(back->graph, tile);
    size_t outputs = layer->outputs;
    const real *g = back->g + tile * TILE * outputs;
    real *g_self = partial + base_numbers(back);
    real *g_mix = g_self + self_numbers(back);
    kg__multiply(g_mixed, count, width, outputs, 1, g, KG_AS_IS, layer->bases, KG_TRANSPOSED, 0);
    memset(room, 0, count * width * sizeof *room);
    for (size_t i = 0; i < count; i++)
        back_through_entity(back, room + i * width, g_mixed + i * width, room + TILE * width, g_mix,
                            (kg_id)(tile * TILE + i));
    kg__multiply(partial, width, outputs, count, 1, room, KG_TRANSPOSED, g, KG_AS_IS, 1);
    if (layer->self != NULL)
        kg__multiply(g_self, layer->inputs, outputs, count, 1,
                     back->rows + tile * TILE * layer->inputs, KG_TRANSPOSED, g, KG_AS_IS, 1);
}

static void back_through_part(const struct back *back, size_t part) {
    size_t width = mixed_width(back->layer);
    size_t tiles = count_tiles(back->graph);
    size_t thread = (size_t)omp_get_thread_num();
    real *room = back->room + thread * (TILE * width + back->layer->inputs);
    for (size_t tile = part * tiles / PARTS; tile < (part + 1) * tiles / PARTS; tile++)
        back_through_tile(back, tile, back->partial + part * part_numbers(back), room,
                          back->g_mixed + (back->has_all ? tile : thread) * TILE * width);
}

/* Sums the parts' numbers from `from` on. */
static void sum_parts(const struct back *back, real *out, size_t from, size_t count) {
    memset(out, 0, count * sizeof *out);
    for (size_t part = 0; part < PARTS; part++)
        kg__add_scaled(out, 1, back->partial + part * part_numbers(back) + from, count);
}

/* ---- Backward: the rows ---- */

static void find_shares(const kg_adjacency *graph, real *shares) {
    for (size_t v = 0; v < graph->entity_count; v++) {
        const kg_link *links = kg__adjacency_links(graph, (kg_id)v);
        size_t count = kg__adjacency_degree(graph, (kg_id)v);
        for (size_t from = 0, to = 0; from < count; from = to) {
            to = kg__group_end(links, count, from);
            for (size_t i = from; i < to; i++)
                shares[graph->starts[v] + i] = 1 / (real)(to - from);
        }
    }
}

/* The share that a link of v has. */
static real find_share(const struct back *back, kg_id v, kg_link link) {
    const kg_link *links = kg__adjacency_links(back->graph, v);
    size_t position = kg__links_find(links, kg__adjacency_degree(back->graph, v), link);
    return back->shares[back->graph->starts[v] + position];
}

/* Gathers, for an entity, what it gave to those that it is linked to. */
static void back_to_entity(const struct back *back, real *out, kg_id u) {
    const kg_layer *layer = back->layer;
    const kg_link *links = kg__adjacency_links(back->graph, u);
    size_t count = kg__adjacency_degree(back->graph, u);
    memset(out, 0, layer->inputs * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        kg_id v = links[i].other;
        kg_link reverse = {links[i].directed ^ 1, u};
        real share = find_share(back, v, reverse);
        const real *mix = layer->mix + reverse.directed * layer->base_count;
        const real *g = back->g_mixed + v * mixed_width(layer);
        for (size_t b = 0; b < layer->base_count; b++)
            kg__add_scaled(out, share * mix[b], g + b * layer->inputs, layer->inputs);
    }
}

static void back_to_tile(const struct back *back, real *out, size_t tile) {
    const kg_layer *layer = back->layer;
    size_t count = tile_size(back->graph, tile);
    real *to = out + tile * TILE * layer->inputs;
    for (size_t i = 0; i < count; i++)
        back_to_entity(back, to + i * layer->inputs, (kg_id)(tile * TILE + i));
    if (layer->self != NULL)
        kg__multiply(to, count, layer->inputs, layer->outputs, 1,
                     back->g + tile * TILE * layer->outputs, KG_AS_IS, layer->self, KG_TRANSPOSED,
                     1);
}

static void go_back(const struct back *back, const kg_layer_gradients *gradients) {
    size_t bases = base_numbers(back);
    size_t self = self_numbers(back);
#pragma omp parallel for schedule(dynamic) num_threads(back->threads)
    for (size_t part = 0; part < PARTS; part++)
        back_through_part(back, part);
    sum_parts(back, gradients->bases, 0, bases);
    if (self > 0)
        sum_parts(back, gradients->self, bases, self);
    sum_parts(back, gradients->mix, bases + self, mix_numbers(back));
    if (!back->has_all)
        return;
    find_shares(back->graph, back->shares);
#pragma omp parallel for schedule(dynamic) num_threads(back->threads)
    for (size_t tile = 0; tile < count_tiles(back->graph); tile++)
        back_to_tile(back, gradients->rows, tile);
}

kg_status kg__convolve_back(const kg_layer_gradients *gradients, const kg_layer *layer,
                            const real *rows, const real *g, const kg_adjacency *graph, int threads,
                            kg_error *error) {
    struct back back = {.layer = layer,
                        .rows = rows,
                        .g = g,
                        .graph = graph,
                        .threads = threads,
                        .has_all = gradients->rows != NULL};
    size_t width = mixed_width(layer);
    size_t tiles = back.has_all ? count_tiles(graph) : (size_t)threads;
    back.g_mixed = allocate(tiles * TILE, width);
    back.shares = allocate((size_t)graph->starts[graph->entity_count], back.has_all ? 1 : 0);
    back.partial = allocate(PARTS, part_numbers(&back));
    back.room = allocate((size_t)threads, TILE * width + layer->inputs);
    bool good =
        back.g_mixed != NULL && back.shares != NULL && back.partial != NULL && back.room != NULL;
    if (good)
        go_back(&back, gradients);
    kg__free(back.g_mixed);
    kg__free(back.shares);
    kg__free(back.partial);
    kg__free(back.room);
    return good ? KG_OK : kg__fail_memory(error);
}
