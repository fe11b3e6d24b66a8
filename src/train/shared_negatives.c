/* Pieces of queries times blocks of negatives, three times: scores, gradients on negatives,
 * gradients on queries. In between, each block turns its scores into powers of e, by the largest
 * score that the block itself has; a query's are normalised by their sum over all blocks. As many
 * pieces are a tile as their scores fit into memory. */
#include "train/shared_negatives.h"

#include <math.h>
#include <string.h>

#include "math/linalg.h"
#include "math/vector.h"

#define BLOCK 128           /* negatives */
#define PIECE 256           /* queries at most */
#define MOST_SCORES 4194304 /* of a tile, unless it is a single piece */

/* Queries of a shard, whose scores are multiplied at once. */
struct piece {
    size_t from;
    size_t rows;
    const kg_shared_negatives_branch *branch;
    size_t shard;  /* of the branch */
    bool is_first; /* of its shard */
    bool is_last;
};

/* Consecutive pieces, and memory for the largest tile. */
struct tile {
    const kg_shared_negatives_batch *batch;
    const struct piece *pieces;
    size_t piece_count;
    size_t from; /* queries */
    size_t rows;
    size_t blocks;
    real *scores; /* for each piece, and in it for each block, rows x negatives in the block */
    real *shifts; /* likewise, rows: the largest score, then what its powers are scaled by */
    real *sums;   /* likewise: the sums of powers */
    real *levels; /* KG_TREE_DEPTH x negatives x dim: gradients that are to be added to others */
    uint32_t *mask_starts; /* for each block and one more: its masks */
    kg_mask *masks;        /* of the tile, block by block */
};

static size_t block_size(const struct tile *t, size_t block) {
    size_t left = t->batch->negative_count - block * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

static real *scores_of(const struct tile *t, const struct piece *piece, size_t block) {
    return t->scores + (piece->from - t->from) * t->batch->negative_count +
           block * BLOCK * piece->rows;
}

/* Where a piece's shifts or sums for a block are. */
static size_t place_of(const struct tile *t, const struct piece *piece, size_t block) {
    return (piece->from - t->from) * t->blocks + block * piece->rows;
}

static const real *negatives_of(const struct tile *t, size_t block) {
    return t->batch->negatives + block * BLOCK * t->batch->dim;
}

static const real *vectors_of(const struct tile *t, const struct piece *piece) {
    return t->batch->vectors + piece->from * t->batch->dim;
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

static void mask_block(const struct tile *t, const struct piece *piece, size_t block) {
    size_t size = block_size(t, block);
    real *scores = scores_of(t, piece, block);
    size_t first = piece->from - t->from;
    for (size_t i = t->mask_starts[block]; i < t->mask_starts[block + 1]; i++) {
        size_t from = t->masks[i].from > first ? t->masks[i].from - first : 0;
        size_t to = t->masks[i].to > first ? t->masks[i].to - first : 0;
        for (size_t row = from; row < to && row < piece->rows; row++)
            scores[row * size + t->masks[i].negative] = (real)-INFINITY;
    }
}

/* ---- The products ---- */

static void score_block(const struct tile *t, const struct piece *piece, size_t block) {
    size_t size = block_size(t, block);
    real *scores = scores_of(t, piece, block);
    real *shifts = t->shifts + place_of(t, piece, block);
    real *sums = t->sums + place_of(t, piece, block);
    if (piece->rows == 0)
        return;
    kg__multiply(scores, piece->rows, size, t->batch->dim, 1, vectors_of(t, piece), KG_AS_IS,
                 negatives_of(t, block), KG_TRANSPOSED, 0);
    mask_block(t, piece, block);
    for (size_t row = 0; row < piece->rows; row++) {
        real *own = scores + row * size;
        real largest = kg__largest(own, size);
        shifts[row] = largest;
        sums[row] = largest == (real)-INFINITY ? 0 : kg__exp_below(own, largest, size);
    }
}

/* The logarithm of the sum over all candidates, and for each block what its powers become shares of
 * that sum by. */
static void normalize_row(const struct tile *t, const struct piece *piece, size_t row) {
    const kg_shared_negatives_batch *b = t->batch;
    size_t query = piece->from + row;
    real *shifts = t->shifts + place_of(t, piece, 0) + row;
    const real *sums = t->sums + place_of(t, piece, 0) + row;
    double largest = (double)b->own_largest[query];
    for (size_t block = 0; block < t->blocks; block++)
        largest = fmax(largest, (double)shifts[block * piece->rows] + (double)b->log_weight);
    double sum = (double)b->own_sums[query] * exp((double)b->own_largest[query] - largest);
    for (size_t block = 0; block < t->blocks; block++)
        sum += (double)sums[block * piece->rows] *
               exp((double)shifts[block * piece->rows] + (double)b->log_weight - largest);
    double log_sum = largest + log(sum);
    b->log_sums[query] = (real)log_sum;
    for (size_t block = 0; block < t->blocks; block++)
        shifts[block * piece->rows] =
            (real)exp((double)shifts[block * piece->rows] + (double)b->log_weight - log_sum);
}

static void normalize_piece(const struct tile *t, const struct piece *piece) {
    for (size_t row = 0; row < piece->rows; row++)
        normalize_row(t, piece, row);
}

/* ---- Gradients on negatives ---- */

/* Where a shard's gradients on a block go: those of the first of a branch, or of a half of it and
 * so on, are where its sum will be. */
static real *gradients_of(const struct tile *t, const kg_shared_negatives_branch *branch,
                          size_t shard, size_t block) {
    size_t size = t->batch->negative_count * t->batch->dim;
    size_t level = shard == 0 ? 0 : (size_t)__builtin_ctzl(shard);
    real *all = shard == 0 ? branch->gradients : t->levels + level * size;
    return all + block * BLOCK * t->batch->dim;
}

/* Adds up the halves that end with a shard. */
static void add_halves(const struct tile *t, const struct piece *piece, size_t block) {
    size_t size = block_size(t, block) * t->batch->dim;
    size_t end = piece->shard + 1;
    for (size_t half = 1; end % (2 * half) == 0; half *= 2) {
        real *sum = gradients_of(t, piece->branch, end - 2 * half, block);
        kg__add(sum, sum, gradients_of(t, piece->branch, end - half, block), size);
    }
}

static void backward_piece(const struct tile *t, const struct piece *piece, size_t block) {
    const kg_shared_negatives_batch *b = t->batch;
    size_t size = block_size(t, block);
    real *scores = scores_of(t, piece, block);
    real *gradients = gradients_of(t, piece->branch, piece->shard, block);
    const real *factors = t->shifts + place_of(t, piece, block);
    for (size_t row = 0; row < piece->rows; row++)
        if (factors[row] == 0) /* what is there may not be a number: all of it is masked */
            memset(scores + row * size, 0, size * sizeof *scores);
        else
            kg__scale(scores + row * size, factors[row], size);
    if (piece->rows == 0)
        memset(gradients, 0, size * b->dim * sizeof *gradients);
    else
        kg__multiply(gradients, size, b->dim, piece->rows, 1, scores, KG_TRANSPOSED,
                     vectors_of(t, piece), KG_AS_IS, piece->is_first ? 0 : 1);
    if (piece->is_last)
        add_halves(t, piece, block);
}

static void backward_block(const struct tile *t, size_t block) {
    for (size_t i = 0; i < t->piece_count; i++)
        backward_piece(t, &t->pieces[i], block);
}

static void backward_vectors(const struct tile *t, const struct piece *piece) {
    const kg_shared_negatives_batch *b = t->batch;
    real *gradients = b->vector_gradients + piece->from * b->dim;
    for (size_t block = 0; block < t->blocks && piece->rows > 0; block++)
        kg__multiply(gradients, piece->rows, b->dim, block_size(t, block), 1,
                     scores_of(t, piece, block), KG_AS_IS, negatives_of(t, block), KG_AS_IS,
                     block == 0 ? 0 : 1);
}

static void run_tile(const struct tile *t) {
#pragma omp parallel num_threads(t->batch->threads)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < t->piece_count * t->blocks; i++)
            score_block(t, &t->pieces[i / t->blocks], i % t->blocks);
#pragma omp for schedule(static)
        for (size_t i = 0; i < t->piece_count; i++)
            normalize_piece(t, &t->pieces[i]);
#pragma omp for schedule(dynamic)
        for (size_t block = 0; block < t->blocks; block++)
            backward_block(t, block);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < t->piece_count; i++)
            backward_vectors(t, &t->pieces[i]);
    }
}

/* ---- Tiles ---- */

/* Cuts a shard evenly, into as few pieces as possible; returns how many. */
static size_t cut_shard(struct piece *out, struct piece shard) {
    size_t count = shard.rows == 0 ? 1 : (shard.rows - 1) / PIECE + 1;
    for (size_t i = 0; i < count && out != NULL; i++) {
        size_t begin = i * shard.rows / count;
        out[i] = shard;
        out[i].from += begin;
        out[i].rows = (i + 1) * shard.rows / count - begin;
        out[i].is_first = i == 0;
        out[i].is_last = i + 1 == count;
    }
    return count;
}

/* The pieces of all shards; NULL: only counts them. */
static size_t cut(const kg_shared_negatives_batch *b, struct piece *out) {
    size_t count = 0;
    const size_t *cut = b->cuts;
    for (size_t i = 0; i < b->branch_count; i++)
        for (size_t shard = 0; shard < b->branches[i].shards; shard++, cut++)
            count += cut_shard(out == NULL ? NULL : out + count,
                               (struct piece){.from = cut[0],
                                              .rows = cut[1] - cut[0],
                                              .branch = &b->branches[i],
                                              .shard = shard});
    return count;
}

/* The next tile, which begins with the first of `left` pieces. */
static void fill_tile(struct tile *t, size_t left, size_t most) {
    t->from = t->pieces[0].from;
    t->rows = t->pieces[0].rows;
    t->piece_count = 1;
    while (t->piece_count < left && t->rows + t->pieces[t->piece_count].rows <= most)
        t->rows += t->pieces[t->piece_count++].rows;
}

kg_status kg__shared_negatives_run(const kg_shared_negatives_batch *b, kg_arena *arena,
                                   kg_error *error) {
    size_t blocks = (b->negative_count + BLOCK - 1) / BLOCK;
    size_t count = cut(b, NULL);
    struct piece *pieces = kg__arena_take(arena, count, sizeof *pieces);
    size_t queries = b->cuts[b->shard_count] - b->cuts[0];
    size_t most = MOST_SCORES / b->negative_count;
    most = most < PIECE ? PIECE : most;
    most = most < queries ? most : queries;
    struct tile t = {
        .batch = b,
        .pieces = pieces,
        .blocks = blocks,
        .scores = kg__arena_take(arena, most, b->negative_count * sizeof *t.scores),
        .shifts = kg__arena_take(arena, most, blocks * sizeof *t.shifts),
        .sums = kg__arena_take(arena, most, blocks * sizeof *t.sums),
        .levels =
            kg__arena_take(arena, b->negative_count * KG_TREE_DEPTH, b->dim * sizeof *t.levels),
        .mask_starts = kg__arena_take(arena, blocks + 2, sizeof *t.mask_starts),
        .masks = kg__arena_take(arena, b->mask_count, sizeof *t.masks),
    };
    if (pieces == NULL || t.scores == NULL || t.shifts == NULL || t.sums == NULL ||
        t.levels == NULL || t.mask_starts == NULL || t.masks == NULL)
        return kg__fail_memory(error);
    cut(b, pieces);
    for (size_t left = count; left > 0; left -= t.piece_count, t.pieces += t.piece_count) {
        fill_tile(&t, left, most);
        sort_masks(&t);
        run_tile(&t);
    }
    return KG_OK;
}
