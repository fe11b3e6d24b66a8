/* Tiles of queries times blocks of negatives, three times: scores, gradients on negatives,
 * gradients on queries. In between, each block turns its scores into powers of e, by the largest
 * score that the block itself has; how these add up over blocks is settled query by query. */
#include "train/shared_negatives.h"

#include <math.h>
#include <string.h>

#include "math/linalg.h"
#include "math/vector.h"

#define BLOCK 128           /* negatives */
#define STRIPE 128          /* queries whose gradients are made at once */
#define MOST_SCORES 4194304 /* of a tile */

/* Queries `from` up to `from + rows`, and memory for the largest tile. */
struct tile {
    const kg_shared_negatives_batch *batch;
    size_t from;
    size_t rows;
    size_t blocks;
    real *scores; /* for each block, rows x negatives in the block */
    real *shifts; /* for each block, rows: the largest score, then what its powers are scaled by */
    real *sums;   /* likewise: the sums of powers */
    uint32_t *mask_starts; /* for each block and one more: its masks */
    kg_mask *masks;        /* of the tile, block by block */
};

static size_t block_size(const struct tile *t, size_t block) {
    size_t left = t->batch->negative_count - block * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

static real *block_scores(const struct tile *t, size_t block) {
    return t->scores + block * BLOCK * t->rows;
}

static const real *block_negatives(const struct tile *t, size_t block) {
    return t->batch->negatives + block * BLOCK * t->batch->dim;
}

static const real *tile_vectors(const struct tile *t) {
    return t->batch->vectors + t->from * t->batch->dim;
}

/* ---- Masks ---- */

/* The tile's masks, rows counted from its first, in order of their blocks. */
static void sort_masks(const struct tile *t) {
    const kg_shared_negatives_batch *b = t->batch;
    uint32_t *starts = t->mask_starts;
    memset(starts, 0, (t->blocks + 2) * sizeof *starts);
    for (int place = 0; place < 2; place++) {
        for (size_t i = 0; i < b->mask_count; i++) {
            kg_mask mask = b->masks[i];
            size_t from = mask.from > t->from ? mask.from - t->from : 0;
            size_t to = mask.to > t->from ? mask.to - t->from : 0;
            to = to < t->rows ? to : t->rows;
            if (from >= to)
                continue;
            uint32_t block = mask.negative / BLOCK;
            if (place)
                t->masks[starts[block + 1]++] =
                    (kg_mask){(uint32_t)from, (uint32_t)to, mask.negative % BLOCK};
            else
                starts[block + 2]++;
        }
        for (size_t i = 2; i < t->blocks + 2 && !place; i++)
            starts[i] += starts[i - 1];
    }
}

static void mask_block(const struct tile *t, size_t block) {
    size_t size = block_size(t, block);
    real *scores = block_scores(t, block);
    for (size_t i = t->mask_starts[block]; i < t->mask_starts[block + 1]; i++)
        for (size_t row = t->masks[i].from; row < t->masks[i].to; row++)
            scores[row * size + t->masks[i].negative] = (real)-INFINITY;
}

/* ---- The products ---- */

static void score_block(const struct tile *t, size_t block) {
    size_t size = block_size(t, block);
    real *scores = block_scores(t, block);
    kg__multiply(scores, t->rows, size, t->batch->dim, 1, tile_vectors(t), KG_AS_IS,
                 block_negatives(t, block), KG_TRANSPOSED, 0);
    mask_block(t, block);
    for (size_t row = 0; row < t->rows; row++) {
        real *own = scores + row * size;
        real largest = kg__largest(own, size);
        t->shifts[block * t->rows + row] = largest;
        t->sums[block * t->rows + row] =
            largest == (real)-INFINITY ? 0 : kg__exp_below(own, largest, size);
    }
}

/* The logarithm of the sum over all candidates, and for each block what its powers become shares of
 * that sum by. */
static void settle_row(const struct tile *t, size_t row) {
    const kg_shared_negatives_batch *b = t->batch;
    size_t query = t->from + row;
    real *shifts = t->shifts + row;
    const real *sums = t->sums + row;
    double largest = (double)b->own_largest[query];
    for (size_t block = 0; block < t->blocks; block++)
        largest = fmax(largest, (double)shifts[block * t->rows] + (double)b->log_weight);
    double sum = (double)b->own_sums[query] * exp((double)b->own_largest[query] - largest);
    for (size_t block = 0; block < t->blocks; block++)
        sum += (double)sums[block * t->rows] *
               exp((double)shifts[block * t->rows] + (double)b->log_weight - largest);
    double log_sum = largest + log(sum);
    b->log_sums[query] = (real)log_sum;
    for (size_t block = 0; block < t->blocks; block++)
        shifts[block * t->rows] =
            (real)exp((double)shifts[block * t->rows] + (double)b->log_weight - log_sum);
}

static void learn_block(const struct tile *t, size_t block) {
    const kg_shared_negatives_batch *b = t->batch;
    size_t size = block_size(t, block);
    real *scores = block_scores(t, block);
    for (size_t row = 0; row < t->rows; row++) {
        real factor = t->shifts[block * t->rows + row];
        if (factor == 0) /* what is there may not be a number: all of it is masked */
            memset(scores + row * size, 0, size * sizeof *scores);
        else
            kg__scale(scores + row * size, factor, size);
    }
    kg__multiply(b->negative_gradients + block * BLOCK * b->dim, size, b->dim, t->rows, 1, scores,
                 KG_TRANSPOSED, tile_vectors(t), KG_AS_IS, t->from == 0 ? 0 : 1);
}

static void learn_stripe(const struct tile *t, size_t stripe) {
    const kg_shared_negatives_batch *b = t->batch;
    size_t first = stripe * STRIPE;
    size_t rows = t->rows - first < STRIPE ? t->rows - first : STRIPE;
    real *gradients = b->vector_gradients + (t->from + first) * b->dim;
    for (size_t block = 0; block < t->blocks; block++) {
        size_t size = block_size(t, block);
        kg__multiply(gradients, rows, b->dim, size, 1, block_scores(t, block) + first * size,
                     KG_AS_IS, block_negatives(t, block), KG_AS_IS, block == 0 ? 0 : 1);
    }
}

static void run_tile(const struct tile *t) {
    size_t stripes = (t->rows + STRIPE - 1) / STRIPE;
#pragma omp parallel num_threads(t->batch->threads)
    {
#pragma omp for schedule(dynamic)
        for (size_t block = 0; block < t->blocks; block++)
            score_block(t, block);
#pragma omp for schedule(static)
        for (size_t row = 0; row < t->rows; row++)
            settle_row(t, row);
#pragma omp for schedule(dynamic)
        for (size_t block = 0; block < t->blocks; block++)
            learn_block(t, block);
#pragma omp for schedule(dynamic)
        for (size_t stripe = 0; stripe < stripes; stripe++)
            learn_stripe(t, stripe);
    }
}

kg_status kg__shared_negatives_run(const kg_shared_negatives_batch *b, kg_arena *arena,
                                   kg_error *error) {
    size_t blocks = (b->negative_count + BLOCK - 1) / BLOCK;
    size_t most = MOST_SCORES / b->negative_count;
    most = most < STRIPE ? STRIPE : most - most % STRIPE;
    most = most < b->count ? most : b->count;
    struct tile t = {
        .batch = b,
        .blocks = blocks,
        .scores = kg__arena_take(arena, most, b->negative_count * sizeof *t.scores),
        .shifts = kg__arena_take(arena, most, blocks * sizeof *t.shifts),
        .sums = kg__arena_take(arena, most, blocks * sizeof *t.sums),
        .mask_starts = kg__arena_take(arena, blocks + 2, sizeof *t.mask_starts),
        .masks = kg__arena_take(arena, b->mask_count, sizeof *t.masks),
    };
    if (t.scores == NULL || t.shifts == NULL || t.sums == NULL || t.mask_starts == NULL ||
        t.masks == NULL)
        return kg__fail_memory(error);
    for (; t.from < b->count; t.from += most) {
        t.rows = b->count - t.from < most ? b->count - t.from : most;
        sort_masks(&t);
        run_tile(&t);
    }
    return KG_OK;
}
