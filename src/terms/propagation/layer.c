/* Sets of messages and rows are computed in blocks that stay in the cache. What is needed of them
 * in the backward pass is computed again, for those that have gradients. */
#include "terms/propagation/layer.h"

#include <math.h>
#include <string.h>

#include "math/tile_product.h"
#include "math/vector.h"
#include "terms/propagation/messages.h"
#include "terms/propagation/pooling.h"
#include "terms/propagation/query_links.h"

#define COLUMNS KG_LANES
#define BLOCK 64       /* rows */
#define USUAL_WIDTH 32 /* has code of its own */

/* A layer, and what computing its rows takes. */
struct layer {
    const kg_propagation_pass *pass;
    const kg_propagation_layer *layer;
    size_t number;
    size_t width;
    size_t pooled_width; /* numbers of what is pooled */
    const real *update;  /* (width + pooled_width) x width */
    const real *bias;
    kg_profiles *profiles; /* of nodes that are reached first; NULL: they have none */
    kg_arena *scratch;
};

static struct layer layer_of(const kg_propagation_pass *pass, size_t number,
                             kg_propagation_worker *w) {
    const kg_propagation_options *o = &pass->model->options;
    size_t pooled_width = kg__propagation_poolings(o) * o->width;
    return (struct layer){
        .pass = pass,
        .layer = &pass->layers[number],
        .number = number,
        .width = o->width,
        .pooled_width = pooled_width,
        .update = pass->model->tensors[KG_PROPAGATION_UPDATE] +
                  number * (o->width + pooled_width) * o->width,
        .bias = pass->model->tensors[KG_PROPAGATION_UPDATE_BIAS] + number * o->width,
        .profiles = o->profiles != 0 ? &w->node_profiles : NULL,
        .scratch = &w->scratch,
    };
}

/* ---- Sets ---- */

/* Some sets, and what is pooled of them, in each way count x width. */
struct set_block {
    kg_pooled_sets sets;
    uint32_t numbers[BLOCK];
    real *pooled;
};

static bool open_set_block(struct set_block *block, const struct layer *l) {
    block->sets = (kg_pooled_sets){.layer = l->layer,
                                   .sets = block->numbers,
                                   .pooling = l->pass->model->options.pooling,
                                   .width = l->width};
    block->pooled = kg__arena_take(l->scratch, BLOCK * l->pooled_width, sizeof *block->pooled);
    return block->pooled != NULL;
}

/* What is pooled in one of the ways that are on, and its part of the update. */
struct way {
    bool is_share;
    bool is_first; /* of those that are summed with it */
    size_t pooled; /* from what is pooled in the first way to what is in this */
    size_t update; /* from the update to its part, width x width */
};

static struct way way_of(const struct set_block *block, size_t number) {
    unsigned pooling = block->sets.pooling;
    size_t width = block->sets.width;
    for (size_t i = 0; i < number; i++)
        pooling &= pooling - 1; /* without the lowest */
    unsigned own = pooling & -pooling;
    bool is_share = own == KG_POOL_SHARE;
    return (struct way){
        is_share, is_share || (block->sets.pooling & (own - 1) & ~(unsigned)KG_POOL_SHARE) == 0,
        number * block->sets.count * width, (1 + number) * width * width};
}

/* The empty set has no updates, and none has any if all that is pooled is shares. */
static void clear_unset(kg_propagation_layer *layer, const struct layer *l) {
    bool has_any = (l->pass->model->options.pooling & ~(unsigned)KG_POOL_SHARE) != 0;
    memset(layer->updates, 0, (has_any ? 1 : layer->set_count) * l->width * sizeof(real));
    if (layer->share_sums != NULL)
        memset(layer->share_sums, 0, l->width * sizeof(real));
}

static bool update_sets(kg_propagation_layer *layer, const struct layer *l) {
    struct set_block block;
    size_t width = l->width;
    size_t size = layer->set_count * width;
    bool has_shares = layer->shares != NULL;
    layer->updates = kg__arena_take(l->pass->arena, size, sizeof *layer->updates);
    layer->share_sums =
        has_shares ? kg__arena_take(l->pass->arena, size, sizeof *layer->share_sums) : NULL;
    if (layer->updates == NULL || (has_shares && layer->share_sums == NULL) ||
        !open_set_block(&block, l))
        return false;
    clear_unset(layer, l);
    for (size_t from = 1; from < layer->set_count; from += BLOCK) {
        size_t count = layer->set_count - from < BLOCK ? layer->set_count - from : BLOCK;
        for (size_t i = 0; i < count; i++)
            block.numbers[i] = (uint32_t)(from + i);
        block.sets.count = count;
        kg__pool(block.pooled, &block.sets);
        for (size_t i = 0; i < l->pooled_width / width; i++) {
            struct way way = way_of(&block, i);
            real *to = (way.is_share ? layer->share_sums : layer->updates) + from * width;
            const real *pooled = block.pooled + way.pooled;
            if (way.is_first)
                kg__tile_product(to, NULL, pooled, l->update + way.update, count, width, width);
            else
                kg__tile_product_add(to, pooled, l->update + way.update, count, width, width);
        }
    }
    return true;
}

/* ---- Rows ---- */

/* Some rows, in increasing order, and what they are computed from. */
struct block {
    size_t count;
    uint32_t rows[BLOCK];
    size_t old_count;  /* the first were nodes before */
    const real *old;   /* their vectors, */
    real *gathered;    /* and memory for these */
    real *normal;      /* count x width: normalised, before the relu */
    real scale[BLOCK]; /* what normalising multiplied with */
};

static bool open_block(struct block *block, const struct layer *l) {
    block->gathered = kg__arena_take(l->scratch, BLOCK * l->width, sizeof *block->gathered);
    block->normal = kg__arena_take(l->scratch, BLOCK * l->width, sizeof *block->normal);
    return block->gathered != NULL && block->normal != NULL;
}

static uint32_t node_of(const kg_propagation_layer *layer, uint32_t row) {
    return layer->nodes == NULL ? row : layer->nodes[row];
}

/* Rows that were no nodes before: the bias, and their profiles. */
KG_CLONES static void start_new(struct block *block, const struct layer *l) {
    const real *restrict bias = l->bias;
    size_t width = l->width;
    for (size_t i = block->old_count; i < block->count; i++) {
        uint32_t node = node_of(l->layer, block->rows[i]);
        kg_id entity = l->pass->nodes[node];
        real *restrict x = KG_ALIGNED(block->normal + i * width);
        const real *restrict profile = KG_ALIGNED(
            kg__profiles_of(l->profiles, entity, kg__query_links_of(l->pass, node, entity)));
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            x[k] = bias[k] + profile[k];
    }
}

/* Prefetches profiles of the rows of a block from row `from` on. */
static void fetch_profiles(const struct layer *l, size_t from) {
    const kg_propagation_layer *layer = l->layer;
    size_t end = layer->row_count < from + BLOCK ? layer->row_count : from + BLOCK;
    for (size_t i = from > layer->old_count ? from : layer->old_count; i < end; i++)
        kg__profiles_fetch(l->profiles, l->pass->nodes[node_of(layer, (uint32_t)i)]);
}

/* Adds the update of a row's set, and normalises it: without mean, to a variance of 1. Returns what
 * it was multiplied with. */
KG_INLINED real normalise(real *restrict x, const kg_propagation_layer *layer, uint32_t row,
                          size_t width) {
    size_t set = layer->row_sets[row] * width;
    const real *restrict update = KG_ALIGNED(layer->updates + set);
    real sums[COLUMNS] = {0};
    real squares[COLUMNS] = {0};
    x = KG_ALIGNED(x);
    if (layer->shares != NULL) {
        const real *restrict sum = KG_ALIGNED(layer->share_sums + set);
        real share = layer->shares[row];
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            x[k] = x[k] + update[k] + share * sum[k];
    } else {
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            x[k] += update[k];
    }
    for (size_t i = 0; i < width; i += COLUMNS)
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++) {
            sums[k] += x[i + k];
            squares[k] += x[i + k] * x[i + k];
        }
    real each = 1 / (real)width;
    real mean = each * kg__sum_lanes(sums);
    real variance = each * kg__sum_lanes(squares) - mean * mean;
    real scale = 1 / KG_SQRT((variance > 0 ? variance : 0) + KG_PROPAGATION_SMALL);
#pragma omp simd
    for (size_t k = 0; k < width; k++)
        x[k] = scale * (x[k] - mean);
    return scale;
}

/* to = the relu of what was normalised, plus the vector before, which may be NULL. */
KG_INLINED void apply_relu(real *restrict to, const real *restrict x, const real *restrict old,
                           size_t width) {
    to = KG_ALIGNED(to);
    x = KG_ALIGNED(x);
    if (old == NULL) {
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            to[k] = x[k] > 0 ? x[k] : 0;
        return;
    }
    old = KG_ALIGNED(old);
#pragma omp simd
    for (size_t k = 0; k < width; k++)
        to[k] = old[k] + (x[k] > 0 ? x[k] : 0);
}

KG_INLINED void finish_rows(struct block *block, const kg_propagation_layer *layer, real *out,
                            size_t width) {
    for (size_t i = 0; i < block->count; i++) {
        real *x = block->normal + i * width;
        block->scale[i] = normalise(x, layer, block->rows[i], width);
        if (out != NULL)
            apply_relu(out + i * width, x, i < block->old_count ? block->old + i * width : NULL,
                       width);
    }
}

/* From what rows start with to what is normalised, and to outputs if `out` is not NULL. A row of
 * the usual width stays in registers. */
KG_CLONES static void finish_block(struct block *block, const kg_propagation_layer *layer,
                                   real *out, size_t width) {
    if (width == USUAL_WIDTH)
        finish_rows(block, layer, out, USUAL_WIDTH);
    else
        finish_rows(block, layer, out, width);
}

/* Finds the vectors of rows that were nodes before. Those of a whole layer are in place, but of the
 * first, whose input is a row of a tensor, which need not start at a cache line. */
static void find_old(struct block *block, const struct layer *l, bool is_whole) {
    const kg_propagation_layer *layer = l->layer;
    size_t width = l->width;
    block->old_count = 0;
    while (block->old_count < block->count && block->rows[block->old_count] < layer->old_count)
        block->old_count++;
    block->old = is_whole ? layer->input + block->rows[0] * width : block->gathered;
    for (size_t i = 0; i < block->old_count && !is_whole; i++)
        memcpy(block->gathered + i * width, layer->input + node_of(layer, block->rows[i]) * width,
               width * sizeof *block->gathered);
}

/* Computes the rows of a block, which has their numbers. */
static void fill_block(struct block *block, const struct layer *l, bool is_whole, real *out) {
    size_t width = l->width;
    find_old(block, l, is_whole);
    if (l->profiles != NULL)
        start_new(block, l);
    else
        for (size_t i = block->old_count; i < block->count; i++)
            memcpy(block->normal + i * width, l->bias, width * sizeof *l->bias);
    kg__tile_product(block->normal, l->bias, block->old, l->update, block->old_count, width, width);
    finish_block(block, l->layer, out, width);
}

kg_status kg__layer_forward(kg_propagation_pass *pass, size_t number, kg_propagation_worker *w,
                            kg_error *error) {
    kg_propagation_layer *layer = &pass->layers[number];
    struct layer l = layer_of(pass, number, w);
    struct block block;
    bool is_whole = number > 0 && layer->nodes == NULL;
    layer->output = kg__arena_take(pass->arena, layer->row_count * l.width, sizeof *layer->output);
    if (layer->output == NULL || !open_block(&block, &l) ||
        !kg__messages_make(pass, number, l.scratch) || !update_sets(layer, &l))
        return kg__fail_memory(error);
    for (size_t from = 0; from < layer->row_count; from += BLOCK) {
        if (l.profiles != NULL)
            fetch_profiles(&l, from + BLOCK);
        block.count = layer->row_count - from < BLOCK ? layer->row_count - from : BLOCK;
        for (size_t i = 0; i < block.count; i++)
            block.rows[i] = (uint32_t)(from + i);
        fill_block(&block, &l, is_whole, layer->output + from * l.width);
    }
    return KG_OK;
}

/* ---- Backward ---- */

/* The backward pass of a layer, in scratch memory. */
struct layer_backward {
    struct layer l;
    kg_grads *grads;
    kg_error *error;
    kg_row_gradients given; /* on outputs */
    real *on_old;           /* of those that were nodes before, the first: on their vectors */
    real *transposed;       /* each part of the update's matrix */
    real *on_updates;       /* set_count x width, */
    real *on_share_sums;    /* likewise, NULL if rows have no shares, */
    bool *is_set;           /* and which have gradients */
    kg_message_gradients on;
    kg_profile_gradients on_profiles; /* if nodes have profiles */
    kg_row_gradients next;            /* on inputs; rows are nodes */
    uint32_t *next_of;                /* of each node before: its place in next, or UINT32_MAX */
};

static kg_status sum_of(struct layer_backward *b, real **out, kg_propagation_tensor tensor,
                        size_t row) {
    return kg__grads_sum(b->grads, out, b->l.pass->model->params[tensor], row, b->error);
}

static bool open_backward(struct layer_backward *b) {
    const struct layer *l = &b->l;
    size_t sets = l->layer->set_count;
    bool has_shares = l->layer->shares != NULL;
    b->on_old = kg__arena_take(l->scratch, b->given.count * l->width, sizeof *b->on_old);
    b->transposed =
        kg__arena_take(l->scratch, (l->width + l->pooled_width) * l->width, sizeof *b->transposed);
    b->on_updates = kg__arena_take(l->scratch, sets * l->width, sizeof *b->on_updates);
    b->on_share_sums =
        has_shares ? kg__arena_take(l->scratch, sets * l->width, sizeof *b->on_share_sums) : NULL;
    b->is_set = kg__arena_take_zeroed(l->scratch, sets, sizeof *b->is_set);
    if (b->on_old == NULL || b->transposed == NULL || b->on_updates == NULL ||
        (has_shares && b->on_share_sums == NULL) || b->is_set == NULL ||
        (l->profiles != NULL &&
         !kg__profile_gradients_open(&b->on_profiles, l->profiles, l->scratch)) ||
        !kg__message_gradients_open(&b->on, l->pass, l->number, l->scratch))
        return false;
    for (size_t from = 0; from < (l->width + l->pooled_width) * l->width;
         from += l->width * l->width)
        kg__transpose(b->transposed + from, l->update + from, l->width);
    return true;
}

/* From gradients on outputs (count x width) to those on what is normalised. */
KG_CLONES static void normalise_backward(real *out, const real *given, const struct block *block,
                                         size_t width) {
    real each = 1 / (real)width;
    for (size_t i = 0; i < block->count; i++) {
        const real *restrict x = KG_ALIGNED(block->normal + i * width);
        const real *restrict g = KG_ALIGNED(given + i * width);
        real *restrict to = KG_ALIGNED(out + i * width);
        real sums[COLUMNS] = {0};
        real slopes[COLUMNS] = {0};
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            to[k] = x[k] > 0 ? g[k] : 0;
        for (size_t j = 0; j < width; j += COLUMNS)
#pragma omp simd
            for (size_t k = 0; k < COLUMNS; k++) {
                sums[k] += to[j + k];
                slopes[k] += to[j + k] * x[j + k];
            }
        real mean = each * kg__sum_lanes(sums);
        real slope = each * kg__sum_lanes(slopes);
        real scale = block->scale[i];
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            to[k] = scale * (to[k] - mean - slope * x[k]);
    }
}

static void profiles_backward(struct layer_backward *b, const struct block *block,
                              const real *on_sums) {
    const struct layer *l = &b->l;
    for (size_t i = block->old_count; i < block->count; i++) {
        uint32_t node = node_of(l->layer, block->rows[i]);
        kg_id entity = l->pass->nodes[node];
        kg__profiles_backward(b->on_profiles, l->profiles, entity,
                              kg__query_links_of(l->pass, node, entity), on_sums + i * l->width);
    }
}

KG_INLINED void add_gradient(real *restrict to, bool is_first, real factor, const real *restrict g,
                             size_t width) {
#pragma omp simd
    for (size_t k = 0; k < width; k++)
        to[k] = factor * g[k] + (is_first ? 0 : to[k]);
}

/* Adds gradients on what was normalised to those on the updates of the rows' sets. */
KG_CLONES static void add_on_updates(struct layer_backward *b, const struct block *block,
                                     const real *on_sums) {
    const kg_propagation_layer *layer = b->l.layer;
    size_t width = b->l.width;
    for (size_t i = 0; i < block->count; i++) {
        size_t set = layer->row_sets[block->rows[i]];
        const real *g = on_sums + i * width;
        add_gradient(b->on_updates + set * width, !b->is_set[set], 1, g, width);
        if (layer->shares != NULL)
            add_gradient(b->on_share_sums + set * width, !b->is_set[set],
                         layer->shares[block->rows[i]], g, width);
        b->is_set[set] = true;
    }
}

/* Rows `from` on of those given: adds to gradients on the update and on sets. */
static kg_status block_backward(struct layer_backward *b, struct block *block, size_t from,
                                real *on_sums) {
    const struct layer *l = &b->l;
    size_t width = l->width;
    real *sum = NULL;
    block->count = b->given.count - from < BLOCK ? b->given.count - from : BLOCK;
    memcpy(block->rows, b->given.rows + from, block->count * sizeof *block->rows);
    fill_block(block, l, false, NULL);
    normalise_backward(on_sums, b->given.vectors + from * width, block, width);
    KG_TRY(sum_of(b, &sum, KG_PROPAGATION_UPDATE_BIAS, l->number));
    kg__add_up(sum, on_sums, block->count, width);
    KG_TRY(sum_of(b, &sum, KG_PROPAGATION_UPDATE, l->number));
    kg__tile_product_transposed(sum, block->old, on_sums, width, width, block->old_count);
    kg__tile_product(b->on_old + from * width, NULL, on_sums, b->transposed, block->old_count,
                     width, width);
    if (l->profiles != NULL)
        profiles_backward(b, block, on_sums);
    add_on_updates(b, block, on_sums);
    return KG_OK;
}

static kg_status blocks_backward(struct layer_backward *b) {
    const struct layer *l = &b->l;
    struct block block;
    real *on_sums = kg__arena_take(l->scratch, BLOCK * l->width, sizeof *on_sums);
    if (on_sums == NULL || !open_block(&block, l))
        return kg__fail_memory(b->error);
    for (size_t from = 0; from < b->given.count; from += BLOCK)
        KG_TRY(block_backward(b, &block, from, on_sums));
    return KG_OK;
}

/* Gradients on what is pooled of some sets. */
struct on_set_block {
    real *updates; /* on what the update makes of them: BLOCK x width, */
    real *share_sums;
    real *pooled; /* and on what is pooled */
};

/* Adds to gradients on the update and on messages. */
static kg_status set_block_backward(struct layer_backward *b, const struct set_block *block,
                                    struct on_set_block on) {
    const struct layer *l = &b->l;
    size_t width = l->width;
    size_t count = block->sets.count;
    real *sum = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t from = block->numbers[i] * width;
        memcpy(on.updates + i * width, b->on_updates + from, width * sizeof *on.updates);
        if (b->on_share_sums != NULL)
            memcpy(on.share_sums + i * width, b->on_share_sums + from, width * sizeof *on.updates);
    }
    kg__pool(block->pooled, &block->sets);
    KG_TRY(sum_of(b, &sum, KG_PROPAGATION_UPDATE, l->number));
    for (size_t i = 0; i < l->pooled_width / width; i++) {
        struct way way = way_of(block, i);
        const real *g = way.is_share ? on.share_sums : on.updates;
        kg__tile_product_transposed(sum + way.update, block->pooled + way.pooled, g, width, width,
                                    count);
        kg__tile_product(on.pooled + way.pooled, NULL, g, b->transposed + way.update, count, width,
                         width);
    }
    kg__pool_backward(b->on.on_messages, b->on.is_used, on.pooled, block->pooled, &block->sets);
    return KG_OK;
}

static kg_status sets_backward(struct layer_backward *b) {
    const struct layer *l = &b->l;
    struct set_block block;
    struct on_set_block on = {
        kg__arena_take(l->scratch, BLOCK * l->width, sizeof *on.updates),
        kg__arena_take(l->scratch, BLOCK * l->width, sizeof *on.share_sums),
        kg__arena_take(l->scratch, BLOCK * l->pooled_width, sizeof *on.pooled),
    };
    if (on.updates == NULL || on.share_sums == NULL || on.pooled == NULL ||
        !open_set_block(&block, l))
        return kg__fail_memory(b->error);
    for (uint32_t set = 1; set < l->layer->set_count; set++) {
        if (b->is_set[set])
            block.numbers[block.sets.count++] = set;
        if (block.sets.count < BLOCK && set + 1 < l->layer->set_count)
            continue;
        KG_TRY(set_block_backward(b, &block, on));
        block.sets.count = 0;
    }
    return KG_OK;
}

/* Nodes that get gradients: rows with gradients that were nodes before, and some sources. */
static bool find_next(struct layer_backward *b) {
    const kg_propagation_layer *layer = b->l.layer;
    kg_arena *scratch = b->l.scratch;
    b->next_of = kg__arena_take(scratch, layer->before, sizeof *b->next_of);
    b->next.rows = kg__arena_take(scratch, layer->before, sizeof *b->next.rows);
    if (b->next_of == NULL || b->next.rows == NULL)
        return false;
    memset(b->next_of, 0xff, layer->before * sizeof *b->next_of);
    for (size_t i = 0; i < b->given.count && b->given.rows[i] < layer->old_count; i++)
        b->next_of[node_of(layer, b->given.rows[i])] = 0;
    for (size_t i = 0; i < layer->source_count; i++)
        if (b->on.is_source[i])
            b->next_of[layer->sources[i]] = 0;
    for (uint32_t i = 0; i < layer->before; i++)
        if (b->next_of[i] == 0) {
            b->next_of[i] = (uint32_t)b->next.count;
            b->next.rows[b->next.count++] = i;
        }
    b->next.vectors =
        kg__arena_take_zeroed(scratch, b->next.count * b->l.width, sizeof *b->next.vectors);
    return b->next.vectors != NULL;
}

/* Those of rows that were nodes before: what the output passes on, and the update. */
static void add_old(struct layer_backward *b) {
    const kg_propagation_layer *layer = b->l.layer;
    size_t width = b->l.width;
    for (size_t i = 0; i < b->given.count && b->given.rows[i] < layer->old_count; i++) {
        real *to = b->next.vectors + b->next_of[node_of(layer, b->given.rows[i])] * width;
        memcpy(to, b->given.vectors + i * width, width * sizeof *to);
        kg__add_scaled(to, 1, b->on_old + i * width, width);
    }
}

/* From gradients on gated vectors to those on the gate and on sources. */
static kg_status gates_backward(struct layer_backward *b) {
    const kg_propagation *model = b->l.pass->model;
    const kg_propagation_layer *layer = b->l.layer;
    size_t width = b->l.width;
    const real *gate = model->tensors[KG_PROPAGATION_GATE] + b->l.number * width;
    real *on_gate = NULL;
    KG_TRY(sum_of(b, &on_gate, KG_PROPAGATION_GATE, b->l.number));
    real on_bias = 0;
    for (size_t i = 0; i < layer->source_count; i++) {
        const real *vector = layer->input + layer->sources[i] * width;
        const real *g = b->on.on_gated + i * width;
        if (!b->on.is_source[i])
            continue;
        real *to = b->next.vectors + b->next_of[layer->sources[i]] * width;
        real open = layer->gates[i];
        real slope = open * (1 - open) * kg__dot(g, vector, width);
        on_bias += slope;
        kg__add_scaled(on_gate, slope, vector, width);
        kg__add_scaled(to, slope, gate, width);
        kg__add_scaled(to, open, g, width);
    }
    return kg__propagation_add_gradient(
        b->grads, model, KG_PROPAGATION_GATE_BIAS,
        b->l.number * model->directed_count + b->l.pass->query.queried, &on_bias, 1, b->error);
}

kg_status kg__layer_backward(const kg_propagation_pass *pass, size_t number,
                             kg_row_gradients *gradients, kg_propagation_worker *w, kg_grads *grads,
                             kg_error *error) {
    struct layer_backward b = {
        .l = layer_of(pass, number, w), .grads = grads, .error = error, .given = *gradients};
    if (!open_backward(&b))
        return kg__fail_memory(error);
    KG_TRY(blocks_backward(&b));
    KG_TRY(sets_backward(&b));
    KG_TRY(kg__messages_backward(&b.on, pass, number, grads, error));
    if (!find_next(&b))
        return kg__fail_memory(error);
    add_old(&b);
    if (b.l.profiles != NULL)
        KG_TRY(kg__propagation_add_profile_gradients(
            grads, pass->model, KG_PROPAGATION_NODE_PROFILE, b.on_profiles, error));
    KG_TRY(gates_backward(&b));
    *gradients = b.next;
    return KG_OK;
}
