/* Threads that run the calls of a queue. */
#include "serve/worker_pool.h"

#include "base/memory.h"
#include "serve/call_queue.h"
#include "serve/server.h"

struct serve_lane {
    serve_call_queue queue;
    serve_lane *large; /* NULL: none */
    pthread_t *threads;
    unsigned thread_count;
};

/* Whether it went to another lane, or is not worth running. */
static bool divert(const serve_lane *lane, serve_call *call, serve_view *view) {
    bool (*is_large)(serve_call * call, serve_view * view) = call->route->is_large;
    if (is_large == NULL)
        return false;
    bool is_abandoned = serve_exchange_is_abandoned(call->exchange);
    bool is_late = lane->large == NULL && !atomic_load(&call->server->is_ready);
    if (!is_abandoned && !is_late && (lane->large == NULL || !is_large(call, view)))
        return false;
    if (!is_abandoned && !is_late && serve_lane_submit(lane->large, call))
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
    serve_lane *lane = payload;
    serve_view view = {0};
    serve_call *call = NULL;
    while ((call = serve_call_queue_take(&lane->queue)) != NULL) {
        if (divert(lane, call, &view))
            continue;
        serve_call_run(call, &view);
        serve_exchange_finish(call->exchange);
    }
    serve_view_close(&view);
    return NULL;
}

kg_status serve_lane_open(serve_lane **out, const serve_lane_options *options, kg_error *error) {
    unsigned threads = options->threads;
    serve_lane *lane = kg__alloc(1, sizeof *lane);
    if (lane == NULL)
        return kg__fail_memory(error);
    serve_call_queue_open(&lane->queue, options->most);
    lane->large = options->large;
    lane->threads = kg__alloc(threads, sizeof *lane->threads);
    while (lane->threads != NULL && lane->thread_count < threads &&
           pthread_create(&lane->threads[lane->thread_count], NULL, work, lane) == 0)
        lane->thread_count++;
    if (lane->thread_count == threads) {
        *out = lane;
        return KG_OK;
    }
    serve_lane_close(lane);
    return kg_fail(error, KG_SYSTEM, "cannot start %u threads", threads);
}

void serve_lane_close(serve_lane *lane) {
    if (lane == NULL)
        return;
    serve_call_queue_end(&lane->queue);
    for (unsigned i = 0; i < lane->thread_count; i++)
        pthread_join(lane->threads[i], NULL);
    serve_call_queue_close(&lane->queue);
    kg__free(lane->threads);
    kg__free(lane);
}

bool serve_lane_submit(serve_lane *lane, serve_call *call) {
    return serve_call_queue_put(&lane->queue, call);
}

size_t serve_lane_waiting(serve_lane *lane) {
    return serve_call_queue_waiting(&lane->queue);
}
