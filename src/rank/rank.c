/* Tiles of questions times blocks of candidates. */
#include "rank/rank.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "math/linear.h"
#include "math/vector.h"

/* Large enough that BLAS copies little in proportion, small enough for the scores of a tile and a
 * block to stay in the cache. */
#define TILE 512  /* questions */
#define BLOCK 384 /* candidates */
#define STRIP 64  /* candidates whose scores are counted at once */

/* What all threads see. */
struct scene {
    const kg_questions *questions;
    const kg_tables *tables;
    size_t candidates;
    kg_ties ties;
    real *longest; /* of each block: the length of its longest row */
    double *ranks;
};

struct tally {
    uint64_t higher; /* candidates that score better than the answer */
    uint64_t equal;
};

/* A question of the tile at hand, against the candidates that it has met so far. */
struct contest {
    const real *vector;
    real length; /* of the vector */
    real goal;   /* the answer's score */
    struct tally all;
    struct tally known;      /* the known answers among them, which do not count */
    const kg_link *next;     /* the first known answer that it has not met */
    const kg_link *last_end; /* behind the last */
};

/* A thread, and its tile. */
struct worker {
    kg_asker asker;
    real *vectors; /* TILE x dim */
    real *scores;  /* TILE x BLOCK */
    struct contest contests[TILE];
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
            longest = fmax(longest, kg_length(row, dim)); /* passes over what is not a number */
        }
        scene->longest[block] = (real)longest;
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

/* Scores a candidate again, now for good. */
static void settle(struct tally *tally, const struct scene *scene, const struct contest *contest,
                   kg_id candidate) {
    real exact = score(scene, contest->vector, candidate);
    tally->higher += !(exact <= contest->goal);
    tally->equal += exact == contest->goal;
}

/* Candidates from `first` on, by their proposed scores and how far these are off at most. */
struct proposal {
    kg_id first;
    size_t count;
    const real *scores;
    real low; /* what is below it is lower than the answer's score, what is above `high` higher */
    real high;
};

/* Strip by strip, since doubts are few, and only those strips are looked at twice. */
static void count_all(struct contest *contest, const struct scene *scene,
                      const struct proposal *proposal) {
    for (size_t from = 0; from < proposal->count; from += STRIP) {
        size_t left = proposal->count - from;
        size_t count = left < STRIP ? left : STRIP;
        const real *scores = proposal->scores + from;
        uint32_t above = 0;
        uint32_t below = 0;
        count_sure(scores, count, proposal->low, proposal->high, &above, &below);
        contest->all.higher += above;
        for (size_t k = 0; k < count && above + below < count; k++)
            if (!(scores[k] > proposal->high || scores[k] < proposal->low))
                settle(&contest->all, scene, contest, proposal->first + (kg_id)(from + k));
    }
}

/* Known answers are sorted, so those of a block follow those of the block before. */
static void count_known(struct contest *contest, const struct scene *scene,
                        const struct proposal *proposal) {
    for (; contest->next < contest->last_end; contest->next++) {
        size_t k = contest->next->other - proposal->first;
        if (k >= proposal->count)
            return;
        if (proposal->scores[k] > proposal->high)
            contest->known.higher++;
        else if (!(proposal->scores[k] < proposal->low))
            settle(&contest->known, scene, contest, contest->next->other);
    }
}

static void rank_block(const struct scene *scene, struct worker *worker, size_t count,
                       size_t block) {
    size_t dim = scene->tables->dim;
    struct proposal proposal = {.first = (kg_id)(block * BLOCK), .count = block_size(scene, block)};
    kg_multiply(worker->scores, count, proposal.count, dim, 1, worker->vectors, KG_AS_IS,
                kg_entity_row(scene->tables, proposal.first), KG_TRANSPOSED, 0);
    for (size_t i = 0; i < count; i++) {
        struct contest *contest = &worker->contests[i];
        real bound = error_bound(dim, contest->length, scene->longest[block]);
        proposal.scores = worker->scores + i * proposal.count;
        proposal.low = contest->goal - bound;
        proposal.high = contest->goal + bound;
        count_all(contest, scene, &proposal);
        count_known(contest, scene, &proposal);
    }
}

static kg_status rank_tile(const struct scene *scene, struct worker *worker, size_t tile) {
    const kg_questions *questions = scene->questions;
    size_t dim = scene->tables->dim;
    size_t from = tile * TILE;
    size_t count = questions->count - from < TILE ? questions->count - from : TILE;
    KG_TRY(kg_asker_ask(&worker->asker, worker->vectors, questions, from, from + count, NULL));
    for (size_t i = 0; i < count; i++) {
        const kg_question *question = &questions->list[from + i];
        const real *vector = worker->vectors + i * dim;
        worker->contests[i] = (struct contest){
            .vector = vector,
            .length = (real)kg_length(vector, dim),
            .goal = score(scene, vector, question->asked.other),
            .next = question->known,
            .last_end = question->known + question->known_count,
        };
    }
    for (size_t block = 0; block * BLOCK < scene->candidates; block++)
        rank_block(scene, worker, count, block);
    for (size_t i = 0; i < count; i++) {
        const struct contest *contest = &worker->contests[i];
        scene->ranks[from + i] = kg_rank_of(contest->all.higher - contest->known.higher,
                                            contest->all.equal - contest->known.equal, scene->ties);
    }
    return KG_OK;
}

static kg_status report(const struct scene *scene, size_t tile, const kg_progress *progress,
                        kg_error *error) {
    kg_progress_report done = {.stage = "ranking",
                               .unit = "queries",
                               .done = tile * TILE,
                               .total = scene->questions->count};
    return kg_progress_tick(progress, &done, error);
}

/* Each thread takes the next tile as soon as it is free. The caller's own thread is the first, and
 * the only one that reports. Who fails leaves no tile to the others. */
static kg_status rank_all(const struct scene *scene, struct worker *workers,
                          const kg_rank_options *options, kg_error *error) {
    size_t tiles = (scene->questions->count + TILE - 1) / TILE;
    atomic_size_t next = 0;
    kg_status status = KG_OK;
#pragma omp parallel num_threads(options->threads)
    {
        int thread = omp_get_thread_num();
        for (size_t tile; (tile = atomic_fetch_add(&next, 1)) < tiles;) {
            kg_status own = thread == 0 ? report(scene, tile, options->progress, error) : KG_OK;
            if (own == KG_OK)
                own = rank_tile(scene, &workers[thread], tile);
            if (own == KG_OK)
                continue;
            atomic_store(&next, tiles);
#pragma omp critical
            status = own;
        }
    }
    return status == KG_NO_MEMORY ? kg_fail_memory(error) : status;
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
