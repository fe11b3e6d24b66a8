/* Loops over 16 columns at a time keep sums and maxima in registers; products with the matrix of
 * the layer are tiles. */
#include "terms/propagation/layer.h"

#include <math.h>
#include <string.h>

#include "math/tile_product.h"
#include "math/vector.h"

#define COLUMNS KG_LANES
#define SMALL ((real)1e-5) /* what variances are kept above */

#ifdef KG_DOUBLE
#define SQRT sqrt
#else
#define SQRT sqrtf
#endif

#define BOTH (KG_POOL_SUM | KG_POOL_MAX)

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

/* ---- Pooling ---- */

/* Of one row: its messages, and what their sum is multiplied with. */
struct pooled {
    const uint32_t *edges;
    size_t count;
    real scale; /* log(1 + c) / c */
    real share; /* 1 / (1 + degree) */
};

KG_INLINED struct pooled pooled_of(const kg_propagation_layer *layer, size_t i) {
    return (struct pooled){layer->edges + layer->starts[i], layer->starts[i + 1] - layer->starts[i],
                           layer->sum_scales[i], layer->shares[i]};
}

/* The two usual ways. */
KG_INLINED void pool_both(real *restrict out, const real *restrict messages, struct pooled p,
                          size_t width) {
    real sum[COLUMNS];
    real most[COLUMNS];
    const real *first = messages + p.edges[0] * width;
    for (size_t k = 0; k < COLUMNS; k++)
        sum[k] = most[k] = first[k];
    for (size_t i = 1; i < p.count; i++) {
        const real *message = messages + p.edges[i] * width;
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++) {
            sum[k] += message[k];
            most[k] = message[k] > most[k] ? message[k] : most[k];
        }
    }
#pragma omp simd
    for (size_t k = 0; k < COLUMNS; k++) {
        out[k] = p.scale * sum[k];
        out[width + k] = most[k];
    }
}

/* One of the others. */
KG_INLINED void pool_extreme(real *restrict out, const real *restrict messages, struct pooled p,
                             real sign, size_t width) {
    real most[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++)
        most[k] = (real)-INFINITY;
    for (size_t i = 0; i < p.count; i++) {
        const real *message = messages + p.edges[i] * width;
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++)
            most[k] = sign * message[k] > most[k] ? sign * message[k] : most[k];
    }
#pragma omp simd
    for (size_t k = 0; k < COLUMNS; k++)
        out[k] = sign * most[k];
}

KG_INLINED void add_messages(real *restrict sum, const real *restrict messages, struct pooled p,
                             size_t width) {
    for (size_t i = 0; i < p.count; i++) {
        const real *message = messages + p.edges[i] * width;
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++)
            sum[k] += message[k];
    }
}

KG_INLINED void pool_sum(real *restrict out, const real *restrict messages, struct pooled p,
                         real scale, size_t width) {
    real sum[COLUMNS] = {0};
    add_messages(sum, messages, p, width);
#pragma omp simd
    for (size_t k = 0; k < COLUMNS; k++)
        out[k] = scale * sum[k];
}

KG_INLINED void pool_spread(real *restrict out, const real *restrict messages, struct pooled p,
                            size_t width) {
    real mean[COLUMNS] = {0};
    real squares[COLUMNS] = {0};
    real each = 1 / (real)p.count;
    add_messages(mean, messages, p, width);
#pragma omp simd
    for (size_t k = 0; k < COLUMNS; k++)
        mean[k] *= each;
    for (size_t i = 0; i < p.count; i++) {
        const real *message = messages + p.edges[i] * width;
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++)
            squares[k] += (message[k] - mean[k]) * (message[k] - mean[k]);
    }
#pragma omp simd
    for (size_t k = 0; k < COLUMNS; k++)
        out[k] = SQRT(each * squares[k] + SMALL);
}

KG_INLINED void pool_way(real *restrict out, const real *restrict messages, struct pooled p,
                         unsigned way, size_t width) {
    if (way == KG_POOL_SUM)
        pool_sum(out, messages, p, p.scale, width);
    else if (way == KG_POOL_SHARE)
        pool_sum(out, messages, p, p.share, width);
    else if (way == KG_POOL_SPREAD)
        pool_spread(out, messages, p, width);
    else
        pool_extreme(out, messages, p, way == KG_POOL_MAX ? 1 : -1, width);
}

KG_CLONES static void pool(kg_propagation_layer *layer, unsigned pooling, size_t width) {
    real *out = layer->pooled;
    for (size_t i = 0; i < layer->pooled_count; i++) {
        struct pooled p = pooled_of(layer, i);
        unsigned done = 0;
        if ((pooling & BOTH) == BOTH) {
            for (size_t k = 0; k < width; k += COLUMNS)
                pool_both(out + k, layer->messages + k, p, width);
            out += 2 * width;
            done = BOTH;
        }
        for (unsigned way = 1; way <= pooling; way <<= 1) {
            if ((pooling & ~done & way) == 0)
                continue;
            for (size_t k = 0; k < width; k += COLUMNS)
                pool_way(out + k, layer->messages + k, p, way, width);
            out += width;
        }
    }
}

/* Of several messages that are the largest the first gets the gradient: `left` is what none has got
 * yet. */
KG_INLINED void both_backward(real *restrict on_messages, const real *restrict g,
                              const real *restrict pooled, const real *restrict messages,
                              struct pooled p, size_t width) {
    real on_each[COLUMNS];
    real left[COLUMNS];
    real most[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++) {
        on_each[k] = p.scale * g[k];
        left[k] = g[width + k];
        most[k] = pooled[width + k];
    }
    for (size_t i = 0; i < p.count; i++) {
        const real *message = messages + p.edges[i] * width;
        real *out = on_messages + p.edges[i] * width;
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++) {
            real own = (real)(message[k] == most[k]) * left[k];
            left[k] -= own;
            out[k] += on_each[k] + own;
        }
    }
}

KG_INLINED void extreme_backward(real *restrict on_messages, const real *restrict g,
                                 const real *restrict pooled, const real *restrict messages,
                                 struct pooled p, size_t width) {
    real left[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++)
        left[k] = g[k];
    for (size_t i = 0; i < p.count; i++) {
        const real *message = messages + p.edges[i] * width;
        real *out = on_messages + p.edges[i] * width;
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++) {
            real own = (real)(message[k] == pooled[k]) * left[k];
            left[k] -= own;
            out[k] += own;
        }
    }
}

KG_INLINED void sum_backward(real *restrict on_messages, const real *restrict g, struct pooled p,
                             real scale, size_t width) {
    for (size_t i = 0; i < p.count; i++) {
        real *out = on_messages + p.edges[i] * width;
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++)
            out[k] += scale * g[k];
    }
}

KG_INLINED void spread_backward(real *restrict on_messages, const real *restrict g,
                                const real *restrict pooled, const real *restrict messages,
                                struct pooled p, size_t width) {
    real mean[COLUMNS] = {0};
    real slope[COLUMNS];
    real each = 1 / (real)p.count;
    add_messages(mean, messages, p, width);
#pragma omp simd
    for (size_t k = 0; k < COLUMNS; k++) {
        mean[k] *= each;
        slope[k] = each * g[k] / pooled[k];
    }
    for (size_t i = 0; i < p.count; i++) {
        const real *message = messages + p.edges[i] * width;
        real *out = on_messages + p.edges[i] * width;
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++)
            out[k] += slope[k] * (message[k] - mean[k]);
    }
}

KG_INLINED void way_backward(real *restrict on_messages, const real *restrict g,
                             const real *restrict pooled, const real *restrict messages,
                             struct pooled p, unsigned way, size_t width) {
    if (way == KG_POOL_SUM)
        sum_backward(on_messages, g, p, p.scale, width);
    else if (way == KG_POOL_SHARE)
        sum_backward(on_messages, g, p, p.share, width);
    else if (way == KG_POOL_SPREAD)
        spread_backward(on_messages, g, pooled, messages, p, width);
    else
        extreme_backward(on_messages, g, pooled, messages, p, width);
}

/* Messages get their first gradient: it is cleared. */
KG_INLINED void use_messages(real *on_messages, bool *is_used, struct pooled p, size_t width) {
    for (size_t i = 0; i < p.count; i++)
        if (!is_used[p.edges[i]]) {
            is_used[p.edges[i]] = true;
            for (size_t k = 0; k < width; k++)
                on_messages[p.edges[i] * width + k] = 0;
        }
}

/* `g` has a row for each of the `count` pooled rows with these numbers. */
KG_CLONES static void pool_backward(const kg_propagation_layer *layer, real *on_messages,
                                    bool *is_used, const real *g, const uint32_t *numbers,
                                    size_t count, unsigned pooling, size_t width) {
    size_t poolings = (size_t)__builtin_popcount(pooling);
    for (size_t i = 0; i < count; i++) {
        struct pooled p = pooled_of(layer, numbers[i]);
        const real *pooled = layer->pooled + numbers[i] * poolings * width;
        unsigned done = 0;
        use_messages(on_messages, is_used, p, width);
        if ((pooling & BOTH) == BOTH) {
            for (size_t k = 0; k < width; k += COLUMNS)
                both_backward(on_messages + k, g + k, pooled + k, layer->messages + k, p, width);
            g += 2 * width;
            pooled += 2 * width;
            done = BOTH;
        }
        for (unsigned way = 1; way <= pooling; way <<= 1) {
            if ((pooling & ~done & way) == 0)
                continue;
            for (size_t k = 0; k < width; k += COLUMNS)
                way_backward(on_messages + k, g + k, pooled + k, layer->messages + k, p, way,
                             width);
            g += width;
            pooled += width;
        }
    }
}

/* ---- Update ---- */

/* Of what `normal` has for each row, without mean and to length 1: its relu is added to the vector
 * before. */
KG_CLONES static void normalise(kg_propagation_layer *layer, size_t width) {
    real each = 1 / (real)width;
    for (size_t row = 0; row < layer->row_count; row++) {
        real *restrict x = layer->normal + row * width;
        const real *restrict old = layer->old + row * width;
        real *restrict out = layer->output + row * width;
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
        real scale = 1 / SQRT((variance > 0 ? variance : 0) + SMALL);
        layer->scale[row] = scale;
        bool is_old = row < layer->old_count;
#pragma omp simd
        for (size_t k = 0; k < width; k++) {
            x[k] = scale * (x[k] - mean);
            out[k] = x[k] > 0 ? x[k] : 0;
        }
        if (is_old)
#pragma omp simd
            for (size_t k = 0; k < width; k++)
                out[k] += old[k];
    }
}

/* From gradients on outputs to those on what is normalised. */
KG_CLONES static void normalise_backward(const kg_propagation_layer *layer, real *restrict out,
                                         const kg_row_gradients *gradients, size_t width) {
    real each = 1 / (real)width;
    for (size_t i = 0; i < gradients->count; i++) {
        const real *restrict x = layer->normal + gradients->rows[i] * width;
        const real *restrict g = gradients->vectors + i * width;
        real *restrict to = out + i * width;
        real sums[COLUMNS] = {0};
        real slopes[COLUMNS] = {0};
        for (size_t j = 0; j < width; j += COLUMNS)
#pragma omp simd
            for (size_t k = 0; k < COLUMNS; k++) {
                real on = x[j + k] > 0 ? g[j + k] : 0;
                to[j + k] = on;
                sums[k] += on;
                slopes[k] += on * x[j + k];
            }
        real mean = each * kg__sum_lanes(sums);
        real slope = each * kg__sum_lanes(slopes);
        real scale = layer->scale[gradients->rows[i]];
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            to[k] = scale * (to[k] - mean - slope * x[k]);
    }
}

static void gather(real *out, const real *vectors, const uint32_t *numbers, size_t count,
                   size_t width) {
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * width, vectors + numbers[i] * width, width * sizeof *out);
}

/* Vectors of old rows before the layer: the input as it is, if all nodes are rows. */
static bool find_old(kg_propagation_pass *pass, kg_propagation_layer *layer, size_t width) {
    layer->old = layer->input;
    if (layer->nodes == NULL)
        return true;
    real *old = kg__arena_take(pass->arena, layer->old_count * width, sizeof *old);
    if (old == NULL)
        return false;
    gather(old, layer->input, layer->nodes, layer->old_count, width);
    layer->old = old;
    return true;
}

kg_status kg__layer_forward(kg_propagation_pass *pass, size_t number, kg_error *error) {
    const kg_propagation_options *o = &pass->model->options;
    kg_propagation_layer *layer = &pass->layers[number];
    size_t width = o->width;
    size_t poolings = kg__propagation_poolings(o);
    const real *update =
        pass->model->tensors[KG_PROPAGATION_UPDATE] + number * (1 + poolings) * width * width;
    const real *bias = pass->model->tensors[KG_PROPAGATION_UPDATE_BIAS] + number * width;
    size_t cells = layer->row_count * width;
    layer->messages =
        kg__arena_take(pass->arena, layer->message_count * width, sizeof *layer->messages);
    layer->pooled =
        kg__arena_take(pass->arena, layer->pooled_count * poolings * width, sizeof *layer->pooled);
    layer->normal = kg__arena_take(pass->arena, cells, sizeof *layer->normal);
    layer->scale = kg__arena_take(pass->arena, layer->row_count, sizeof *layer->scale);
    layer->output = kg__arena_take(pass->arena, cells, sizeof *layer->output);
    if (layer->messages == NULL || layer->pooled == NULL || layer->normal == NULL ||
        layer->scale == NULL || layer->output == NULL || !find_old(pass, layer, width))
        return kg__fail_memory(error);
    make_messages(layer, width);
    pool(layer, o->pooling, width);
    kg__tile_product(layer->normal, bias, layer->old, update, layer->old_count, width, width);
    for (size_t i = layer->old_count; i < layer->row_count; i++)
        memcpy(layer->normal + i * width, bias, width * sizeof *bias);
    kg__tile_product_add(layer->normal, layer->pooled_rows, layer->pooled, update + width * width,
                         layer->pooled_count, width, poolings * width);
    normalise(layer, width);
    return KG_OK;
}

/* ---- Backward ---- */

/* A layer's way back, in scratch memory. */
struct way_back {
    const kg_propagation_pass *pass;
    const kg_propagation_layer *layer;
    size_t number;
    size_t width;
    size_t poolings;
    kg_arena *scratch;
    kg_grads *grads;
    kg_error *error;
    kg_row_gradients given; /* on outputs */
    real *on_sums;          /* given.count x width: on what is normalised */
    kg_row_gradients next;  /* on inputs; rows are nodes */
    uint32_t *next_of;      /* of each node before: its place in next, or UINT32_MAX */
};

static kg_status sum_of(struct way_back *b, real **out, kg_propagation_tensor tensor, size_t row) {
    return kg__grads_sum(b->grads, out, b->pass->model->params[tensor], row, b->error);
}

kg_status kg__propagation_send(kg_grads *grads, const kg_propagation *model,
                               kg_propagation_tensor tensor, size_t row, const real *vector,
                               size_t count, kg_error *error) {
    real *sum = NULL;
    KG_TRY(kg__grads_sum(grads, &sum, model->params[tensor], row, error));
    kg__add_scaled(sum, 1, vector, count);
    return KG_OK;
}

static uint32_t node_of(const kg_propagation_layer *layer, uint32_t row) {
    return layer->nodes == NULL ? row : layer->nodes[row];
}

/* Nodes that get gradients: rows with gradients that were nodes before, and some sources. */
static bool find_next(struct way_back *b, const bool *is_source) {
    const kg_propagation_layer *layer = b->layer;
    b->next_of = kg__arena_take(b->scratch, layer->before, sizeof *b->next_of);
    if (b->next_of == NULL)
        return false;
    memset(b->next_of, 0xff, layer->before * sizeof *b->next_of);
    for (size_t i = 0; i < b->given.count && b->given.rows[i] < layer->old_count; i++)
        b->next_of[node_of(layer, b->given.rows[i])] = 0;
    for (size_t i = 0; i < layer->source_count; i++)
        if (is_source[i])
            b->next_of[layer->sources[i]] = 0;
    b->next.rows = kg__arena_take(b->scratch, layer->before, sizeof *b->next.rows);
    if (b->next.rows == NULL)
        return false;
    for (uint32_t i = 0; i < layer->before; i++)
        if (b->next_of[i] == 0) {
            b->next_of[i] = (uint32_t)b->next.count;
            b->next.rows[b->next.count++] = i;
        }
    b->next.vectors =
        kg__arena_take_zeroed(b->scratch, b->next.count * b->width, sizeof *b->next.vectors);
    return b->next.vectors != NULL;
}

/* out (columns x rows) = the transpose of a (rows x columns). */
static void transpose(real *restrict out, const real *restrict a, size_t rows, size_t columns) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            out[j * rows + i] = a[i * columns + j];
}

/* Of a part of the update's matrix, `inputs` x width, that rows `rows` of `input` were multiplied
 * with: adds to its gradient, and gives its transpose. */
static kg_status part_backward(struct way_back *b, real **transposed, size_t first_input,
                               size_t inputs, const real *input, const uint32_t *rows,
                               const real *on_sums, size_t count) {
    size_t width = b->width;
    size_t size = (1 + b->poolings) * width * width;
    const real *update = b->pass->model->tensors[KG_PROPAGATION_UPDATE] + b->number * size;
    *transposed = kg__arena_take(b->scratch, inputs * width, sizeof **transposed);
    if (*transposed == NULL)
        return kg__fail_memory(b->error);
    real *sum = NULL;
    KG_TRY(sum_of(b, &sum, KG_PROPAGATION_UPDATE, b->number));
    kg__tile_product_transposed(sum + first_input * width, input, rows, on_sums, inputs, width,
                                count);
    transpose(*transposed, update + first_input * width, inputs, width);
    return KG_OK;
}

/* The update's bias, and its part for vectors before. */
static kg_status old_backward(struct way_back *b) {
    const kg_propagation_layer *layer = b->layer;
    size_t width = b->width;
    size_t count = 0;
    real *bias = NULL;
    KG_TRY(sum_of(b, &bias, KG_PROPAGATION_UPDATE_BIAS, b->number));
    for (size_t i = 0; i < b->given.count; i++)
        kg__add_scaled(bias, 1, b->on_sums + i * width, width);
    while (count < b->given.count && b->given.rows[count] < layer->old_count)
        count++;
    uint32_t *places = kg__arena_take(b->scratch, count, sizeof *places);
    if (places == NULL)
        return kg__fail_memory(b->error);
    for (size_t i = 0; i < count; i++) {
        places[i] = b->next_of[node_of(layer, b->given.rows[i])];
        memcpy(b->next.vectors + places[i] * width, b->given.vectors + i * width,
               width * sizeof *b->given.vectors);
    }
    real *transposed = NULL;
    KG_TRY(part_backward(b, &transposed, 0, width, layer->old, b->given.rows, b->on_sums, count));
    kg__tile_product_add(b->next.vectors, places, b->on_sums, transposed, count, width, width);
    return KG_OK;
}

/* Its part for what was pooled: gives gradients on it, and which pooled rows have them. */
static kg_status pooled_backward(struct way_back *b, real **out, uint32_t **numbers,
                                 size_t *count) {
    const kg_propagation_layer *layer = b->layer;
    size_t width = b->width;
    size_t inputs = b->poolings * width;
    real *on_sums = kg__arena_take(b->scratch, b->given.count * width, sizeof *on_sums);
    *numbers = kg__arena_take(b->scratch, b->given.count, sizeof **numbers);
    if (on_sums == NULL || *numbers == NULL)
        return kg__fail_memory(b->error);
    *count = 0;
    for (size_t i = 0, k = 0; i < b->given.count; i++) {
        while (k < layer->pooled_count && layer->pooled_rows[k] < b->given.rows[i])
            k++;
        if (k < layer->pooled_count && layer->pooled_rows[k] == b->given.rows[i]) {
            memcpy(on_sums + *count * width, b->on_sums + i * width, width * sizeof *on_sums);
            (*numbers)[(*count)++] = (uint32_t)k;
        }
    }
    *out = kg__arena_take(b->scratch, *count * inputs, sizeof **out);
    if (*out == NULL)
        return kg__fail_memory(b->error);
    real *transposed = NULL;
    KG_TRY(part_backward(b, &transposed, width, inputs, layer->pooled, *numbers, on_sums, *count));
    kg__tile_product(*out, NULL, on_sums, transposed, *count, inputs, width);
    return KG_OK;
}

/* Gradients on w_l[q,r] go to what it is a sum of. */
static kg_status relations_backward(struct way_back *b, const real *on_relations,
                                    const bool *is_related) {
    const kg_propagation *model = b->pass->model;
    size_t width = b->width;
    size_t rank = model->options.rank;
    size_t asked = b->pass->query.asked;
    const real *mix = rank == 0 ? NULL : model->tensors[KG_PROPAGATION_MIX] + asked * rank;
    for (size_t r = 0; r < model->directed_count; r++) {
        const real *g = on_relations + r * width;
        size_t row = b->number * model->directed_count + r;
        real *sum = NULL;
        if (!is_related[r])
            continue;
        KG_TRY(kg__propagation_send(b->grads, model, KG_PROPAGATION_RELATIONS, row, g, width,
                                    b->error));
        if (rank == 0) {
            KG_TRY(
                sum_of(b, &sum, KG_PROPAGATION_PAIRS, b->number * model->directed_count + asked));
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
static kg_status gates_backward(struct way_back *b, struct message_gradients given) {
    const kg_propagation *model = b->pass->model;
    const kg_propagation_layer *layer = b->layer;
    size_t width = b->width;
    const real *gate = model->tensors[KG_PROPAGATION_GATE] + b->number * width;
    real *on_gate = NULL;
    KG_TRY(sum_of(b, &on_gate, KG_PROPAGATION_GATE, b->number));
    real on_bias = 0;
    for (size_t i = 0; i < layer->source_count; i++) {
        const real *vector = layer->input + layer->sources[i] * width;
        const real *g = given.on_gated + i * width;
        if (!given.is_source[i])
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
                                b->number * model->directed_count + b->pass->query.asked, &on_bias,
                                1, b->error);
}

/* From what was pooled to messages, and on to relations; sources are left. */
static kg_status edges_backward(struct way_back *b, struct message_gradients *out) {
    const kg_propagation_layer *layer = b->layer;
    size_t width = b->width;
    size_t relations = b->pass->model->directed_count;
    real *on_pooled = NULL;
    uint32_t *numbers = NULL;
    size_t count = 0;
    KG_TRY(pooled_backward(b, &on_pooled, &numbers, &count));
    real *on_messages =
        kg__arena_take(b->scratch, layer->message_count * width, sizeof *on_messages);
    bool *is_used = kg__arena_take_zeroed(b->scratch, layer->message_count, sizeof *is_used);
    *out = (struct message_gradients){
        kg__arena_take(b->scratch, layer->source_count * width, sizeof *out->on_gated),
        kg__arena_take_zeroed(b->scratch, layer->source_count, sizeof *out->is_source),
        kg__arena_take(b->scratch, relations * width, sizeof *out->on_relations),
        kg__arena_take_zeroed(b->scratch, relations, sizeof *out->is_relation),
    };
    if (on_messages == NULL || is_used == NULL || out->on_gated == NULL || out->is_source == NULL ||
        out->on_relations == NULL || out->is_relation == NULL)
        return kg__fail_memory(b->error);
    pool_backward(layer, on_messages, is_used, on_pooled, numbers, count,
                  b->pass->model->options.pooling, width);
    messages_backward(layer, on_messages, is_used, *out, width);
    return relations_backward(b, out->on_relations, out->is_relation);
}

kg_status kg__layer_backward(const kg_propagation_pass *pass, size_t number,
                             kg_row_gradients *gradients, kg_propagation_worker *w, kg_grads *grads,
                             kg_error *error) {
    const kg_propagation_options *o = &pass->model->options;
    struct way_back b = {
        .pass = pass,
        .layer = &pass->layers[number],
        .number = number,
        .width = o->width,
        .poolings = kg__propagation_poolings(o),
        .scratch = &w->scratch,
        .grads = grads,
        .error = error,
        .given = *gradients,
    };
    b.on_sums = kg__arena_take(b.scratch, b.given.count * b.width, sizeof *b.on_sums);
    if (b.on_sums == NULL)
        return kg__fail_memory(error);
    normalise_backward(b.layer, b.on_sums, &b.given, b.width);
    struct message_gradients on_messages;
    KG_TRY(edges_backward(&b, &on_messages));
    if (!find_next(&b, on_messages.is_source))
        return kg__fail_memory(error);
    KG_TRY(old_backward(&b));
    KG_TRY(gates_backward(&b, on_messages));
    *gradients = b.next;
    return KG_OK;
}
