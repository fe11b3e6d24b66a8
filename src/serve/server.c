/* Opening and closing, in this order and the reverse. */
#include "serve/server.h"

#include "base/memory.h"
#include "serve/change_stream.h"
#include "serve/jobs.h"
#include "serve/listener.h"
#include "serve/metrics_port.h"
#include "serve/openapi.h"
#include "serve/router.h"

/* Threads that mostly wait, for connections or the disk. */
#define CONNECTION_THREADS 2
#define QUERY_THREADS 2
#define EXPLANATION_THREADS 2
#define WRITE_THREADS 16

static kg_status open_lanes(serve_server *server, kg_error *error) {
    const serve_capacity *limits = &server->options.limits;
    const serve_pool_options large = {1, limits->waiting_large, NULL};
    KG_TRY(serve_pool_open(&server->large, &large, error));
    KG_TRY(serve_pool_open(&server->large_writes, &large, error));
    const serve_pool_options pools[SERVE_POOL_COUNT] = {
        [SERVE_QUERIES] = {QUERY_THREADS, limits->waiting, server->large},
        [SERVE_EXPLANATIONS] = {EXPLANATION_THREADS, limits->waiting_explanations, server->large},
        [SERVE_WRITES] = {WRITE_THREADS, limits->waiting, server->large_writes}};
    for (int i = 0; i < SERVE_POOL_COUNT; i++)
        if (pools[i].threads > 0)
            KG_TRY(serve_pool_open(&server->pools[i], &pools[i], error));
    return serve_batcher_open(&server->batcher, server, server->options.threads, error);
}

/* Of connections there may be fewer than elsewhere: they are open files. */
static kg_status open_http(serve_server *server, kg_error *error) {
    serve_options *options = &server->options;
    serve_app app = serve_router_app(server);
    unsigned connections = serve_connection_limit((unsigned)options->limits.connections);
    options->limits.connections = connections;
    serve_http_options http = {.address = options->listen,
                               .tls_cert = options->tls_cert,
                               .tls_key = options->tls_key,
                               .threads = connections < CONNECTION_THREADS ? 1 : CONNECTION_THREADS,
                               .connections = connections,
                               .limits = &options->limits};
    return serve_http_open(&server->http, &http, &app, error);
}

static kg_status make_description(serve_server *server, kg_error *error) {
    serve_view view = {0};
    kg_status status = serve_view_refresh(&view, &server->graph, error);
    if (status == KG_OK)
        status = serve_openapi_make(&server->openapi, &server->openapi_size, view.snapshot, error);
    serve_view_close(&view);
    return status;
}

static kg_status fill(serve_server *server, kg_error *error) {
    const serve_options *options = &server->options;
    if (options->token_file != NULL)
        KG_TRY(serve_tokens_open(&server->tokens, options->token_file, error));
    KG_TRY(serve_access_log_open(&server->access_log, options->access_log, error));
    KG_TRY(serve_graph_open(&server->graph, options->store, options->is_read_only, error));
    KG_TRY(make_description(server, error));
    KG_TRY(serve_changes_open(&server->changes, &server->graph, options->limits.streams, error));
    KG_TRY(serve_jobs_open(&server->jobs, server, error));
    KG_TRY(open_lanes(server, error));
    KG_TRY(open_http(server, error));
    if (options->metrics != NULL)
        KG_TRY(serve_metrics_open(server, error));
    atomic_store(&server->is_ready, true);
    return KG_OK;
}

kg_status serve_server_open(serve_server **out, const serve_options *options, kg_error *error) {
    serve_server *server = kg__alloc(1, sizeof *server);
    if (server == NULL)
        return kg__fail_memory(error);
    server->options = *options;
    pthread_rwlock_init(&server->tokens_lock, NULL);
    kg_status status = fill(server, error);
    if (status == KG_OK)
        *out = server;
    else
        serve_server_close(server);
    return status;
}

static kg_status reload_tokens(serve_server *server, kg_error *error) {
    serve_tokens *tokens = NULL;
    if (server->options.token_file == NULL)
        return KG_OK;
    KG_TRY(serve_tokens_open(&tokens, server->options.token_file, error));
    pthread_rwlock_wrlock(&server->tokens_lock);
    serve_tokens *before = server->tokens;
    server->tokens = tokens;
    pthread_rwlock_unlock(&server->tokens_lock);
    serve_tokens_close(before);
    return KG_OK;
}

/* One that fails keeps no other from being read; the first failure is told. */
kg_status serve_server_reload(serve_server *server, kg_error *error) {
    kg_status tokens = reload_tokens(server, error);
    kg_status log = serve_access_log_reopen(&server->access_log, tokens == KG_OK ? error : NULL);
    bool is_good = tokens == KG_OK && log == KG_OK;
    kg_status certificate = serve_http_reload(server->http, is_good ? error : NULL);
    return tokens != KG_OK ? tokens : log != KG_OK ? log : certificate;
}

void serve_server_close(serve_server *server) {
    atomic_store(&server->is_ready, false);
    serve_http_end(server->http);
    if (server->changes != NULL)
        serve_changes_end(server->changes);
    serve_http_close(server->metrics_http);
    serve_http_close(server->http);
    serve_batcher_close(server->batcher);
    for (int i = 0; i < SERVE_POOL_COUNT; i++)
        serve_pool_close(server->pools[i]);
    serve_pool_close(server->large);
    serve_pool_close(server->large_writes);
    serve_jobs_close(server->jobs);
    serve_changes_close(server->changes);
    if (server->graph.live != NULL)
        serve_graph_close(&server->graph);
    serve_tokens_close(server->tokens);
    serve_access_log_close(&server->access_log);
    kg__free(server->openapi);
    pthread_rwlock_destroy(&server->tokens_lock);
    kg__free(server);
}
