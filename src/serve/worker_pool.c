/* Threads that run the calls of a queue. */
#include "serve/worker_pool.h"

#include "base/memory.h"
#include "serve/call_queue.h"
#include "serve/server.h"

struct serve_pool {
    serve_call_queue queue;
    serve_pool *large; /* NULL: none */
    pthread_t *threads;
    unsigned thread_count;
};

/* Whether it went to another pool, or is not worth running. */
static bool divert(const serve_pool *pool, serve_call *call, serve_view *view) {
    bool (*is_large)(serve_call * call, serve_view * view) = call->route->is_large;
    if (is_large == NULL)
        return false;
    bool is_question = call->route->right == SERVE_READ;
    bool is_abandoned = is_question && serve_exchange_is_abandoned(call->exchange);
    bool is_late = is_question && pool->large == NULL && !atomic_load(&call->server->is_ready);
    if (!is_abandoned && !is_late && (pool->large == NULL || !is_large(call, view)))
        return false;
    serve_call_drop_body(call); /* while it waits, it has the text alone */
    if (!is_abandoned && !is_late && serve_pool_submit(pool->large, call))
        return true;
    if (is_abandoned) {
        kg_error error = {0};
        (void)serve_call_abandon(call, &error);
        serve_call_fail(call->exchange, &call->problem, &error);
    } else {
        serve_call_refuse(call);
    }
    serve_exchange_finish(call->exchange);
    return true;
}

static void *work(void *payload) {
    serve_pool *pool = payload;
    serve_view view = {0};
    serve_call *call = NULL;
    while ((call = serve_call_queue_take(&pool->queue, &view)) != NULL) {
        if (divert(pool, call, &view))
            continue;
        serve_call_run(call, &view);
        serve_exchange_finish(call->exchange);
    }
    serve_view_close(&view);
    return NULL;
}

kg_status serve_pool_open(serve_pool **out, const serve_pool_options *options, kg_error *error) {
    unsigned threads = options->threads;
    serve_pool *pool = kg__alloc(1, sizeof *pool);
    if (pool == NULL)
        return kg__fail_memory(error);
    serve_call_queue_open(&pool->queue, options->most);
    pool->large = options->large;
    pool->threads = kg__alloc(threads, sizeof *pool->threads);
    while (pool->threads != NULL && pool->thread_count < threads &&
           pthread_create(&pool->threads[pool->thread_count], NULL, work, pool) == 0)
        pool->thread_count++;
    if (pool->thread_count == threads) {
        *out = pool;
        return KG_OK;
    }
    serve_pool_close(pool);
    return kg_fail(error, KG_SYSTEM, "cannot start %u threads", threads);
}

void serve_pool_close(serve_pool *pool) {
    if (pool == NULL)
        return;
    serve_call_queue_end(&pool->queue);
    for (unsigned i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    serve_call_queue_close(&pool->queue);
    kg__free(pool->threads);
    kg__free(pool);
}

bool serve_pool_submit(serve_pool *pool, serve_call *call) {
    return serve_call_queue_put(&pool->queue, call);
}

size_t serve_pool_waiting(serve_pool *pool) {
    return serve_call_queue_waiting(&pool->queue);
}
