/* Threads that take as many calls as fit into a piece. */
#include "serve/batcher.h"

#include "base/memory.h"
#include "serve/call_queue.h"
#include "serve/limits.h"
#include "serve/prediction.h"
#include "serve/server.h"

#define MOST_CALLS 256 /* of a batch */

struct serve_batcher {
    serve_server *server;
    serve_call_queue queue;
    serve_pool *large; /* requests that weigh more than a piece */
    pthread_t *threads;
    unsigned thread_count;
};

struct batch {
    serve_prediction predictions[MOST_CALLS];
    size_t count;
    size_t weight;
    size_t answers; /* that are asked for */
    size_t bytes;   /* of bodies, which are parsed */
};

static void finish(serve_call *call, kg_status status, const kg_error *error) {
    serve_call_respond(call, status, error);
    serve_exchange_finish(call->exchange);
}

static size_t weigh(const serve_prediction *prediction, const kg_model *model) {
    size_t weight = 0;
    for (size_t i = 0; i < prediction->count; i++)
        weight += prediction->questions[i].relation == NULL ? 2 * model->relations.count : 2;
    return weight;
}

static size_t count_answers(const serve_prediction *prediction) {
    size_t answers = 0;
    for (size_t i = 0; i < prediction->count; i++)
        answers += (size_t)prediction->questions[i].k;
    return answers;
}

/* While it waits, it has the text of its body alone. */
static void submit_large(serve_batcher *batcher, serve_call *call) {
    serve_call_drop_body(call);
    if (serve_pool_submit(batcher->large, call))
        return;
    serve_call_refuse(call);
    serve_exchange_finish(call->exchange);
}

/* Adds a call to the batch; one that is too large goes to the pool, a wrong one is answered. */
static void add(serve_batcher *batcher, struct batch *batch, serve_call *call,
                const kg_model *model) {
    serve_prediction *prediction = &batch->predictions[batch->count];
    kg_error error = {0};
    kg_status status = serve_call_prepare(call, &error);
    if (status != KG_OK) {
        finish(call, status, &error);
        return;
    }
    status = serve_prediction_open(prediction, call, &error);
    size_t weight = weigh(prediction, model);
    if (status == KG_OK && (weight <= SERVE_PIECE_WEIGHT || prediction->count == 1)) {
        batch->count++;
        batch->weight += weight;
        batch->answers += count_answers(prediction);
        batch->bytes += call->exchange->request.size;
        return;
    }
    serve_prediction_close(prediction);
    if (status == KG_OK)
        submit_large(batcher, call);
    else
        finish(call, status, &error);
}

static void answer(serve_batcher *batcher, struct batch *batch, const serve_view *view) {
    size_t questions = serve_predictions_answer(batch->predictions, batch->count, view);
    serve_metrics_observe(&batcher->server->metrics, SERVE_BATCH_SIZE, 0, (double)questions);
    for (size_t i = 0; i < batch->count; i++) {
        kg_error error = {0};
        serve_prediction *prediction = &batch->predictions[i];
        serve_call *call = prediction->call;
        kg_status status = serve_prediction_end(prediction, &error);
        serve_prediction_close(prediction);
        finish(call, status, &error);
    }
}

/* Its questions and answers are in memory together: so they are bounded like those of a request. */
static bool is_full(const struct batch *batch) {
    return batch->count == MOST_CALLS || batch->weight >= SERVE_PIECE_WEIGHT ||
           batch->answers >= SERVE_MOST_ANSWERS || batch->bytes >= SERVE_MOST_BODY;
}

/* Everything that waits, the first call included, up to a piece. */
static void run_batch(serve_batcher *batcher, struct batch *batch, serve_call *first,
                      serve_view *view) {
    kg_error error = {0};
    kg_status status = serve_view_ready(view, &batcher->server->graph, &error);
    batch->count = 0;
    batch->weight = 0;
    batch->answers = 0;
    batch->bytes = 0;
    if (status != KG_OK) {
        finish(first, status, &error);
        return;
    }
    for (serve_call *call = first; call != NULL;) {
        add(batcher, batch, call, view->snapshot);
        call = is_full(batch) ? NULL : serve_call_queue_try(&batcher->queue);
    }
    if (batch->count > 0)
        answer(batcher, batch, view);
}

static void *work(void *payload) {
    serve_batcher *batcher = payload;
    struct batch *batch = kg__alloc(1, sizeof *batch);
    serve_view view = {0};
    serve_call *call = NULL;
    while ((call = serve_call_queue_take(&batcher->queue, &view)) != NULL) {
        kg_error error = {.status = KG_NO_MEMORY, .message = "out of memory"};
        if (batch != NULL)
            run_batch(batcher, batch, call, &view);
        else
            finish(call, KG_NO_MEMORY, &error);
    }
    serve_view_close(&view);
    kg__free(batch);
    return NULL;
}

kg_status serve_batcher_open(serve_batcher **out, serve_server *server, unsigned threads,
                             kg_error *error) {
    serve_batcher *batcher = kg__alloc(1, sizeof *batcher);
    if (batcher == NULL)
        return kg__fail_memory(error);
    batcher->server = server;
    serve_call_queue_open(&batcher->queue, server->options.limits.waiting);
    const serve_pool_options large = {1, server->options.limits.waiting_large, NULL};
    kg_status status = serve_pool_open(&batcher->large, &large, error);
    batcher->threads = kg__alloc(threads, sizeof *batcher->threads);
    while (status == KG_OK && batcher->threads != NULL && batcher->thread_count < threads &&
           pthread_create(&batcher->threads[batcher->thread_count], NULL, work, batcher) == 0)
        batcher->thread_count++;
    if (status == KG_OK && batcher->thread_count < threads)
        status = kg_fail(error, KG_SYSTEM, "cannot start %u threads", threads);
    if (status == KG_OK)
        *out = batcher;
    else
        serve_batcher_close(batcher);
    return status;
}

void serve_batcher_close(serve_batcher *batcher) {
    if (batcher == NULL)
        return;
    serve_call_queue_end(&batcher->queue);
    for (unsigned i = 0; i < batcher->thread_count; i++)
        pthread_join(batcher->threads[i], NULL);
    serve_pool_close(batcher->large);
    serve_call_queue_close(&batcher->queue);
    kg__free(batcher->threads);
    kg__free(batcher);
}

bool serve_batcher_submit(serve_batcher *batcher, serve_call *call) {
    return serve_call_queue_put(&batcher->queue, call);
}

size_t serve_batcher_waiting(serve_batcher *batcher) {
    return serve_call_queue_waiting(&batcher->queue) + serve_pool_waiting(batcher->large);
}
