/* The time that a request has to arrive, from its first byte to its last: a connection on which it
 * takes longer is shut down, however steadily bytes come. So slow senders hold a connection for a
 * bounded time only. A connection without a byte of a request is idle, and left alone.
 *
 * A thread looks at all connections once a second. */
#ifndef KG_SERVE_REQUEST_TIMEOUT_H
#define KG_SERVE_REQUEST_TIMEOUT_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "base/status.h"

/* A connection. Its fields belong to the timer. */
typedef struct serve_timed {
    int fd;
    time_t since;      /* when it was last seen idle */
    uint64_t received; /* bytes, when the last request ended */
    bool is_whole;     /* the request has arrived, and is answered */
    struct serve_timed *next;
    struct serve_timed *before;
} serve_timed;

typedef struct serve_timer serve_timer;

KG_MUST_CHECK kg_status serve_timer_open(serve_timer **out, unsigned seconds, kg_error *error);

/* NULL is allowed. */
void serve_timer_close(serve_timer *timer);

/* A connection is there; it is idle. Borrowed until it is removed, before its socket is closed. */
void serve_timer_add(serve_timer *timer, serve_timed *timed, int fd);
void serve_timer_remove(serve_timer *timer, serve_timed *timed);

/* Its request is whole; its request has ended, and the next one may come. */
void serve_timer_whole(serve_timer *timer, serve_timed *timed);
void serve_timer_ended(serve_timer *timer, serve_timed *timed);

#endif
