/* Loops over 16 columns at a time keep sums and maxima in registers. The two usual ways are
 * computed together, since they read the same messages. */
#include "terms/propagation/pooling.h"

#include <math.h>

#include "math/lanes.h"

#define COLUMNS KG_LANES
#define BOTH (KG_POOL_SUM | KG_POOL_MAX)

/* Of one row: its messages, and what their sum is multiplied with. */
struct pooled {
    const uint32_t *edges;
    size_t count;
    real scale; /* log(1 + c) / c */
    real share; /* 1 / (1 + degree) */
};

KG_INLINED struct pooled pooled_of(const kg_propagation_layer *layer, uint32_t row) {
    return (struct pooled){layer->edges + layer->starts[row],
                           layer->starts[row + 1] - layer->starts[row], layer->sum_scales[row],
                           layer->shares == NULL ? 0 : layer->shares[row]};
}

/* The two usual ways. */
KG_INLINED void pool_both(real *restrict out, const real *restrict messages, struct pooled p,
                          size_t width) {
    out = KG_ALIGNED(out);
    real sum[COLUMNS];
    real most[COLUMNS];
    const real *first = KG_ALIGNED(messages + p.edges[0] * width);
    for (size_t k = 0; k < COLUMNS; k++)
        sum[k] = most[k] = first[k];
    for (size_t i = 1; i < p.count; i++) {
        const real *message = KG_ALIGNED(messages + p.edges[i] * width);
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
    out = KG_ALIGNED(out);
    real most[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++)
        most[k] = (real)-INFINITY;
    for (size_t i = 0; i < p.count; i++) {
        const real *message = KG_ALIGNED(messages + p.edges[i] * width);
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
        const real *message = KG_ALIGNED(messages + p.edges[i] * width);
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++)
            sum[k] += message[k];
    }
}

KG_INLINED void pool_sum(real *restrict out, const real *restrict messages, struct pooled p,
                         real scale, size_t width) {
    out = KG_ALIGNED(out);
    real sum[COLUMNS] = {0};
    add_messages(sum, messages, p, width);
#pragma omp simd
    for (size_t k = 0; k < COLUMNS; k++)
        out[k] = scale * sum[k];
}

KG_INLINED void pool_spread(real *restrict out, const real *restrict messages, struct pooled p,
                            size_t width) {
    out = KG_ALIGNED(out);
    real mean[COLUMNS] = {0};
    real squares[COLUMNS] = {0};
    real each = 1 / (real)p.count;
    add_messages(mean, messages, p, width);
#pragma omp simd
    for (size_t k = 0; k < COLUMNS; k++)
        mean[k] *= each;
    for (size_t i = 0; i < p.count; i++) {
        const real *message = KG_ALIGNED(messages + p.edges[i] * width);
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++)
            squares[k] += (message[k] - mean[k]) * (message[k] - mean[k]);
    }
#pragma omp simd
    for (size_t k = 0; k < COLUMNS; k++)
        out[k] = KG_SQRT(each * squares[k] + KG_PROPAGATION_SMALL);
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

KG_CLONES static void pool(real *out, const kg_pooled_rows *rows) {
    const real *messages = rows->layer->messages;
    size_t width = rows->width;
    for (size_t i = 0; i < rows->count; i++) {
        struct pooled p = pooled_of(rows->layer, rows->rows[i]);
        unsigned left = rows->pooling;
        if ((left & BOTH) == BOTH) {
            for (size_t k = 0; k < width; k += COLUMNS)
                pool_both(out + k, messages + k, p, width);
            out += 2 * width;
            left &= ~(unsigned)BOTH;
        }
        for (unsigned way = 1; way <= left; way <<= 1) {
            if ((left & way) == 0)
                continue;
            for (size_t k = 0; k < width; k += COLUMNS)
                pool_way(out + k, messages + k, p, way, width);
            out += width;
        }
    }
}

void kg__pool(real *out, const kg_pooled_rows *rows) {
    pool(out, rows);
}

/* Of several messages that are the largest the first gets the gradient: `left` is what none has got
 * yet. */
KG_INLINED void both_backward(real *restrict on_messages, const real *restrict g,
                              const real *restrict pooled, const real *restrict messages,
                              struct pooled p, size_t width) {
    g = KG_ALIGNED(g);
    pooled = KG_ALIGNED(pooled);
    real on_each[COLUMNS];
    real left[COLUMNS];
    real most[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++) {
        on_each[k] = p.scale * g[k];
        left[k] = g[width + k];
        most[k] = pooled[width + k];
    }
    for (size_t i = 0; i < p.count; i++) {
        const real *message = KG_ALIGNED(messages + p.edges[i] * width);
        real *out = KG_ALIGNED(on_messages + p.edges[i] * width);
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
    g = KG_ALIGNED(g);
    pooled = KG_ALIGNED(pooled);
    real left[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++)
        left[k] = g[k];
    for (size_t i = 0; i < p.count; i++) {
        const real *message = KG_ALIGNED(messages + p.edges[i] * width);
        real *out = KG_ALIGNED(on_messages + p.edges[i] * width);
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
    g = KG_ALIGNED(g);
    for (size_t i = 0; i < p.count; i++) {
        real *out = KG_ALIGNED(on_messages + p.edges[i] * width);
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++)
            out[k] += scale * g[k];
    }
}

KG_INLINED void spread_backward(real *restrict on_messages, const real *restrict g,
                                const real *restrict pooled, const real *restrict messages,
                                struct pooled p, size_t width) {
    g = KG_ALIGNED(g);
    pooled = KG_ALIGNED(pooled);
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
        const real *message = KG_ALIGNED(messages + p.edges[i] * width);
        real *out = KG_ALIGNED(on_messages + p.edges[i] * width);
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

KG_CLONES static void pool_backward(real *on_messages, bool *is_used, const real *g,
                                    const real *pooled, const kg_pooled_rows *rows) {
    const real *messages = rows->layer->messages;
    size_t width = rows->width;
    for (size_t i = 0; i < rows->count; i++) {
        struct pooled p = pooled_of(rows->layer, rows->rows[i]);
        unsigned left = rows->pooling;
        use_messages(on_messages, is_used, p, width);
        if ((left & BOTH) == BOTH) {
            for (size_t k = 0; k < width; k += COLUMNS)
                both_backward(on_messages + k, g + k, pooled + k, messages + k, p, width);
            g += 2 * width;
            pooled += 2 * width;
            left &= ~(unsigned)BOTH;
        }
        for (unsigned way = 1; way <= left; way <<= 1) {
            if ((left & way) == 0)
                continue;
            for (size_t k = 0; k < width; k += COLUMNS)
                way_backward(on_messages + k, g + k, pooled + k, messages + k, p, way, width);
            g += width;
            pooled += width;
        }
    }
}

void kg__pool_backward(real *on_messages, bool *is_used, const real *on_pooled, const real *pooled,
                       const kg_pooled_rows *rows) {
    pool_backward(on_messages, is_used, on_pooled, pooled, rows);
}
