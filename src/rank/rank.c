/* Tiles of queries, ranked in parallel. */
#include "rank/rank.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "aggregate/ials.h"
#include "base/memory.h"
#include "base/thread_count.h"
#include "math/linalg.h"
#include "rank/rank_worker.h"
#include "rank/shared_rank.h"

/* As many queries from `from` up to `to` as there is room for. */
static kg_status rank_some(const kg_ranking *ranking, kg_rank_worker *worker, size_t from,
                           size_t to, size_t *done) {
    size_t dim = ranking->blocks.params.dim;
    KG_TRY(kg__query_embedder_vectors(&worker->embedder, worker->vectors, worker->starts, done,
                                      ranking->queries, from, to, NULL));
    for (size_t i = 0; i < *done; i++) {
        kg_offset_run offsets = {
            kg__score_offsets_from(&worker->embedder.offsets, worker->starts[i]),
            worker->starts[i + 1] - worker->starts[i]};
        worker->counters[i] =
            kg__rank_counter(ranking, from + i, worker->vectors + i * dim, offsets);
    }
    kg__rank_counts_run(worker->counters, *done, &ranking->blocks, &worker->approx);
    kg__rank_take(ranking, worker->counters, from, *done);
    return KG_OK;
}

static kg_status rank_tile(const kg_ranking *ranking, kg_rank_worker *worker, size_t tile) {
    size_t from = tile * KG_TILE;
    size_t left = ranking->queries->count - from;
    size_t to = from + (left < KG_TILE ? left : KG_TILE);
    for (size_t done = 0; from < to; from += done)
        KG_TRY(rank_some(ranking, worker, from, to, &done));
    return KG_OK;
}

/* Each thread takes the next tile when it is free. The caller's own thread is the first, and the
 * only one that reports progress. A failure ends the loop of all threads. */
static kg_status rank_alone(const kg_ranking *ranking, kg_error *error) {
    size_t count = ranking->queries->count;
    size_t tiles = (count + KG_TILE - 1) / KG_TILE;
    atomic_size_t next = 0;
    kg_status status = KG_OK;
#pragma omp parallel num_threads(ranking->threads)
    {
        int thread = omp_get_thread_num();
        for (size_t tile; (tile = atomic_fetch_add(&next, 1)) < tiles;) {
            kg_status own = KG_OK;
            if (thread == 0)
                own = kg__rank_report(ranking, tile * KG_TILE, count, error);
            if (own == KG_OK)
                own = rank_tile(ranking, &ranking->workers[thread], tile);
            if (own == KG_OK)
                continue;
            atomic_store(&next, tiles);
#pragma omp critical
            status = own;
        }
    }
    return status == KG_NO_MEMORY ? kg__fail_memory(error) : status;
}

static kg_status rank_all(kg_ranking *ranking, kg_error *error) {
    const kg_rank_options *options = ranking->options;
    size_t first = kg__ranks_number(options->ranks);
    size_t every = kg__ranks_count(options->ranks);
    for (size_t block = first; block < ranking->blocks.count; block += every)
        kg__blocks_measure(&ranking->blocks, block);
    return every > 1 ? kg__shared_rank(ranking, error) : rank_alone(ranking, error);
}

kg_status kg__rank(double *ranks, const kg_queries *queries, const kg_params *params,
                   const kg_rank_options *options, kg_error *error) {
    kg_ranking ranking = {.queries = queries,
                          .options = options,
                          .threads = kg__threads((uint64_t)options->threads),
                          .own_ranks = options->own_ranks};
    ranking.ranks = ranks;
    int opened = 0;
    kg_params moved = {0};
    if (queries->new_graph)
        KG_TRY(kg__params_on_graph(&moved, params, &queries->given, error));
    kg_params ranked = queries->new_graph ? moved : *params;
    if (options->embedding.average != NULL)
        memset(ranked.terms, 0, sizeof ranked.terms); /* every entity has the same answers */
    size_t own = ranked.later == NULL ? queries->candidates : ranked.later->first;
    double *gram = NULL;
    ranking.workers = kg__alloc((size_t)ranking.threads, sizeof *ranking.workers);
    kg_status status = ranking.workers == NULL ? kg__fail_memory(error)
                                               : kg__linear_set_up(ranking.threads, error);
    if (status == KG_OK)
        status = kg__gram_make(&gram, options->embedding.aggregate.aggregator, &ranked, own, error);
    ranked.gram = gram;
    if (status == KG_OK)
        status = kg__blocks_open(&ranking.blocks, &ranked, queries->candidates, error);
    for (; status == KG_OK && opened < ranking.threads; opened++)
        status = kg__rank_worker_open(&ranking.workers[opened], &ranking, error);
    if (status == KG_OK)
        status = rank_all(&ranking, error);
    for (int i = 0; i < opened; i++)
        kg__rank_worker_close(&ranking.workers[i]);
    kg__free(ranking.workers);
    kg__free(gram);
    kg__blocks_close(&ranking.blocks);
    kg__params_close_moved(&moved);
    return status;
}

kg_status kg__rank_metrics(kg_metrics *out, const kg_queries *queries, const kg_params *params,
                           const kg_rank_options *options, kg_error *error) {
    double *ranks = kg__alloc(queries->count, sizeof *ranks);
    if (ranks == NULL)
        return kg__fail_memory(error);
    kg_status status = kg__rank(ranks, queries, params, options, error);
    *out = (kg_metrics){0};
    for (size_t i = 0; i < queries->count && status == KG_OK; i++)
        kg__metrics_add(out, ranks[i]);
    kg__metrics_mean(out);
    kg__free(ranks);
    return status;
}
