/* A thread that serves connections: it waits until there is something to do, and has libmicrohttpd
 * do it.
 *
 * libmicrohttpd has threads of its own, but not in 0.9.75, which Debian 12 has, such that one can
 * rely on them. Where exactly 128 sockets are ready, its thread asks for more before it serves
 * these, and waits: so 128 clients wait for as long as nothing else happens. And where it is told
 * from outside to take no more connections while its thread looks at that itself, it may end the
 * process. It does neither where it never waits, and one thread alone calls it. */
#ifndef KG_SERVE_CONNECTION_THREAD_H
#define KG_SERVE_CONNECTION_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"

struct MHD_Daemon;

typedef struct serve_connection_thread {
    struct MHD_Daemon *daemon; /* NULL: it was not started */
    pthread_t thread;
    int sockets; /* ready if one of the daemon's is */
    int wake;    /* ready if there is something else to do */
    _Atomic int phase;
} serve_connection_thread;

/* Runs a daemon that has no thread of its own, and owns it from now on, also on failure. */
KG_MUST_CHECK kg_status serve_connection_thread_start(serve_connection_thread *thread,
                                                      struct MHD_Daemon *daemon, kg_error *error);

/* A connection of it was resumed. */
void serve_connection_thread_wake(serve_connection_thread *thread);

/* Takes no more connections. The socket that listens is shut down already. */
void serve_connection_thread_end(serve_connection_thread *thread);

/* Closes all connections, none of which may be suspended, and ends the thread. */
void serve_connection_thread_stop(serve_connection_thread *thread);

#endif
