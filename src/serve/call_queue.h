/* Calls that wait, in the order in which they came; a stated number at most. */
#ifndef KG_SERVE_CALL_QUEUE_H
#define KG_SERVE_CALL_QUEUE_H

#include <pthread.h>

#include "serve/call.h"

typedef struct serve_call_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    serve_call *first;
    serve_call *last;
    size_t waiting;
    size_t most;
    bool has_ended;
} serve_call_queue;

void serve_call_queue_open(serve_call_queue *queue, size_t most);
void serve_call_queue_close(serve_call_queue *queue);

/* False if it is full or has ended. */
bool serve_call_queue_put(serve_call_queue *queue, serve_call *call);

/* The next call: waits for one, NULL if the queue has ended and is empty; or NULL if there is none
 * now. A thread that waits for SERVE_VIEW_SECONDS has its view closed: it would keep a generation
 * in memory, and on disk, that a compaction has replaced. */
serve_call *serve_call_queue_take(serve_call_queue *queue, serve_view *view);
serve_call *serve_call_queue_try(serve_call_queue *queue);

/* No more calls will come. */
void serve_call_queue_end(serve_call_queue *queue);

size_t serve_call_queue_waiting(serve_call_queue *queue);

#endif
