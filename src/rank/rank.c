/* Tiles of questions times blocks of candidates. */
#include "rank/rank.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "math/linear.h"
#include "math/vector.h"

#define TILE 256  /* questions */
#define BLOCK 512 /* candidates: the scores of a tile and a block fit into the cache */
#define ROUND 8   /* tiles that each thread gets between two reports of progress */

/* What all threads see. */
struct scene {
    const kg_questions *questions;
    const kg_tables *tables;
    size_t candidates;
    kg_ties ties;
    real *longest; /* of each block: the length of its longest row */
    double *ranks;
};

/* A thread, and the tile at hand. */
struct worker {
    kg_asker asker;
    real *vectors; /* TILE x dim */
    real *scores;  /* TILE x BLOCK */
    real goals[TILE];
    real lengths[TILE];
    uint64_t higher[TILE];
    uint64_t equal[TILE];
};

static kg_status open_worker(struct worker *worker, const struct scene *scene,
                             const kg_rank_options *options, kg_error *error) {
    size_t dim = scene->tables->dim;
    KG_TRY(kg_asker_open(&worker->asker, scene->tables, &options->embedding, error));
    worker->vectors = kg_resize(NULL, TILE * dim, sizeof *worker->vectors);
    worker->scores = kg_resize(NULL, (size_t)TILE * BLOCK, sizeof *worker->scores);
    return worker->vectors == NULL || worker->scores == NULL ? kg_fail_memory(error) : KG_OK;
}

static void close_worker(struct worker *worker) {
    kg_asker_close(&worker->asker);
    kg_free(worker->vectors);
    kg_free(worker->scores);
}

static size_t block_size(const struct scene *scene, size_t block) {
    size_t left = scene->candidates - block * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

static kg_status measure_blocks(struct scene *scene, kg_error *error) {
    size_t blocks = (scene->candidates + BLOCK - 1) / BLOCK;
    size_t dim = scene->tables->dim;
    scene->longest = kg_alloc(blocks, sizeof *scene->longest);
    if (scene->longest == NULL)
        return kg_fail_memory(error);
    for (size_t block = 0; block < blocks; block++) {
        double longest = 0;
        for (size_t i = 0; i < block_size(scene, block); i++) {
            const real *row = kg_entity_row(scene->tables, (kg_id)(block * BLOCK + i));
            double square = (double)kg_dot(row, row, dim);
            longest = fmax(longest, square); /* passes over what is not a number */
        }
        scene->longest[block] = (real)sqrt(longest);
    }
    return KG_OK;
}

/* How far two ways of summing a dot product can lie apart: each is off by at most dim roundings of
 * the sum of absolute products, which is at most the product of the lengths; twice, and some for
 * the lengths' own errors and for what is too small to be rounded. Infinite, and so never less than
 * any difference, if a sum might overflow on the way. */
static real error_bound(size_t dim, real length, real longest) {
    real roundings = (real)(dim + 8) * KG_REAL_EPSILON;
    real largest = length * longest;
    if (!(largest < KG_REAL_MAX / 4))
        return (real)INFINITY;
    return 2 * roundings * largest * (1 + 2 * roundings) + (real)dim * KG_REAL_MIN;
}

/* Scores above `high` and below `low`; one that is not a number is neither. */
KG_CLONES static void count_sure(const real *scores, size_t count, real low, real high,
                                 uint32_t *above, uint32_t *below) {
    uint32_t a = 0;
    uint32_t b = 0;
#pragma omp simd reduction(+ : a, b)
    for (size_t i = 0; i < count; i++) {
        a += scores[i] > high ? 1 : 0;
        b += scores[i] < low ? 1 : 0;
    }
    *above = a;
    *below = b;
}

static real score(const struct scene *scene, const real *vector, kg_id candidate) {
    return kg_dot(kg_entity_row(scene->tables, candidate), vector, scene->tables->dim);
}

/* Counts the candidates of a block for question i of the tile. */
static void count_block(const struct scene *scene, struct worker *worker, size_t i, size_t block) {
    size_t count = block_size(scene, block);
    const real *scores = worker->scores + i * count;
    real goal = worker->goals[i];
    real bound = error_bound(scene->tables->dim, worker->lengths[i], scene->longest[block]);
    real low = goal - bound;
    real high = goal + bound;
    uint32_t above = 0;
    uint32_t below = 0;
    count_sure(scores, count, low, high, &above, &below);
    worker->higher[i] += above;
    if (above + below == count)
        return;
    for (size_t k = 0; k < count; k++) {
        if (scores[k] > high || scores[k] < low)
            continue;
        real exact =
            score(scene, worker->vectors + i * scene->tables->dim, (kg_id)(block * BLOCK + k));
        worker->higher[i] += !(exact <= goal);
        worker->equal[i] += exact == goal;
    }
}

/* Known answers were counted like all candidates; now they are taken out again. */
static void forget_known(const struct scene *scene, struct worker *worker, size_t i,
                         const kg_question *question) {
    for (size_t k = 0; k < question->known_count; k++) {
        kg_id candidate = question->known[k].other;
        if (candidate >= scene->candidates)
            continue;
        real exact = score(scene, worker->vectors + i * scene->tables->dim, candidate);
        worker->higher[i] -= !(exact <= worker->goals[i]);
        worker->equal[i] -= exact == worker->goals[i];
    }
}

static kg_status rank_tile(const struct scene *scene, struct worker *worker, size_t tile) {
    const kg_questions *questions = scene->questions;
    size_t dim = scene->tables->dim;
    size_t from = tile * TILE;
    size_t count = questions->count - from < TILE ? questions->count - from : TILE;
    KG_TRY(kg_asker_ask(&worker->asker, worker->vectors, questions, from, from + count, NULL));
    for (size_t i = 0; i < count; i++) {
        const real *vector = worker->vectors + i * dim;
        worker->goals[i] = score(scene, vector, questions->list[from + i].asked.other);
        worker->lengths[i] = (real)sqrt((double)kg_dot(vector, vector, dim));
        worker->higher[i] = 0;
        worker->equal[i] = 0;
    }
    for (size_t block = 0; block * BLOCK < scene->candidates; block++) {
        size_t size = block_size(scene, block);
        kg_multiply(worker->scores, count, size, dim, 1, worker->vectors, KG_AS_IS,
                    kg_entity_row(scene->tables, (kg_id)(block * BLOCK)), KG_TRANSPOSED, 0);
        for (size_t i = 0; i < count; i++)
            count_block(scene, worker, i, block);
    }
    for (size_t i = 0; i < count; i++) {
        forget_known(scene, worker, i, &questions->list[from + i]);
        scene->ranks[from + i] = kg_rank_of(worker->higher[i], worker->equal[i], scene->ties);
    }
    return KG_OK;
}

static kg_status rank_all(const struct scene *scene, struct worker *workers,
                          const kg_rank_options *options, kg_error *error) {
    size_t tiles = (scene->questions->count + TILE - 1) / TILE;
    size_t round = (size_t)options->threads * ROUND;
    for (size_t from = 0; from < tiles; from += round) {
        kg_progress_report report = {.stage = "ranking",
                                     .unit = "queries",
                                     .done = from * TILE,
                                     .total = scene->questions->count};
        KG_TRY(kg_progress_tick(options->progress, &report, error));
        size_t to = tiles - from < round ? tiles : from + round;
        bool good = true;
#pragma omp parallel for schedule(dynamic) num_threads(options->threads) reduction(&& : good)
        for (size_t tile = from; tile < to; tile++)
            good = rank_tile(scene, &workers[omp_get_thread_num()], tile) == KG_OK && good;
        if (!good) /* nothing else can go wrong there */
            return kg_fail_memory(error);
    }
    return KG_OK;
}

kg_status kg_rank(double *ranks, const kg_questions *questions, const kg_tables *tables,
                  size_t candidates, const kg_rank_options *options, kg_error *error) {
    struct scene scene = {
        .questions = questions, .tables = tables, .candidates = candidates, .ties = options->ties};
    scene.ranks = ranks;
    size_t threads = (size_t)options->threads;
    size_t opened = 0;
    struct worker *workers = kg_alloc(threads, sizeof *workers);
    kg_status status = workers == NULL ? kg_fail_memory(error) : KG_OK;
    kg_linear_set_up();
    for (; status == KG_OK && opened < threads; opened++)
        status = open_worker(&workers[opened], &scene, options, error);
    if (status == KG_OK)
        status = measure_blocks(&scene, error);
    if (status == KG_OK)
        status = rank_all(&scene, workers, options, error);
    for (size_t i = 0; i < opened; i++)
        close_worker(&workers[i]);
    kg_free(workers);
    kg_free(scene.longest);
    return status;
}
