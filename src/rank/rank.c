/* Tiles of questions, on all threads. */
#include "rank/rank.h"

#include <omp.h>
#include <stdatomic.h>

#include "aggregate/ials.h"
#include "base/memory.h"
#include "base/threads.h"
#include "math/linear.h"
#include "rank/contest.h"

/* What all threads see. */
struct scene {
    const kg_questions *questions;
    kg_blocks blocks;
    kg_ties ties;
    double *ranks;
};

/* A thread, and its tile. */
struct worker {
    kg_asker asker;
    real *vectors; /* KG_TILE x dim */
    kg_proposals proposals;
    kg_contest contests[KG_TILE];
    size_t starts[KG_TILE + 1]; /* of the questions' bonuses */
};

static kg_status open_worker(struct worker *worker, const struct scene *scene,
                             const kg_rank_options *options, kg_error *error) {
    const kg_tables *tables = &scene->blocks.tables;
    KG_TRY(kg_asker_open(&worker->asker, tables, &options->embedding, error));
    worker->vectors = kg_resize(NULL, KG_TILE * tables->dim, sizeof *worker->vectors);
    if (worker->vectors == NULL)
        return kg_fail_memory(error);
    return kg_proposals_open(&worker->proposals, &scene->blocks, error);
}

static void close_worker(struct worker *worker) {
    kg_asker_close(&worker->asker);
    kg_free(worker->vectors);
    kg_proposals_close(&worker->proposals);
}

static kg_status rank_tile(const struct scene *scene, struct worker *worker, size_t tile) {
    const kg_questions *questions = scene->questions;
    size_t from = tile * KG_TILE;
    size_t count = questions->count - from < KG_TILE ? questions->count - from : KG_TILE;
    KG_TRY(kg_asker_ask(&worker->asker, worker->vectors, worker->starts, questions, from,
                        from + count, NULL));
    for (size_t i = 0; i < count; i++) {
        const kg_question *question = &questions->list[from + i];
        worker->contests[i] = (kg_contest){
            .vector = worker->vectors + i * scene->blocks.tables.dim,
            .asked = kg_question_is_embedded(questions, question) ? question->asked.directed
                                                                  : KG_NO_QUESTION,
            .answer = question->asked.other,
            .known = question->known,
            .known_count = question->known_count,
            .bonuses = kg_bonuses_from(&worker->asker.bonuses, worker->starts[i]),
            .bonus_count = worker->starts[i + 1] - worker->starts[i],
        };
    }
    kg_contests_hold(worker->contests, count, &scene->blocks, &worker->proposals);
    for (size_t i = 0; i < count; i++)
        scene->ranks[from + i] = kg_contest_rank(&worker->contests[i], scene->ties);
    return KG_OK;
}

static kg_status report(const struct scene *scene, size_t tile, const kg_rank_options *options,
                        kg_error *error) {
    kg_progress_report done = {.stage = options->stage == NULL ? "ranking" : options->stage,
                               .unit = "queries",
                               .done = tile * KG_TILE,
                               .total = scene->questions->count};
    return kg_progress_tick(options->progress, &done, error);
}

/* Each thread takes the next tile as soon as it is free. The caller's own thread is the first, and
 * the only one that reports. Who fails leaves no tile to the others. */
static kg_status rank_all(const struct scene *scene, struct worker *workers, int threads,
                          const kg_rank_options *options, kg_error *error) {
    size_t tiles = (scene->questions->count + KG_TILE - 1) / KG_TILE;
    atomic_size_t next = 0;
    kg_status status = KG_OK;
#pragma omp parallel num_threads(threads)
    {
        int thread = omp_get_thread_num();
        for (size_t tile; (tile = atomic_fetch_add(&next, 1)) < tiles;) {
            kg_status own = thread == 0 ? report(scene, tile, options, error) : KG_OK;
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
    struct scene scene = {.questions = questions, .ties = options->ties};
    scene.ranks = ranks;
    int threads = kg_threads((uint64_t)options->threads);
    int opened = 0;
    kg_tables judged = *tables;
    if (options->embedding.average != NULL)
        judged.evidence = NULL; /* what answers alike for everybody knows of none */
    double *gram = NULL;
    struct worker *workers = kg_alloc((size_t)threads, sizeof *workers);
    kg_status status = workers == NULL ? kg_fail_memory(error) : kg_linear_set_up(threads, error);
    if (status == KG_OK)
        status =
            kg_gram_make(&gram, options->embedding.aggregate.aggregator, tables, candidates, error);
    judged.gram = gram;
    if (status == KG_OK)
        status = kg_blocks_open(&scene.blocks, &judged, candidates, error);
    for (; status == KG_OK && opened < threads; opened++)
        status = open_worker(&workers[opened], &scene, options, error);
    for (size_t block = 0; status == KG_OK && block < scene.blocks.count; block++)
        kg_blocks_measure(&scene.blocks, block);
    if (status == KG_OK)
        status = rank_all(&scene, workers, threads, options, error);
    for (int i = 0; i < opened; i++)
        close_worker(&workers[i]);
    kg_free(workers);
    kg_free(gram);
    kg_blocks_close(&scene.blocks);
    return status;
}
