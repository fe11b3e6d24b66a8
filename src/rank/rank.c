/* Tiles of questions, on all threads. */
#include "rank/rank.h"

#include <omp.h>
#include <stdatomic.h>

#include "aggregate/ials.h"
#include "base/memory.h"
#include "base/threads.h"
#include "math/linear.h"
#include "rank/rank_count.h"

/* What all threads see. */
struct scene {
    const kg_queries *questions;
    kg_blocks blocks;
    kg_ties ties;
    double *ranks;
};

/* A thread, and its tile. */
struct worker {
    kg_query_embedder asker;
    real *vectors; /* KG_TILE x dim */
    kg_approx_scores proposals;
    kg_rank_count contests[KG_TILE];
    size_t starts[KG_TILE + 1]; /* of the questions' bonuses */
};

static kg_status open_worker(struct worker *worker, const struct scene *scene,
                             const kg_rank_options *options, kg_error *error) {
    const kg_params *params = &scene->blocks.params;
    KG_TRY(kg__query_embedder_open(&worker->asker, params, &options->embedding, error));
    worker->vectors = kg__resize(NULL, KG_TILE * params->dim, sizeof *worker->vectors);
    if (worker->vectors == NULL)
        return kg__fail_memory(error);
    return kg__approx_scores_open(&worker->proposals, &scene->blocks, error);
}

static void close_worker(struct worker *worker) {
    kg__query_embedder_close(&worker->asker);
    kg__free(worker->vectors);
    kg__approx_scores_close(&worker->proposals);
}

static kg_status rank_tile(const struct scene *scene, struct worker *worker, size_t tile) {
    const kg_queries *questions = scene->questions;
    size_t from = tile * KG_TILE;
    size_t count = questions->count - from < KG_TILE ? questions->count - from : KG_TILE;
    KG_TRY(kg__query_embedder_ask(&worker->asker, worker->vectors, worker->starts, questions, from,
                                  from + count, NULL));
    for (size_t i = 0; i < count; i++) {
        const kg_query *question = &questions->list[from + i];
        worker->contests[i] = (kg_rank_count){
            .vector = worker->vectors + i * scene->blocks.params.dim,
            .asked = kg__query_is_embedded(questions, question) ? question->asked.directed
                                                                : KG_NO_QUESTION,
            .answer = question->asked.other,
            .known = question->known,
            .known_count = question->known_count,
            .bonuses = kg__score_offsets_from(&worker->asker.bonuses, worker->starts[i]),
            .bonus_count = worker->starts[i + 1] - worker->starts[i],
        };
    }
    kg__rank_counts_run(worker->contests, count, &scene->blocks, &worker->proposals);
    for (size_t i = 0; i < count; i++)
        scene->ranks[from + i] = kg__rank_count_rank(&worker->contests[i], scene->ties);
    return KG_OK;
}

static kg_status report(const struct scene *scene, size_t tile, const kg_rank_options *options,
                        kg_error *error) {
    kg_progress_report done = {.stage = options->stage == NULL ? "ranking" : options->stage,
                               .unit = "queries",
                               .done = tile * KG_TILE,
                               .total = scene->questions->count};
    return kg__progress_tick(options->progress, &done, error);
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
    return status == KG_NO_MEMORY ? kg__fail_memory(error) : status;
}

kg_status kg__rank(double *ranks, const kg_queries *questions, const kg_params *params,
                   size_t candidates, const kg_rank_options *options, kg_error *error) {
    struct scene scene = {.questions = questions, .ties = options->ties};
    scene.ranks = ranks;
    int threads = kg__threads((uint64_t)options->threads);
    int opened = 0;
    kg_params judged = *params;
    if (options->embedding.average != NULL)
        judged.evidence = NULL; /* what answers alike for everybody knows of none */
    double *gram = NULL;
    struct worker *workers = kg__alloc((size_t)threads, sizeof *workers);
    kg_status status = workers == NULL ? kg__fail_memory(error) : kg__linear_set_up(threads, error);
    if (status == KG_OK)
        status = kg__gram_make(&gram, options->embedding.aggregate.aggregator, params, candidates,
                               error);
    judged.gram = gram;
    if (status == KG_OK)
        status = kg__blocks_open(&scene.blocks, &judged, candidates, error);
    for (; status == KG_OK && opened < threads; opened++)
        status = open_worker(&workers[opened], &scene, options, error);
    for (size_t block = 0; status == KG_OK && block < scene.blocks.count; block++)
        kg__blocks_measure(&scene.blocks, block);
    if (status == KG_OK)
        status = rank_all(&scene, workers, threads, options, error);
    for (int i = 0; i < opened; i++)
        close_worker(&workers[i]);
    kg__free(workers);
    kg__free(gram);
    kg__blocks_close(&scene.blocks);
    return status;
}
