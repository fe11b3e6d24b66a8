/* A linked list with a lock. */
#include "serve/call_queue.h"

#include <errno.h>

#include "base/peak_memory.h"
#include "serve/limits.h"

void serve_call_queue_open(serve_call_queue *queue, size_t most) {
    *queue = (serve_call_queue){.most = most};
    pthread_mutex_init(&queue->lock, NULL);
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->changed, &steady);
    pthread_condattr_destroy(&steady);
}

void serve_call_queue_close(serve_call_queue *queue) {
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

bool serve_call_queue_put(serve_call_queue *queue, serve_call *call) {
    pthread_mutex_lock(&queue->lock);
    bool taken = queue->waiting < queue->most && !queue->has_ended;
    if (taken) {
        call->next = NULL;
        if (queue->first == NULL)
            queue->first = call;
        else
            queue->last->next = call;
        queue->last = call;
        queue->waiting++;
        pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

static serve_call *pop(serve_call_queue *queue) {
    serve_call *call = queue->first;
    if (call != NULL) {
        queue->first = call->next;
        queue->waiting--;
    }
    return call;
}

/* Closing may take long, where it unmaps a generation: others do not wait for it. */
static void close_view(serve_call_queue *queue, serve_view *view) {
    pthread_mutex_unlock(&queue->lock);
    serve_view_close(view);
    kg__return_memory();
    pthread_mutex_lock(&queue->lock);
}

/* Until the queue changes, or it is time to close the view; the lock is held. */
static void wait_for_change(serve_call_queue *queue, serve_view *view,
                            const struct timespec *until) {
    if (view->snapshot == NULL)
        pthread_cond_wait(&queue->changed, &queue->lock);
    else if (pthread_cond_timedwait(&queue->changed, &queue->lock, until) == ETIMEDOUT)
        close_view(queue, view);
}

serve_call *serve_call_queue_take(serve_call_queue *queue, serve_view *view) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += SERVE_VIEW_SECONDS;
    pthread_mutex_lock(&queue->lock);
    while (queue->first == NULL && !queue->has_ended)
        wait_for_change(queue, view, &until);
    serve_call *call = pop(queue);
    pthread_mutex_unlock(&queue->lock);
    return call;
}

serve_call *serve_call_queue_try(serve_call_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    serve_call *call = pop(queue);
    pthread_mutex_unlock(&queue->lock);
    return call;
}

void serve_call_queue_end(serve_call_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->has_ended = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

size_t serve_call_queue_waiting(serve_call_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    size_t waiting = queue->waiting;
    pthread_mutex_unlock(&queue->lock);
    return waiting;
}
