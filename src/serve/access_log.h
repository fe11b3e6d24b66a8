/* A line of JSON for each request, in a file that others may rotate. */
#ifndef KG_SERVE_ACCESS_LOG_H
#define KG_SERVE_ACCESS_LOG_H

#include <stdatomic.h>

#include "serve/http.h"

typedef struct serve_access_log {
    const char *path; /* NULL: there is none */
    atomic_int fd;
} serve_access_log;

/* "-" is standard output. */
KG_MUST_CHECK kg_status serve_access_log_open(serve_access_log *log, const char *path,
                                              kg_error *error);
void serve_access_log_close(serve_access_log *log);

/* Goes on in a new file of that name. */
KG_MUST_CHECK kg_status serve_access_log_reopen(serve_access_log *log, kg_error *error);

/* Adds a line, in one write. `operation` is the name of the route, or NULL. */
void serve_access_log_add(serve_access_log *log, const serve_exchange *exchange,
                          const char *operation);

#endif
