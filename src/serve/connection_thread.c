/* A daemon in libmicrohttpd's external mode, and the loop around it. */
#include "serve/connection_thread.h"

#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SERVE_RUNS, SERVE_ENDS, SERVE_STOPS };

/* Until a connection has been idle for too long; -1: there is none. */
static int milliseconds_to_wait(struct MHD_Daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG left = 0;
    if (MHD_get_timeout(daemon, &left) != MHD_YES)
        return -1;
    return left < INT_MAX ? (int)left : INT_MAX;
}

static unsigned count_connections(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info == NULL ? 0 : info->num_connections;
}

/* A daemon that has as many connections as it may have listens again only in the run after the one
 * in which some of them ended. */
static void run(struct MHD_Daemon *daemon) {
    unsigned before;
    do {
        before = count_connections(daemon);
        MHD_run(daemon);
    } while (count_connections(daemon) < before);
}

static void *work(void *payload) {
    serve_connection_thread *thread = payload;
    struct pollfd ready[] = {{.fd = thread->sockets, .events = POLLIN},
                             {.fd = thread->wake, .events = POLLIN}};
    bool takes_connections = true;
    for (int phase = SERVE_RUNS; phase != SERVE_STOPS; phase = atomic_load(&thread->phase)) {
        if (phase == SERVE_ENDS && takes_connections) {
            MHD_quiesce_daemon(thread->daemon);
            takes_connections = false;
        }
        run(thread->daemon);
        poll(ready, sizeof ready / sizeof *ready, milliseconds_to_wait(thread->daemon));
        eventfd_t count = 0;
        if (ready[1].revents != 0)
            eventfd_read(thread->wake, &count);
    }
    return NULL;
}

/* Without its thread. It would close the socket that listens, which is not its own, if it had not
 * let go of it. */
static void stop_daemon(serve_connection_thread *thread) {
    MHD_quiesce_daemon(thread->daemon);
    MHD_stop_daemon(thread->daemon);
    if (thread->wake >= 0)
        close(thread->wake);
    thread->daemon = NULL;
}

kg_status serve_connection_thread_start(serve_connection_thread *thread, struct MHD_Daemon *daemon,
                                        kg_error *error) {
    const union MHD_DaemonInfo *sockets = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    *thread = (serve_connection_thread){.daemon = daemon,
                                        .sockets = sockets == NULL ? -1 : sockets->epoll_fd,
                                        .wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    if (thread->sockets >= 0 && thread->wake >= 0 &&
        pthread_create(&thread->thread, NULL, work, thread) == 0)
        return KG_OK;
    stop_daemon(thread);
    return kg_fail(error, KG_SYSTEM, "cannot start a thread");
}

void serve_connection_thread_wake(serve_connection_thread *thread) {
    eventfd_write(thread->wake, 1);
}

void serve_connection_thread_end(serve_connection_thread *thread) {
    atomic_store(&thread->phase, SERVE_ENDS);
    serve_connection_thread_wake(thread);
}

void serve_connection_thread_stop(serve_connection_thread *thread) {
    atomic_store(&thread->phase, SERVE_STOPS);
    serve_connection_thread_wake(thread);
    pthread_join(thread->thread, NULL);
    stop_daemon(thread);
}
