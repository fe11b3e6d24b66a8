/* Forward and backward pass of both layers over a whole graph.
 *
 * Entities are taken in tiles, each of which is mixed from its neighbours' rows and then multiplied
 * by the bases at once. Gradients of weights are summed over a fixed number of parts of the graph,
 * and these in order, so the bits do not depend on the number of threads. What a tile mixes is
 * mixed again on the way back: that costs little next to the products, and the memory of all tiles
 * would be several times that of the rows. */
#include "train/rgcn_training.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "math/linalg.h"
#include "math/vector.h"

#define TILE 256 /* entities */
#define PARTS 16 /* of a graph: more than there are likely to be processors */

struct kg_rgcn {
    kg_rgcn_parts parts;
    kg_triple *others;                   /* facts that are not in the batch */
    kg_adjacency graph;                  /* of these, from forward to backward */
    bool has_graph;                      /* if not, that of all facts is encoded */
    real *g_hidden;                      /* gradients: on hidden rows, */
    real *gradients[KG_ENCODER_TENSORS]; /* and on weights; NULL for what is computed */
    kg_arena arena;                      /* what a layer needs */
};

static kg_param *tensor_of(const kg_rgcn *r, size_t which) {
    size_t number = r->parts.tensors[which];
    return number == SIZE_MAX ? NULL : &r->parts.list->items[number];
}

static real *allocate_like(const kg_param *param) {
    return kg__alloc(param->rows, param->columns * sizeof(real));
}

static kg_status open_parts(kg_rgcn *r, kg_error *error) {
    r->others = kg__alloc(r->parts.sampler->options.facts->count, sizeof *r->others);
    r->g_hidden = allocate_like(tensor_of(r, KG_HIDDEN));
    bool good = r->others != NULL && r->g_hidden != NULL;
    for (size_t i = 0; i < KG_ENCODER_TENSORS && good; i++) {
        const kg_param *param = tensor_of(r, i);
        if (param == NULL || param->is_computed)
            continue;
        r->gradients[i] = allocate_like(param);
        good = r->gradients[i] != NULL;
    }
    return good ? kg__linear_set_up(r->parts.threads, error) : kg__fail_memory(error);
}

kg_status kg__rgcn_open(kg_rgcn **out, const kg_rgcn_parts *parts, kg_error *error) {
    kg_rgcn *r = kg__alloc(1, sizeof *r);
    if (r == NULL)
        return kg__fail_memory(error);
    r->parts = *parts;
    kg_status status = open_parts(r, error);
    if (status == KG_OK)
        *out = r;
    else
        kg__rgcn_close(r);
    return status;
}

static void drop_graph(kg_rgcn *r) {
    if (r->has_graph)
        kg__adjacency_free(&r->graph);
    r->has_graph = false;
}

void kg__rgcn_close(kg_rgcn *r) {
    if (r == NULL)
        return;
    drop_graph(r);
    kg__free(r->others);
    kg__free(r->g_hidden);
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++)
        kg__free(r->gradients[i]);
    kg__arena_free(&r->arena);
    kg__free(r);
}

/* ---- A layer, forward ---- */

/* A layer at work. The last three are for the way back. */
struct pass {
    kg_layer layer;
    size_t width;     /* of mixed rows: bases x inputs */
    const real *rows; /* entities x inputs */
    const kg_adjacency *graph;
    size_t tiles; /* of its entities */
    int threads;
    real *scratch; /* threads x (a tile of mixed rows, a row of sums) */
    const real *g; /* entities x outputs: on what the layer gave */
    real *g_mixed; /* entities x width, if the rows' gradients are made of them; or threads x a tile
                    */
    real *shares;  /* links: one over how many its entity has of the directed relation; or NULL */
};

static bool open_pass(struct pass *p, kg_rgcn *r, size_t number) {
    kg_layer layer = kg__encoder_layer(&r->parts.encoder, number);
    const kg_adjacency *graph = r->has_graph ? &r->graph : r->parts.graph;
    *p = (struct pass){
        .layer = layer,
        .width = layer.base_count * layer.inputs,
        .rows = r->parts.encoder.tensors[number == 0 ? KG_FEATURES : KG_HIDDEN],
        .graph = graph,
        .tiles = (graph->entity_count + TILE - 1) / TILE,
        .threads = r->parts.threads,
    };
    kg__arena_reset(&r->arena);
    p->scratch = kg__arena_take(&r->arena, (size_t)p->threads,
                                (TILE * p->width + layer.inputs) * sizeof *p->scratch);
    return p->scratch != NULL;
}

static size_t tile_size(const struct pass *p, size_t tile) {
    size_t left = p->graph->entity_count - tile * TILE;
    return left < TILE ? left : TILE;
}

static real *own_room(const struct pass *p) {
    return p->scratch + (size_t)omp_get_thread_num() * (TILE * p->width + p->layer.inputs);
}

/* Mixes the entities of a tile; with gradients on what they mix, see kg__layer_mix. */
static void mix_tile(const struct pass *p, size_t tile, real *mixed, const real *g_mixed,
                     real *g_mix) {
    for (size_t i = 0; i < tile_size(p, tile); i++) {
        kg_id v = (kg_id)(tile * TILE + i);
        kg__layer_mix(&p->layer, mixed + i * p->width, p->rows, kg__adjacency_links(p->graph, v),
                      kg__adjacency_degree(p->graph, v), mixed + TILE * p->width,
                      g_mixed == NULL ? NULL : g_mixed + i * p->width, g_mix);
    }
}

static void encode_tile(const struct pass *p, real *out, size_t tile) {
    const kg_layer *layer = &p->layer;
    size_t count = tile_size(p, tile);
    real *mixed = own_room(p);
    real *to = out + tile * TILE * layer->outputs;
    mix_tile(p, tile, mixed, NULL, NULL);
    kg__multiply(to, count, layer->outputs, p->width, 1, mixed, KG_AS_IS, layer->bases, KG_AS_IS,
                 0);
    if (layer->self != NULL)
        kg__multiply(to, count, layer->outputs, layer->inputs, 1,
                     p->rows + tile * TILE * layer->inputs, KG_AS_IS, layer->self, KG_AS_IS, 1);
}

static kg_status apply_layer(kg_rgcn *r, real *out, size_t number, kg_error *error) {
    struct pass p;
    if (!open_pass(&p, r, number))
        return kg__fail_memory(error);
#pragma omp parallel for schedule(dynamic) num_threads(p.threads)
    for (size_t tile = 0; tile < p.tiles; tile++)
        encode_tile(&p, out, tile);
    return KG_OK;
}

/* ---- A layer, backward: the weights ---- */

/* Gradients on the weights of a layer, or where those of a part are. */
struct weights {
    real *bases;
    real *self; /* NULL without self-loops */
    real *mix;
};

static void back_through_tile(const struct pass *p, size_t tile, struct weights out) {
    const kg_layer *layer = &p->layer;
    size_t count = tile_size(p, tile);
    size_t outputs = layer->outputs;
    const real *g = p->g + tile * TILE * outputs;
    real *mixed = own_room(p);
    size_t place = p->shares != NULL ? tile : (size_t)omp_get_thread_num();
    real *g_mixed = p->g_mixed + place * TILE * p->width;
    kg__multiply(g_mixed, count, p->width, outputs, 1, g, KG_AS_IS, layer->bases, KG_TRANSPOSED, 0);
    mix_tile(p, tile, mixed, g_mixed, out.mix);
    kg__multiply(out.bases, p->width, outputs, count, 1, mixed, KG_TRANSPOSED, g, KG_AS_IS, 1);
    if (layer->self != NULL)
        kg__multiply(out.self, layer->inputs, outputs, count, 1,
                     p->rows + tile * TILE * layer->inputs, KG_TRANSPOSED, g, KG_AS_IS, 1);
}

/* The sum over parts of `count` numbers, in order; those of parts are `stride` apart. */
static void sum_parts(real *out, const real *partial, size_t stride, size_t count) {
    memset(out, 0, count * sizeof *out);
    for (size_t part = 0; part < PARTS; part++)
        kg__add_scaled(out, 1, partial + part * stride, count);
}

static bool back_to_weights(const struct pass *p, kg_arena *arena, struct weights out) {
    const kg_layer *layer = &p->layer;
    size_t bases = p->width * layer->outputs;
    size_t self = layer->self == NULL ? 0 : layer->inputs * layer->outputs;
    size_t mix = layer->directed_count * layer->base_count;
    size_t stride = bases + self + mix;
    real *partial = kg__arena_take_zeroed(arena, PARTS, stride * sizeof *partial);
    if (partial == NULL)
        return false;
#pragma omp parallel for schedule(dynamic) num_threads(p->threads)
    for (size_t part = 0; part < PARTS; part++) {
        real *own = partial + part * stride;
        for (size_t i = part * p->tiles / PARTS; i < (part + 1) * p->tiles / PARTS; i++)
            back_through_tile(p, i, (struct weights){own, own + bases, own + bases + self});
    }
    sum_parts(out.bases, partial, stride, bases);
    if (self > 0)
        sum_parts(out.self, partial + bases, stride, self);
    sum_parts(out.mix, partial + bases + self, stride, mix);
    return true;
}

/* ---- A layer, backward: the rows ---- */

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

/* Gathers, for an entity, what it gave to those that it is linked to. */
static void back_to_entity(const struct pass *p, real *out, kg_id u) {
    const kg_layer *layer = &p->layer;
    const kg_link *links = kg__adjacency_links(p->graph, u);
    size_t count = kg__adjacency_degree(p->graph, u);
    memset(out, 0, layer->inputs * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        kg_id v = links[i].other;
        kg_link reverse = {links[i].directed ^ 1, u};
        size_t position = kg__links_find(kg__adjacency_links(p->graph, v),
                                         kg__adjacency_degree(p->graph, v), reverse);
        real share = p->shares[p->graph->starts[v] + position];
        const real *mix = layer->mix + reverse.directed * layer->base_count;
        for (size_t b = 0; b < layer->base_count; b++)
            kg__add_scaled(out, share * mix[b], p->g_mixed + v * p->width + b * layer->inputs,
                           layer->inputs);
    }
}

static void back_to_rows(const struct pass *p, real *out) {
    const kg_layer *layer = &p->layer;
    find_shares(p->graph, p->shares);
#pragma omp parallel for schedule(dynamic) num_threads(p->threads)
    for (size_t tile = 0; tile < p->tiles; tile++) {
        size_t count = tile_size(p, tile);
        real *to = out + tile * TILE * layer->inputs;
        for (size_t i = 0; i < count; i++)
            back_to_entity(p, to + i * layer->inputs, (kg_id)(tile * TILE + i));
        if (layer->self != NULL)
            kg__multiply(to, count, layer->inputs, layer->outputs, 1,
                         p->g + tile * TILE * layer->outputs, KG_AS_IS, layer->self, KG_TRANSPOSED,
                         1);
    }
}

/* Sets the gradients on the weights and, unless it is NULL, on the rows, for g on what it gave. */
static kg_status layer_back(kg_rgcn *r, real *g_rows, size_t number, const real *g,
                            kg_error *error) {
    struct pass p;
    real **gradients = r->gradients;
    struct weights out = {gradients[number == 0 ? KG_BASES_1 : KG_BASES_2],
                          gradients[number == 0 ? KG_SELF_1 : KG_SELF_2],
                          gradients[number == 0 ? KG_MIX_1 : KG_MIX_2]};
    bool good = open_pass(&p, r, number);
    p.g = g;
    if (good && g_rows != NULL) {
        p.shares = kg__arena_take(&r->arena, (size_t)p.graph->starts[p.graph->entity_count],
                                  sizeof *p.shares);
        good = p.shares != NULL;
    }
    p.g_mixed = kg__arena_take(&r->arena, (g_rows != NULL ? p.tiles : (size_t)p.threads) * TILE,
                               p.width * sizeof *p.g_mixed);
    if (!good || p.g_mixed == NULL || !back_to_weights(&p, &r->arena, out))
        return kg__fail_memory(error);
    if (g_rows != NULL)
        back_to_rows(&p, g_rows);
    return KG_OK;
}

/* ---- The encoder ---- */

/* The graph without the facts of the batch of `step`. */
static kg_status leave_out_batch(kg_rgcn *r, uint64_t step, kg_error *error) {
    const kg_sampler *sampler = r->parts.sampler;
    size_t batches = sampler->batch_count;
    drop_graph(r);
    if (step == 0 || batches == 1)
        return KG_OK;
    kg_triples others = {.items = r->others};
    others.count =
        kg__triple_sampler_others(sampler, r->others, (step - 1) / batches, (step - 1) % batches);
    KG_TRY(kg__adjacency_make(&r->graph, &others, r->parts.graph->entity_count,
                              KG_WITHOUT_REFLEXIVE, error));
    r->has_graph = true;
    return KG_OK;
}

static void count_facts(const kg_rgcn *r) {
    const kg_adjacency *graph = r->has_graph ? &r->graph : r->parts.graph;
    const kg_param *features = tensor_of(r, KG_FEATURES);
#pragma omp parallel for schedule(dynamic, 64) num_threads(r->parts.threads)
    for (size_t v = 0; v < graph->entity_count; v++)
        kg__encoder_count(features->values + v * features->columns, features->columns,
                          kg__adjacency_links(graph, (kg_id)v),
                          kg__adjacency_degree(graph, (kg_id)v));
}

static kg_status forward(void *payload, uint64_t step, kg_error *error) {
    kg_rgcn *r = payload;
    const kg_param *hidden = tensor_of(r, KG_HIDDEN);
    KG_TRY(leave_out_batch(r, step, error));
    count_facts(r);
    KG_TRY(apply_layer(r, hidden->values, 0, error));
    for (size_t i = 0; i < hidden->rows * hidden->columns; i++)
        hidden->values[i] = hidden->values[i] > 0 ? hidden->values[i] : 0;
    return apply_layer(r, r->parts.list->items[KG_PARAM_ENTITIES].values, 1, error);
}

static kg_status backward(void *payload, const real *g, uint64_t step, kg_error *error) {
    kg_rgcn *r = payload;
    const kg_param *hidden = tensor_of(r, KG_HIDDEN);
    KG_TRY(layer_back(r, r->g_hidden, 1, g, error));
    for (size_t i = 0; i < r->parts.graph->entity_count * hidden->columns; i++)
        r->g_hidden[i] = hidden->values[i] > 0 ? r->g_hidden[i] : 0;
    KG_TRY(layer_back(r, NULL, 0, r->g_hidden, error));
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++)
        if (r->gradients[i] != NULL)
            kg__param_step_dense(tensor_of(r, i), r->gradients[i], r->parts.threads, step);
    return KG_OK;
}

kg_computed kg__rgcn_computed(kg_rgcn *r) {
    return (kg_computed){r, forward, backward};
}
