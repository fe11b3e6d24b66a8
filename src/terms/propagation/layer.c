/* Rows are computed in blocks that stay in the cache. What is needed of them on the way back is
 * computed again, for the rows that have gradients. */
#include "terms/propagation/layer.h"

#include <math.h>
#include <string.h>

#include "math/tile_product.h"
#include "math/vector.h"
#include "terms/propagation/frontier.h"
#include "terms/propagation/pooling.h"

#define COLUMNS KG_LANES
#define BLOCK 64 /* rows */

/* ---- Messages ---- */

KG_CLONES static void make_messages(kg_propagation_layer *layer, size_t width) {
    for (size_t i = 0; i < layer->message_count; i++) {
        const real *restrict source = layer->gated + layer->message_sources[i] * width;
        const real *restrict relation =
            layer->relations + layer->message_relations[i] * (size_t)width;
        real *restrict message = layer->messages + i * width;
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            message[k] = source[k] * relation[k];
    }
}

/* Gradients on gated sources and on relations; those that get none are not filled in. */
struct message_gradients {
    real *on_gated;
    bool *is_source;
    real *on_relations;
    bool *is_relation;
};

KG_INLINED void clear_first(real *vector, bool *has_any, size_t width) {
    for (size_t k = 0; k < width && !*has_any; k++)
        vector[k] = 0;
    *has_any = true;
}

/* Messages that reach no row with a gradient have none. */
KG_CLONES static void messages_backward(const kg_propagation_layer *layer, const real *on_messages,
                                        const bool *is_used, struct message_gradients out,
                                        size_t width) {
    for (size_t i = 0; i < layer->message_count; i++) {
        if (!is_used[i])
            continue;
        size_t source = layer->message_sources[i];
        size_t relation = layer->message_relations[i];
        const real *restrict g = on_messages + i * width;
        const real *restrict gated = layer->gated + source * width;
        const real *restrict related = layer->relations + relation * width;
        real *restrict to_gated = out.on_gated + source * width;
        real *restrict to_relation = out.on_relations + relation * width;
        clear_first(to_gated, &out.is_source[source], width);
        clear_first(to_relation, &out.is_relation[relation], width);
#pragma omp simd
        for (size_t k = 0; k < width; k++) {
            to_gated[k] += g[k] * related[k];
            to_relation[k] += g[k] * gated[k];
        }
    }
}

/* ---- Blocks ---- */

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

/* Some rows, in increasing order, and what they are computed from. */
struct block {
    size_t count;
    uint32_t rows[BLOCK];
    size_t old_count; /* the first were nodes before */
    real *old;        /* their vectors */
    size_t pooled_count;
    uint32_t places[BLOCK];      /* in the block, of those that messages reach, */
    uint32_t pooled_rows[BLOCK]; /* and their rows */
    real *pooled;                /* pooled_count x pooled_width */
    real *normal;                /* count x width: normalised, before the relu */
    real scale[BLOCK];           /* what normalising multiplied with */
};

static bool open_block(struct block *block, const struct layer *l) {
    block->old = kg__arena_take(l->scratch, BLOCK * l->width, sizeof *block->old);
    block->pooled = kg__arena_take(l->scratch, BLOCK * l->pooled_width, sizeof *block->pooled);
    block->normal = kg__arena_take(l->scratch, BLOCK * l->width, sizeof *block->normal);
    return block->old != NULL && block->pooled != NULL && block->normal != NULL;
}

static uint32_t node_of(const kg_propagation_layer *layer, uint32_t row) {
    return layer->nodes == NULL ? row : layer->nodes[row];
}

static kg_pooled_rows pooled_rows(const struct block *block, const struct layer *l) {
    return (kg_pooled_rows){l->layer,
                            block->pooled_rows,
                            block->pooled_count,
                            l->pass->model->options.pooling,
                            l->pooled_width / l->width,
                            l->width};
}

/* Vectors without mean, to a variance of 1. */
KG_CLONES static void normalise(struct block *block, size_t width) {
    real each = 1 / (real)width;
    for (size_t row = 0; row < block->count; row++) {
        real *restrict x = KG_ALIGNED(block->normal + row * width);
        real sums[COLUMNS] = {0};
        real squares[COLUMNS] = {0};
        for (size_t i = 0; i < width; i += COLUMNS)
#pragma omp simd
            for (size_t k = 0; k < COLUMNS; k++) {
                sums[k] += x[i + k];
                squares[k] += x[i + k] * x[i + k];
            }
        real mean = each * kg__sum_lanes(sums);
        real variance = each * kg__sum_lanes(squares) - mean * mean;
        real scale = 1 / KG_SQRT((variance > 0 ? variance : 0) + KG_PROPAGATION_SMALL);
        block->scale[row] = scale;
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            x[k] = scale * (x[k] - mean);
    }
}

/* Adds the profiles of rows that were no nodes before. */
static void add_profiles(struct block *block, const struct layer *l) {
    for (size_t i = block->old_count; i < block->count; i++) {
        uint32_t node = node_of(l->layer, block->rows[i]);
        kg_id entity = l->pass->nodes[node];
        kg__profiles_add(block->normal + i * l->width, l->profiles, entity,
                         kg__frontier_left_out(l->pass, node, entity));
    }
}

/* Prefetches them, of the rows of a block from row `from` on. */
static void fetch_profiles(const struct layer *l, size_t from) {
    const kg_propagation_layer *layer = l->layer;
    size_t end = layer->row_count < from + BLOCK ? layer->row_count : from + BLOCK;
    for (size_t i = from > layer->old_count ? from : layer->old_count; i < end; i++)
        kg__profiles_fetch(l->profiles, l->pass->nodes[node_of(layer, (uint32_t)i)]);
}

/* Computes the rows of a block, which has their numbers. */
static void fill_block(struct block *block, const struct layer *l) {
    const kg_propagation_layer *layer = l->layer;
    size_t width = l->width;
    block->old_count = 0;
    block->pooled_count = 0;
    for (uint32_t i = 0; i < block->count; i++) {
        uint32_t row = block->rows[i];
        if (row < layer->old_count)
            memcpy(block->old + block->old_count++ * width,
                   layer->input + node_of(layer, row) * width, width * sizeof *block->old);
        else
            memcpy(block->normal + i * width, l->bias, width * sizeof *l->bias);
        if (layer->starts[row] == layer->starts[row + 1])
            continue;
        block->places[block->pooled_count] = i;
        block->pooled_rows[block->pooled_count++] = row;
    }
    if (l->profiles != NULL)
        add_profiles(block, l);
    kg_pooled_rows rows = pooled_rows(block, l);
    kg__pool(block->pooled, &rows);
    kg__tile_product(block->normal, l->bias, block->old, l->update, block->old_count, width, width);
    kg__tile_product_add(block->normal, block->places, block->pooled, l->update + width * width,
                         block->pooled_count, width, l->pooled_width);
    normalise(block, width);
}

/* out = the vectors before, if any, plus the relu of what was normalised. */
KG_CLONES static void add_relu(real *out, const struct block *block, size_t width) {
    for (size_t i = 0; i < block->count; i++) {
        const real *restrict x = KG_ALIGNED(block->normal + i * width);
        const real *restrict old = KG_ALIGNED(block->old + i * width);
        real *restrict to = KG_ALIGNED(out + i * width);
        if (i < block->old_count)
#pragma omp simd
            for (size_t k = 0; k < width; k++)
                to[k] = old[k] + (x[k] > 0 ? x[k] : 0);
        else
#pragma omp simd
            for (size_t k = 0; k < width; k++)
                to[k] = x[k] > 0 ? x[k] : 0;
    }
}

kg_status kg__layer_forward(kg_propagation_pass *pass, size_t number, kg_propagation_worker *w,
                            kg_error *error) {
    kg_propagation_layer *layer = &pass->layers[number];
    struct layer l = layer_of(pass, number, w);
    struct block block;
    layer->messages =
        kg__arena_take(pass->arena, layer->message_count * l.width, sizeof *layer->messages);
    layer->output = kg__arena_take(pass->arena, layer->row_count * l.width, sizeof *layer->output);
    if (layer->messages == NULL || layer->output == NULL || !open_block(&block, &l))
        return kg__fail_memory(error);
    make_messages(layer, l.width);
    for (size_t from = 0; from < layer->row_count; from += BLOCK) {
        if (l.profiles != NULL)
            fetch_profiles(&l, from + BLOCK);
        block.count = layer->row_count - from < BLOCK ? layer->row_count - from : BLOCK;
        for (size_t i = 0; i < block.count; i++)
            block.rows[i] = (uint32_t)(from + i);
        fill_block(&block, &l);
        add_relu(layer->output + from * l.width, &block, l.width);
    }
    return KG_OK;
}

/* ---- Backward ---- */

/* A layer's way back, in scratch memory. */
struct way_back {
    struct layer l;
    kg_grads *grads;
    kg_error *error;
    kg_row_gradients given; /* on outputs */
    real *on_old;           /* of those that were nodes before, the first: on their vectors */
    real *old_transposed;   /* of the update's matrix, its two parts */
    real *pooled_transposed;
    real *on_messages; /* message_count x width */
    bool *is_used;     /* messages with gradients */
    struct message_gradients out;
    kg_profile_gradients on_profiles; /* none are used if nodes have no profiles */
    kg_row_gradients next;            /* on inputs; rows are nodes */
    uint32_t *next_of;                /* of each node before: its place in next, or UINT32_MAX */
};

static kg_status sum_of(struct way_back *b, real **out, kg_propagation_tensor tensor, size_t row) {
    return kg__grads_sum(b->grads, out, b->l.pass->model->params[tensor], row, b->error);
}

kg_status kg__propagation_send(kg_grads *grads, const kg_propagation *model,
                               kg_propagation_tensor tensor, size_t row, const real *vector,
                               size_t count, kg_error *error) {
    real *sum = NULL;
    KG_TRY(kg__grads_sum(grads, &sum, model->params[tensor], row, error));
    kg__add_scaled(sum, 1, vector, count);
    return KG_OK;
}

kg_status kg__propagation_send_profiles(kg_grads *grads, const kg_propagation *model,
                                        kg_propagation_tensor tensor,
                                        kg_profile_gradients gradients, kg_error *error) {
    size_t width = model->options.width;
    for (size_t r = 0; r < model->directed_count; r++)
        if (gradients.is_used[r])
            KG_TRY(kg__propagation_send(grads, model, tensor, r, gradients.sums + r * width, width,
                                        error));
    return KG_OK;
}

/* out (columns x rows) = the transpose of a (rows x columns). */
static void transpose(real *restrict out, const real *restrict a, size_t rows, size_t columns) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            out[j * rows + i] = a[i * columns + j];
}

static bool open_way_back(struct way_back *b) {
    const struct layer *l = &b->l;
    size_t relations = l->pass->model->directed_count;
    size_t sources = l->layer->source_count;
    size_t messages = l->layer->message_count;
    b->on_old = kg__arena_take(l->scratch, b->given.count * l->width, sizeof *b->on_old);
    b->old_transposed = kg__arena_take(l->scratch, l->width * l->width, sizeof *b->old_transposed);
    b->pooled_transposed =
        kg__arena_take(l->scratch, l->pooled_width * l->width, sizeof *b->pooled_transposed);
    b->on_messages = kg__arena_take(l->scratch, messages * l->width, sizeof *b->on_messages);
    b->is_used = kg__arena_take_zeroed(l->scratch, messages, sizeof *b->is_used);
    b->out = (struct message_gradients){
        kg__arena_take(l->scratch, sources * l->width, sizeof *b->out.on_gated),
        kg__arena_take_zeroed(l->scratch, sources, sizeof *b->out.is_source),
        kg__arena_take(l->scratch, relations * l->width, sizeof *b->out.on_relations),
        kg__arena_take_zeroed(l->scratch, relations, sizeof *b->out.is_relation),
    };
    b->on_profiles = (kg_profile_gradients){
        kg__arena_take_zeroed(l->scratch, relations * l->width, sizeof *b->on_profiles.sums),
        kg__arena_take_zeroed(l->scratch, relations, sizeof *b->on_profiles.is_used),
    };
    if (b->on_profiles.sums == NULL || b->on_profiles.is_used == NULL || b->on_old == NULL ||
        b->old_transposed == NULL || b->pooled_transposed == NULL || b->on_messages == NULL ||
        b->is_used == NULL || b->out.on_gated == NULL || b->out.is_source == NULL ||
        b->out.on_relations == NULL || b->out.is_relation == NULL)
        return false;
    transpose(b->old_transposed, l->update, l->width, l->width);
    transpose(b->pooled_transposed, l->update + l->width * l->width, l->pooled_width, l->width);
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

static void profiles_backward(struct way_back *b, const struct block *block, const real *on_sums) {
    const struct layer *l = &b->l;
    for (size_t i = block->old_count; i < block->count; i++) {
        uint32_t node = node_of(l->layer, block->rows[i]);
        kg_id entity = l->pass->nodes[node];
        kg__profiles_backward(b->on_profiles, l->profiles, entity,
                              kg__frontier_left_out(l->pass, node, entity), on_sums + i * l->width);
    }
}

/* Rows `from` on of those given: adds to gradients on the update and on messages. */
static kg_status block_backward(struct way_back *b, struct block *block, size_t from, real *on_sums,
                                real *on_pooled) {
    const struct layer *l = &b->l;
    size_t width = l->width;
    real *sum = NULL;
    block->count = b->given.count - from < BLOCK ? b->given.count - from : BLOCK;
    memcpy(block->rows, b->given.rows + from, block->count * sizeof *block->rows);
    fill_block(block, l);
    normalise_backward(on_sums, b->given.vectors + from * width, block, width);
    KG_TRY(sum_of(b, &sum, KG_PROPAGATION_UPDATE_BIAS, l->number));
    for (size_t i = 0; i < block->count; i++)
        kg__add_scaled(sum, 1, on_sums + i * width, width);
    KG_TRY(sum_of(b, &sum, KG_PROPAGATION_UPDATE, l->number));
    kg__tile_product_transposed(sum, block->old, on_sums, width, width, block->old_count);
    kg__tile_product(b->on_old + from * width, NULL, on_sums, b->old_transposed, block->old_count,
                     width, width);
    if (l->profiles != NULL)
        profiles_backward(b, block, on_sums);
    for (size_t i = 0; i < block->pooled_count; i++) /* which are in increasing order */
        memmove(on_sums + i * width, on_sums + block->places[i] * width, width * sizeof *on_sums);
    kg__tile_product_transposed(sum + width * width, block->pooled, on_sums, l->pooled_width, width,
                                block->pooled_count);
    kg__tile_product(on_pooled, NULL, on_sums, b->pooled_transposed, block->pooled_count,
                     l->pooled_width, width);
    kg_pooled_rows rows = pooled_rows(block, l);
    kg__pool_backward(b->on_messages, b->is_used, on_pooled, block->pooled, &rows);
    return KG_OK;
}

static kg_status blocks_backward(struct way_back *b) {
    const struct layer *l = &b->l;
    struct block block;
    real *on_sums = kg__arena_take(l->scratch, BLOCK * l->width, sizeof *on_sums);
    real *on_pooled = kg__arena_take(l->scratch, BLOCK * l->pooled_width, sizeof *on_pooled);
    if (on_sums == NULL || on_pooled == NULL || !open_block(&block, l))
        return kg__fail_memory(b->error);
    for (size_t from = 0; from < b->given.count; from += BLOCK)
        KG_TRY(block_backward(b, &block, from, on_sums, on_pooled));
    return KG_OK;
}

/* Nodes that get gradients: rows with gradients that were nodes before, and some sources. */
static bool find_next(struct way_back *b) {
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
        if (b->out.is_source[i])
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
static void add_old(struct way_back *b) {
    const kg_propagation_layer *layer = b->l.layer;
    size_t width = b->l.width;
    for (size_t i = 0; i < b->given.count && b->given.rows[i] < layer->old_count; i++) {
        real *to = b->next.vectors + b->next_of[node_of(layer, b->given.rows[i])] * width;
        memcpy(to, b->given.vectors + i * width, width * sizeof *to);
        kg__add_scaled(to, 1, b->on_old + i * width, width);
    }
}

/* Gradients on w_l[q,r] go to what it is a sum of. */
static kg_status relations_backward(struct way_back *b) {
    const kg_propagation *model = b->l.pass->model;
    size_t width = b->l.width;
    size_t rank = model->options.rank;
    size_t asked = b->l.pass->query.asked;
    const real *mix = rank == 0 ? NULL : model->tensors[KG_PROPAGATION_MIX] + asked * rank;
    for (size_t r = 0; r < model->directed_count; r++) {
        const real *g = b->out.on_relations + r * width;
        size_t row = b->l.number * model->directed_count + r;
        real *sum = NULL;
        if (!b->out.is_relation[r])
            continue;
        KG_TRY(kg__propagation_send(b->grads, model, KG_PROPAGATION_RELATIONS, row, g, width,
                                    b->error));
        if (rank == 0) {
            KG_TRY(
                sum_of(b, &sum, KG_PROPAGATION_PAIRS, b->l.number * model->directed_count + asked));
            kg__add_scaled(sum + r * width, 1, g, width);
            continue;
        }
        const real *factors = model->tensors[KG_PROPAGATION_FACTORS] + row * rank * width;
        KG_TRY(sum_of(b, &sum, KG_PROPAGATION_FACTORS, row));
        for (size_t j = 0; j < rank; j++)
            kg__add_scaled(sum + j * width, mix[j], g, width);
        KG_TRY(sum_of(b, &sum, KG_PROPAGATION_MIX, asked));
        for (size_t j = 0; j < rank; j++)
            sum[j] += kg__dot(factors + j * width, g, width);
    }
    return KG_OK;
}

/* From gradients on gated vectors to those on the gate and on sources. */
static kg_status gates_backward(struct way_back *b) {
    const kg_propagation *model = b->l.pass->model;
    const kg_propagation_layer *layer = b->l.layer;
    size_t width = b->l.width;
    const real *gate = model->tensors[KG_PROPAGATION_GATE] + b->l.number * width;
    real *on_gate = NULL;
    KG_TRY(sum_of(b, &on_gate, KG_PROPAGATION_GATE, b->l.number));
    real on_bias = 0;
    for (size_t i = 0; i < layer->source_count; i++) {
        const real *vector = layer->input + layer->sources[i] * width;
        const real *g = b->out.on_gated + i * width;
        if (!b->out.is_source[i])
            continue;
        real *to = b->next.vectors + b->next_of[layer->sources[i]] * width;
        real open = layer->gates[i];
        real slope = open * (1 - open) * kg__dot(g, vector, width);
        on_bias += slope;
        kg__add_scaled(on_gate, slope, vector, width);
        kg__add_scaled(to, slope, gate, width);
        kg__add_scaled(to, open, g, width);
    }
    return kg__propagation_send(b->grads, model, KG_PROPAGATION_GATE_BIAS,
                                b->l.number * model->directed_count + b->l.pass->query.asked,
                                &on_bias, 1, b->error);
}

kg_status kg__layer_backward(const kg_propagation_pass *pass, size_t number,
                             kg_row_gradients *gradients, kg_propagation_worker *w, kg_grads *grads,
                             kg_error *error) {
    struct way_back b = {
        .l = layer_of(pass, number, w), .grads = grads, .error = error, .given = *gradients};
    if (!open_way_back(&b))
        return kg__fail_memory(error);
    KG_TRY(blocks_backward(&b));
    messages_backward(b.l.layer, b.on_messages, b.is_used, b.out, b.l.width);
    if (!find_next(&b))
        return kg__fail_memory(error);
    add_old(&b);
    KG_TRY(kg__propagation_send_profiles(grads, pass->model, KG_PROPAGATION_NODE_PROFILE,
                                         b.on_profiles, error));
    KG_TRY(relations_backward(&b));
    KG_TRY(gates_backward(&b));
    *gradients = b.next;
    return KG_OK;
}
