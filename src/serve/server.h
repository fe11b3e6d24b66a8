/* The server: everything that a call may need, opened and closed together. */
#ifndef KG_SERVE_SERVER_H
#define KG_SERVE_SERVER_H

#include "serve/access_log.h"
#include "serve/batcher.h"
#include "serve/graph_service.h"
#include "serve/limits.h"
#include "serve/prometheus.h"
#include "serve/routes.h"

typedef struct serve_options {
    const char *store;
    const char *listen;     /* HOST:PORT */
    const char *metrics;    /* likewise; NULL: none */
    const char *token_file; /* NULL: none needed */
    bool is_open;           /* also by names of this machine that others gave it */
    const char *tls_cert;   /* NULL: no TLS */
    const char *tls_key;
    const char *cors;       /* an origin, or "*"; NULL: none */
    const char *access_log; /* a file, "-": standard output; NULL: none */
    const char *backup_dir; /* NULL: no backups */
    unsigned threads;       /* that compute */
    bool is_read_only;
    serve_capacity limits;
} serve_options;

typedef struct serve_server {
    serve_options options;
    serve_graph graph;
    serve_metrics metrics;
    serve_pool *pools[SERVE_POOL_COUNT]; /* NULL: calls do not wait, or are batched */
    serve_pool *large;                   /* for what would keep others of its pool waiting */
    serve_pool *large_writes;            /* for changes that take much memory, one by one */
    serve_batcher *batcher;
    char *openapi; /* the description of the API */
    size_t openapi_size;
    serve_access_log access_log;
    struct serve_changes *changes;
    struct serve_jobs *jobs;
    serve_http *http;
    serve_http *metrics_http;
    atomic_bool is_ready; /* and not stopping */

    pthread_rwlock_t tokens_lock; /* they may be read again */
    serve_tokens *tokens;         /* NULL: none needed */
} serve_server;

KG_MUST_CHECK kg_status serve_server_open(serve_server **out, const serve_options *options,
                                          kg_error *error);

/* Reads tokens and certificate again. What fails leaves those that are in use. */
KG_MUST_CHECK kg_status serve_server_reload(serve_server *server, kg_error *error);

/* Finishes what runs. */
void serve_server_close(serve_server *server);

#endif
