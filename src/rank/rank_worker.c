/* Opening workers, and the way of a query into a counter and out of it. */
#include "rank/rank_worker.h"

#include "base/memory.h"

kg_status kg__rank_worker_open(kg_rank_worker *worker, const kg_ranking *ranking, kg_error *error) {
    const kg_params *params = &ranking->blocks.params;
    KG_TRY(kg__query_embedder_open(&worker->embedder, params, &ranking->options->embedding, error));
    worker->vectors = kg__resize(NULL, KG_TILE * params->dim, sizeof *worker->vectors);
    if (worker->vectors == NULL)
        return kg__fail_memory(error);
    return kg__approx_scores_open(&worker->approx, &ranking->blocks, error);
}

void kg__rank_worker_close(kg_rank_worker *worker) {
    kg__query_embedder_close(&worker->embedder);
    kg__free(worker->vectors);
    kg__approx_scores_close(&worker->approx);
}

kg_rank_count kg__rank_counter(const kg_ranking *ranking, size_t i, const real *vector,
                               kg_offset_run offsets) {
    const kg_queries *queries = ranking->queries;
    const kg_query *query = &queries->list[i];
    bool is_embedded = kg__query_is_embedded(queries, query, &ranking->blocks.params);
    return (kg_rank_count){.vector = vector,
                           .query = is_embedded ? query->target.directed : KG_NO_QUERY,
                           .answer = query->target.other,
                           .known = query->known,
                           .known_count = query->known_count,
                           .itself = queries->came_later ? &query->entity : NULL,
                           .offsets = offsets};
}

void kg__rank_take(const kg_ranking *ranking, const kg_rank_count *counters, size_t first,
                   size_t count) {
    kg_ties ties = ranking->options->ties;
    for (size_t i = 0; i < count; i++) {
        ranking->ranks[first + i] = kg__rank_count_rank(&counters[i], ties);
        if (ranking->own_ranks != NULL)
            ranking->own_ranks[first + i] = kg__rank_count_own_rank(&counters[i], ties);
    }
}

kg_status kg__rank_report(const kg_ranking *ranking, size_t done, size_t total, kg_error *error) {
    const kg_rank_options *options = ranking->options;
    kg_progress_report report = {.stage = options->stage == NULL ? "ranking" : options->stage,
                                 .unit = "queries",
                                 .done = done,
                                 .total = total};
    return kg__progress_tick(options->progress, &report, error);
}
