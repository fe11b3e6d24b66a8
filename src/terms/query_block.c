/* Blocks of queries: memory, and the forward and backward passes of all terms. */
#include "terms/query_block.h"

#include "base/memory.h"

kg_status kg__query_block_worker_open(kg_block_worker *worker, const kg_step_context *context,
                                      kg_error *error) {
    *worker = (kg_block_worker){0};
    worker->row = kg__alloc(context->params->dim, sizeof *worker->row);
    if (worker->row == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (kg__term_is_on(context->params, i) && kg__terms[i]->open_worker != NULL)
            KG_TRY(
                kg__terms[i]->open_worker(&worker->states[i], &context->params->terms[i], error));
    return KG_OK;
}

void kg__query_block_worker_close(kg_block_worker *worker) {
    kg__free(worker->row);
    kg__arena_free(&worker->arena);
    kg__arena_free(&worker->scratch);
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (worker->states[i] != NULL)
            kg__terms[i]->close_worker(worker->states[i]);
    *worker = (kg_block_worker){0};
}

static void find_runs(kg_query_block *b) {
    for (size_t i = 0; i < b->count; i++) {
        kg_directed query = b->queries[i].target.directed;
        if (i == 0 || query != b->runs[b->run_count - 1].query)
            b->runs[b->run_count++] = (kg_query_run){query, i, i};
        b->runs[b->run_count - 1].to = i + 1;
    }
}

/* The rows of a whole step's queries stay there until all have gone forward; else those of a block
 * do, which the next one overwrites in the cache. */
static bool find_rows(kg_query_block *b) {
    const kg_step_context *c = b->context;
    size_t kept = c->dropout > 0 ? b->dim : 0;
    size_t size = b->count * b->dim;
    size_t at = b->first * b->dim;
    if (c->vectors != NULL) {
        b->vectors = c->vectors + at;
        b->z = c->z + at;
        b->gradients = c->gradients + at;
        b->is_kept = c->is_kept + b->first * kept;
        return true;
    }
    b->vectors = kg__arena_take(b->arena, 3 * b->count, b->dim * sizeof *b->vectors);
    b->is_kept = kg__arena_take(b->arena, b->count, kept * sizeof *b->is_kept);
    if (b->vectors == NULL || b->is_kept == NULL)
        return false;
    b->z = b->vectors + size;
    b->gradients = b->z + size;
    return true;
}

kg_status kg__query_block_open(kg_query_block *b, const kg_step_context *context,
                               kg_block_worker *worker, kg_grads *grads,
                               const kg_train_query *queries, kg_query_range range,
                               kg_error *error) {
    *b = (kg_query_block){
        .context = context,
        .params = context->params,
        .grads = grads,
        .worker = worker,
        .arena = &worker->arena,
        .error = error,
        .dim = context->params->dim,
        .range = range,
        .queries = queries + range.from,
        .count = range.to - range.from,
        .first = range.from,
    };
    if (!kg__block_links_find(b))
        return kg__fail_memory(error);
    b->runs = kg__arena_take(b->arena, b->count, sizeof *b->runs);
    b->left_out = kg__arena_take(
        b->arena, context->exclude == KG_EXCLUDE_PAIR ? b->link_count + 1 : 1, sizeof *b->left_out);
    if (b->runs == NULL || b->left_out == NULL || !find_rows(b))
        return kg__fail_memory(error);
    find_runs(b);
    return KG_OK;
}

/* The largest number of links that a query leaves out: nearly always few, even of a hub, and what
 * leaving them out takes grows with the square. */
static size_t find_most_left_out(const kg_query_block *b) {
    size_t most = 1;
    for (size_t i = 0; i < b->count && b->context->exclude == KG_EXCLUDE_PAIR; i++) {
        size_t count = 0;
        for (size_t k = 0; k < b->link_count; k++)
            count += b->links[k].other == b->queries[i].target.other;
        most = count > most ? count : most;
    }
    return most;
}

kg_status kg__query_block_load(kg_query_block *b) {
    bool by_facts = false;
    for (size_t i = 0; i < b->count; i++)
        by_facts = by_facts || b->queries[i].by_facts;
    if (!by_facts)
        return KG_OK;
    kg_directed *queries = kg__arena_take(b->arena, b->run_count, sizeof *queries);
    if (queries == NULL)
        return kg__fail_memory(b->error);
    for (size_t run = 0; run < b->run_count; run++)
        queries[run] = b->runs[run].query;
    kg_aggregate_use use = {.links = b->links,
                            .count = b->link_count,
                            .queries = queries,
                            .query_count = b->run_count,
                            .most_left_out = find_most_left_out(b)};
    b->is_loaded = true;
    return kg__aggregate_load(&b->aggregate, b->context->aggregate, b->params, b->arena, &use,
                              b->error);
}

/* ---- All terms ---- */

kg_status kg__query_block_forward(kg_query_block *b) {
    KG_TRY(kg__candidates_find(b));
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (kg__term_is_on(b->params, i) && kg__terms[i]->forward != NULL)
            KG_TRY(kg__terms[i]->forward(b, i));
    kg__candidates_finish(b);
    return KG_OK;
}

kg_status kg__query_block_backward(kg_query_block *b) {
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (kg__term_is_on(b->params, i) && kg__terms[i]->backward != NULL)
            KG_TRY(kg__terms[i]->backward(b, i));
    return KG_OK;
}

/* ---- One query after the other ---- */

/* Whether a loss of single candidates trains it in this run. */
static bool is_scored_alone(const kg_query_block *b, size_t number) {
    return kg__term_is_on(b->params, number) && kg__terms[number]->forward_one != NULL;
}

static kg_status score_one(kg_query_block *b, size_t run, size_t i, kg_loss_of_score loss) {
    const kg_train_query *query = &b->queries[i];
    b->score = 0;
    for (size_t term = 0; kg__terms[term] != NULL; term++)
        if (is_scored_alone(b, term))
            KG_TRY(kg__terms[term]->forward_one(b, term, run, i));
    b->context->scores[query->number] = b->score;
    b->loss += loss(b->score, query->label, &b->slope);
    for (size_t term = 0; kg__terms[term] != NULL; term++)
        if (is_scored_alone(b, term))
            KG_TRY(kg__terms[term]->backward_one(b, term, run, i));
    return KG_OK;
}

kg_status kg__query_block_each(kg_query_block *b, kg_loss_of_score loss) {
    for (size_t run = 0; run < b->run_count; run++)
        for (size_t i = b->runs[run].from; i < b->runs[run].to; i++)
            KG_TRY(score_one(b, run, i, loss));
    return KG_OK;
}
