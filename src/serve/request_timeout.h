/* The time that a request has to arrive, from its first byte to its last, and that its response has
 * to be read: a connection on which one of them takes longer is shut down, however steadily bytes
 * move. So slow senders and slow readers hold a connection, and what is kept for it, for a bounded
 * time only. A connection without a byte of a request is idle, and left alone.
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
    time_t since;      /* when it was last seen idle, or when its response began */
    uint64_t received; /* bytes, when the last request ended */
    enum { SERVE_ARRIVING, SERVE_WORKED_ON, SERVE_SENDING } phase;
    struct serve_timed *next;
    struct serve_timed *before;
} serve_timed;

typedef struct serve_timer serve_timer;

/* With the seconds that a request has, and a response. */
KG_MUST_CHECK kg_status serve_timer_open(serve_timer **out, unsigned request_seconds,
                                         unsigned response_seconds, kg_error *error);

/* NULL is allowed. */
void serve_timer_close(serve_timer *timer);

/* A connection is there; it is idle. Borrowed until it is removed, before its socket is closed. */
void serve_timer_add(serve_timer *timer, serve_timed *timed, int fd);
void serve_timer_remove(serve_timer *timer, serve_timed *timed);

/* Its request is whole; its response begins; its request has ended, and the next one may come. */
void serve_timer_whole(serve_timer *timer, serve_timed *timed);
void serve_timer_sending(serve_timer *timer, serve_timed *timed);
void serve_timer_ended(serve_timer *timer, serve_timed *timed);

#endif
