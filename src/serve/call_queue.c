/* A linked list with a lock. */
#include "serve/call_queue.h"

void serve_call_queue_open(serve_call_queue *queue, size_t most) {
    *queue = (serve_call_queue){.most = most};
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
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

serve_call *serve_call_queue_take(serve_call_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    while (queue->first == NULL && !queue->has_ended)
        pthread_cond_wait(&queue->changed, &queue->lock);
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
