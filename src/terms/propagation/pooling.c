/* Loops over 16 columns at a time keep sums and maxima in registers. The two usual ways have code
 * of their own, which is faster. */
#include "terms/propagation/pooling.h"

#include <math.h>

#include "math/lanes.h"

#define COLUMNS KG_LANES
#define BOTH (KG_POOL_SUM | KG_POOL_MAX)

/* A set: its messages, and what their sum is multiplied with. */
struct pooled {
    const uint32_t *edges;
    size_t count;
    real scale; /* log(1 + c) / c */
};

KG_INLINED struct pooled pooled_of(const kg_propagation_layer *layer, uint32_t set) {
    return (struct pooled){layer->edges + layer->starts[set],
                           layer->starts[set + 1] - layer->starts[set], layer->sum_scales[set]};
}

/* The two usual ways. */
KG_INLINED void pool_both(real *restrict out, const real *restrict messages, struct pooled p,
                          size_t width, size_t next) {
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
        out[next + k] = most[k];
    }
}

/* Of the messages of a set: what the other ways are made of. */
struct summary {
    real sum[COLUMNS];
    real squares[COLUMNS];
    real most[COLUMNS];
    real least[COLUMNS];
};

KG_INLINED void summarise(struct summary *s, const real *restrict messages, struct pooled p,
                          size_t width) {
    for (size_t k = 0; k < COLUMNS; k++) {
        s->sum[k] = s->squares[k] = 0;
        s->most[k] = (real)-INFINITY;
        s->least[k] = (real)INFINITY;
    }
    for (size_t i = 0; i < p.count; i++) {
        const real *message = KG_ALIGNED(messages + p.edges[i] * width);
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++) {
            s->sum[k] += message[k];
            s->squares[k] += message[k] * message[k];
            s->most[k] = message[k] > s->most[k] ? message[k] : s->most[k];
            s->least[k] = message[k] < s->least[k] ? message[k] : s->least[k];
        }
    }
}

KG_INLINED void pool_way(real *restrict out, const struct summary *s, struct pooled p,
                         unsigned way) {
    real each = 1 / (real)p.count;
    out = KG_ALIGNED(out);
#pragma omp simd
    for (size_t k = 0; k < COLUMNS; k++) {
        real mean = each * s->sum[k];
        real variance = each * s->squares[k] - mean * mean;
        real spread = KG_SQRT((variance > 0 ? variance : 0) + KG_PROPAGATION_SMALL);
        real scaled = (way == KG_POOL_SUM ? p.scale : 1) * s->sum[k];
        real extreme = way == KG_POOL_MAX ? s->most[k] : s->least[k];
        real summed = way == KG_POOL_SPREAD ? spread : scaled;
        out[k] = way == KG_POOL_MAX || way == KG_POOL_MIN ? extreme : summed;
    }
}

/* Any of the ways. */
KG_INLINED void pool_any(real *restrict out, const real *restrict messages, struct pooled p,
                         unsigned pooling, size_t width, size_t next) {
    struct summary s;
    summarise(&s, messages, p, width);
    for (unsigned way = 1; way <= pooling; way <<= 1) {
        if ((pooling & way) == 0)
            continue;
        pool_way(out, &s, p, way);
        out += next;
    }
}

KG_CLONES static void pool(real *out, const kg_pooled_sets *sets) {
    const real *messages = sets->layer->messages;
    size_t width = sets->width;
    size_t next = sets->count * width; /* from what is pooled in one way to the next */
    for (size_t i = 0; i < sets->count; i++) {
        struct pooled p = pooled_of(sets->layer, sets->sets[i]);
        for (size_t k = 0; k < width; k += COLUMNS)
            if (sets->pooling == BOTH)
                pool_both(out + k, messages + k, p, width, next);
            else
                pool_any(out + k, messages + k, p, sets->pooling, width, next);
        out += width;
    }
}

void kg__pool(real *out, const kg_pooled_sets *sets) {
    pool(out, sets);
}

/* Of several messages that are the largest the first gets the gradient: `left` is what none has got
 * yet. What is kept of it has a loop of its own, or gcc makes branches in place of vector code. */
KG_INLINED void both_backward(real *restrict on_messages, const real *restrict g,
                              const real *restrict pooled, const real *restrict messages,
                              struct pooled p, size_t width, size_t next) {
    g = KG_ALIGNED(g);
    pooled = KG_ALIGNED(pooled);
    real on_each[COLUMNS];
    real left[COLUMNS];
    real most[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++) {
        on_each[k] = p.scale * g[k];
        left[k] = g[next + k];
        most[k] = pooled[next + k];
    }
    for (size_t i = 0; i < p.count; i++) {
        const real *message = KG_ALIGNED(messages + p.edges[i] * width);
        real *out = KG_ALIGNED(on_messages + p.edges[i] * width);
        real kept[COLUMNS];
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++)
            kept[k] = message[k] < most[k] ? left[k] : 0;
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++) {
            out[k] += on_each[k] + (left[k] - kept[k]);
            left[k] = kept[k];
        }
    }
}

/* What goes to all messages alike, to the largest, to the smallest, and to each by its distance
 * from the mean. */
struct on_pooled {
    real each[COLUMNS];
    real most[COLUMNS];
    real least[COLUMNS];
    real slope[COLUMNS];
};

KG_INLINED void split_gradient(struct on_pooled *on, const real *restrict g,
                               const real *restrict pooled, struct pooled p, unsigned way) {
    g = KG_ALIGNED(g);
    pooled = KG_ALIGNED(pooled);
    for (size_t k = 0; k < COLUMNS; k++)
        if (way == KG_POOL_MAX)
            on->most[k] = g[k];
        else if (way == KG_POOL_MIN)
            on->least[k] = g[k];
        else if (way == KG_POOL_SPREAD)
            on->slope[k] = g[k] / ((real)p.count * pooled[k]);
        else
            on->each[k] += (way == KG_POOL_SUM ? p.scale : 1) * g[k];
}

KG_INLINED void any_backward(real *restrict on_messages, const real *restrict g,
                             const real *restrict pooled, const real *restrict messages,
                             struct pooled p, unsigned pooling, size_t width, size_t next) {
    struct on_pooled on = {0};
    struct summary s;
    real each = 1 / (real)p.count;
    summarise(&s, messages, p, width);
    for (unsigned way = 1; way <= pooling; way <<= 1) {
        if ((pooling & way) == 0)
            continue;
        split_gradient(&on, g, pooled, p, way);
        g += next;
        pooled += next;
    }
    for (size_t i = 0; i < p.count; i++) {
        const real *message = KG_ALIGNED(messages + p.edges[i] * width);
        real *out = KG_ALIGNED(on_messages + p.edges[i] * width);
        real most[COLUMNS];
        real least[COLUMNS];
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++) {
            most[k] = message[k] < s.most[k] ? on.most[k] : 0;
            least[k] = message[k] > s.least[k] ? on.least[k] : 0;
        }
#pragma omp simd
        for (size_t k = 0; k < COLUMNS; k++) {
            out[k] += on.each[k] + (on.most[k] - most[k]) + (on.least[k] - least[k]) +
                      on.slope[k] * (message[k] - each * s.sum[k]);
            on.most[k] = most[k];
            on.least[k] = least[k];
        }
    }
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
                                    const real *pooled, const kg_pooled_sets *sets) {
    const real *messages = sets->layer->messages;
    size_t width = sets->width;
    size_t next = sets->count * width;
    for (size_t i = 0; i < sets->count; i++) {
        struct pooled p = pooled_of(sets->layer, sets->sets[i]);
        use_messages(on_messages, is_used, p, width);
        for (size_t k = 0; k < width; k += COLUMNS)
            if (sets->pooling == BOTH)
                both_backward(on_messages + k, g + k, pooled + k, messages + k, p, width, next);
            else
                any_backward(on_messages + k, g + k, pooled + k, messages + k, p, sets->pooling,
                             width, next);
        g += width;
        pooled += width;
    }
}

void kg__pool_backward(real *on_messages, bool *is_used, const real *on_pooled, const real *pooled,
                       const kg_pooled_sets *sets) {
    pool_backward(on_messages, is_used, on_pooled, pooled, sets);
}
