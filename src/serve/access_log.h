/* A line of JSON for each request, in a file that others may rotate. A thread of its own writes
 * them: a pipe that nobody reads, or a slow disk, keeps no request waiting. Of lines that wait
 * there is a limit, beyond which they are dropped and counted. */
#ifndef KG_SERVE_ACCESS_LOG_H
#define KG_SERVE_ACCESS_LOG_H

#include <pthread.h>
#include <stdatomic.h>

#include "serve/http.h"

struct serve_log_line;

typedef struct serve_access_log {
    const char *path; /* NULL: there is none */
    int fd;
    pthread_t thread;
    bool has_thread;
    _Atomic uint64_t dropped; /* lines */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct serve_log_line *first; /* is being written, and leaves the queue behind that */
    struct serve_log_line *last;
    size_t waiting; /* bytes of all lines */
    bool is_closing;
} serve_access_log;

/* "-" is standard output. */
KG_MUST_CHECK kg_status serve_access_log_open(serve_access_log *log, const char *path,
                                              kg_error *error);

/* Writes what waits, as far as that takes no longer than some seconds. */
void serve_access_log_close(serve_access_log *log);

/* Goes on in a new file of that name. */
KG_MUST_CHECK kg_status serve_access_log_reopen(serve_access_log *log, kg_error *error);

/* Adds a line, which is written in one piece. `operation` is the name of the route, or NULL. */
void serve_access_log_add(serve_access_log *log, const serve_exchange *exchange,
                          const char *operation);

#endif
