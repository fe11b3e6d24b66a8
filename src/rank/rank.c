/* Tiles of queries, ranked in parallel. */
#include "rank/rank.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "aggregate/ials.h"
#include "base/memory.h"
#include "base/thread_count.h"
#include "math/linalg.h"
#include "rank/rank_count.h"

/* Shared by all threads. */
struct context {
    const kg_queries *queries;
    kg_blocks blocks;
    kg_ties ties;
    double *ranks;
    double *own_ranks; /* NULL: not wanted */
};

/* One per thread: its tile of queries. */
struct worker {
    kg_query_embedder embedder;
    real *vectors; /* KG_TILE x dim */
    kg_approx_scores approx;
    kg_rank_count counters[KG_TILE];
    size_t starts[KG_TILE + 1]; /* of the queries' offsets */
};

static kg_status open_worker(struct worker *worker, const struct context *context,
                             const kg_rank_options *options, kg_error *error) {
    const kg_params *params = &context->blocks.params;
    KG_TRY(kg__query_embedder_open(&worker->embedder, params, &options->embedding, error));
    worker->vectors = kg__resize(NULL, KG_TILE * params->dim, sizeof *worker->vectors);
    if (worker->vectors == NULL)
        return kg__fail_memory(error);
    return kg__approx_scores_open(&worker->approx, &context->blocks, error);
}

static void close_worker(struct worker *worker) {
    kg__query_embedder_close(&worker->embedder);
    kg__free(worker->vectors);
    kg__approx_scores_close(&worker->approx);
}

/* As many queries from `from` up to `to` as there is room for. */
static kg_status rank_some(const struct context *context, struct worker *worker, size_t from,
                           size_t to, size_t *done) {
    const kg_queries *queries = context->queries;
    KG_TRY(kg__query_embedder_vectors(&worker->embedder, worker->vectors, worker->starts, done,
                                      queries, from, to, NULL));
    for (size_t i = 0; i < *done; i++) {
        const kg_query *query = &queries->list[from + i];
        worker->counters[i] = (kg_rank_count){
            .vector = worker->vectors + i * context->blocks.params.dim,
            .query = kg__query_is_embedded(queries, query, &context->blocks.params)
                         ? query->target.directed
                         : KG_NO_QUERY,
            .answer = query->target.other,
            .known = query->known,
            .known_count = query->known_count,
            .itself = queries->came_later ? &query->entity : NULL,
            .offsets = {kg__score_offsets_from(&worker->embedder.offsets, worker->starts[i]),
                        worker->starts[i + 1] - worker->starts[i]},
        };
    }
    kg__rank_counts_run(worker->counters, *done, &context->blocks, &worker->approx);
    for (size_t i = 0; i < *done; i++) {
        context->ranks[from + i] = kg__rank_count_rank(&worker->counters[i], context->ties);
        if (context->own_ranks != NULL)
            context->own_ranks[from + i] =
                kg__rank_count_own_rank(&worker->counters[i], context->ties);
    }
    return KG_OK;
}

static kg_status rank_tile(const struct context *context, struct worker *worker, size_t tile) {
    size_t from = tile * KG_TILE;
    size_t left = context->queries->count - from;
    size_t to = from + (left < KG_TILE ? left : KG_TILE);
    for (size_t done = 0; from < to; from += done)
        KG_TRY(rank_some(context, worker, from, to, &done));
    return KG_OK;
}

/* Tiles of queries that one rank takes. */
struct share {
    size_t from;
    size_t to;
};

static struct share share_of(const struct context *context, const kg_ranks *ranks, size_t rank) {
    size_t tiles = (context->queries->count + KG_TILE - 1) / KG_TILE;
    return (struct share){kg__ranks_begin(ranks, rank, tiles),
                          kg__ranks_begin(ranks, rank + 1, tiles)};
}

static size_t count_queries(const struct context *context, struct share share) {
    size_t from = share.from * KG_TILE;
    size_t to = share.to * KG_TILE;
    return (to < context->queries->count ? to : context->queries->count) -
           (from < context->queries->count ? from : context->queries->count);
}

static kg_status report(const struct context *context, struct share share, size_t tile,
                        const kg_rank_options *options, kg_error *error) {
    kg_progress_report done = {.stage = options->stage == NULL ? "ranking" : options->stage,
                               .unit = "queries",
                               .done = (tile - share.from) * KG_TILE,
                               .total = count_queries(context, share)};
    return kg__progress_tick(options->progress, &done, error);
}

/* Each thread takes the next tile when it is free. The caller's own thread is the first, and the
 * only one that reports progress. A failure ends the loop of all threads. */
static kg_status rank_share(const struct context *context, struct share share,
                            struct worker *workers, int threads, const kg_rank_options *options,
                            kg_error *error) {
    atomic_size_t next = share.from;
    kg_status status = KG_OK;
#pragma omp parallel num_threads(threads)
    {
        int thread = omp_get_thread_num();
        for (size_t tile; (tile = atomic_fetch_add(&next, 1)) < share.to;) {
            kg_status own = thread == 0 ? report(context, share, tile, options, error) : KG_OK;
            if (own == KG_OK)
                own = rank_tile(context, &workers[thread], tile);
            if (own == KG_OK)
                continue;
            atomic_store(&next, share.to);
#pragma omp critical
            status = own;
        }
    }
    return status == KG_NO_MEMORY ? kg__fail_memory(error) : status;
}

/* Gives all ranks what each has found for its queries. */
static kg_status share_ranks(const struct context *context, double *ranks_of_queries,
                             kg_ranks *ranks, kg_error *error) {
    kg_arena arena = {0};
    kg_message *out = kg__arena_take(&arena, ranks->count, sizeof *out);
    kg_message *in = kg__arena_take(&arena, ranks->count, sizeof *in);
    kg_status status = out == NULL || in == NULL ? kg__fail_memory(error) : KG_OK;
    struct share own = share_of(context, ranks, ranks->number);
    for (size_t i = 0; i < ranks->count && status == KG_OK; i++)
        out[i] = (kg_message){ranks_of_queries + own.from * KG_TILE,
                              count_queries(context, own) * sizeof *ranks_of_queries};
    if (status == KG_OK)
        status = kg__ranks_exchange(ranks, in, out, &arena, error);
    for (size_t i = 0; i < ranks->count && status == KG_OK; i++)
        if (i != ranks->number && in[i].size > 0)
            memcpy(ranks_of_queries + share_of(context, ranks, i).from * KG_TILE, in[i].bytes,
                   in[i].size);
    kg__arena_free(&arena);
    return status;
}

static kg_status rank_all(const struct context *context, struct worker *workers, int threads,
                          const kg_rank_options *options, kg_error *error) {
    kg_ranks *ranks = options->ranks;
    struct share own = share_of(context, ranks, kg__ranks_number(ranks));
    kg_status status = rank_share(context, own, workers, threads, options, error);
    KG_TRY(kg__ranks_agree(ranks, status, error));
    if (!kg__ranks_many(ranks))
        return KG_OK;
    KG_TRY(share_ranks(context, context->ranks, ranks, error));
    return context->own_ranks == NULL ? KG_OK
                                      : share_ranks(context, context->own_ranks, ranks, error);
}

kg_status kg__rank(double *ranks, const kg_queries *queries, const kg_params *params,
                   const kg_rank_options *options, kg_error *error) {
    struct context context = {
        .queries = queries, .ties = options->ties, .own_ranks = options->own_ranks};
    context.ranks = ranks;
    int threads = kg__threads((uint64_t)options->threads);
    int opened = 0;
    kg_params moved = {0};
    if (queries->new_graph)
        KG_TRY(kg__params_on_graph(&moved, params, &queries->given, error));
    kg_params ranked = queries->new_graph ? moved : *params;
    if (options->embedding.average != NULL)
        memset(ranked.terms, 0, sizeof ranked.terms); /* every entity has the same answers */
    size_t own = ranked.later == NULL ? queries->candidates : ranked.later->first;
    double *gram = NULL;
    struct worker *workers = kg__alloc((size_t)threads, sizeof *workers);
    kg_status status = workers == NULL ? kg__fail_memory(error) : kg__linear_set_up(threads, error);
    if (status == KG_OK)
        status = kg__gram_make(&gram, options->embedding.aggregate.aggregator, &ranked, own, error);
    ranked.gram = gram;
    if (status == KG_OK)
        status = kg__blocks_open(&context.blocks, &ranked, queries->candidates, error);
    for (; status == KG_OK && opened < threads; opened++)
        status = open_worker(&workers[opened], &context, options, error);
    for (size_t block = 0; status == KG_OK && block < context.blocks.count; block++)
        kg__blocks_measure(&context.blocks, block);
    if (status == KG_OK)
        status = rank_all(&context, workers, threads, options, error);
    for (int i = 0; i < opened; i++)
        close_worker(&workers[i]);
    kg__free(workers);
    kg__free(gram);
    kg__blocks_close(&context.blocks);
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
