/* What Prometheus reads: the counters, and values of this moment. */
#include "serve/metrics_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "serve/change_stream.h"
#include "serve/jobs.h"
#include "serve/router.h"

#define CONNECTIONS 64

/* Bytes that the process has in memory, 0 if that cannot be found out. */
static double resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128] = "";
    if (file == NULL)
        return 0;
    const char *found = fgets(line, sizeof line, file);
    fclose(file);
    const char *second = found == NULL ? NULL : strchr(line, ' ');
    unsigned long pages = second == NULL ? 0 : strtoul(second, NULL, 10);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double waiting_calls(const serve_server *server) {
    size_t waiting = serve_batcher_waiting(server->batcher) + serve_pool_waiting(server->large) +
                     serve_pool_waiting(server->large_writes);
    for (int i = 0; i < SERVE_POOL_COUNT; i++)
        if (server->pools[i] != NULL)
            waiting += serve_pool_waiting(server->pools[i]);
    return (double)waiting;
}

static kg_status describe(serve_server *server, serve_response *response, kg_error *error) {
    const char *routes[SERVE_MOST_ROUTES + 1] = {0};
    serve_view view = {0};
    size_t count = 0;
    for (; serve_routes[count].method != NULL; count++)
        routes[count] = serve_routes[count].name;
    routes[count] = "none";
    KG_TRY(serve_view_refresh(&view, &server->graph, error));
    size_t entities = view.snapshot->entities.count;
    const serve_gauge gauges[] = {
        {"generation", "gauge", "Generation of the model.", (double)view.state.generation},
        {"log_position", "gauge", "Number of the last entry of the log.", (double)view.state.log},
        {"facts", "gauge", "Live facts.", (double)view.state.facts},
        {"entities", "gauge", "Entities of the live graph.", (double)entities},
        {"later_entities", "gauge", "Entities that came after training.",
         (double)(entities - kg__model_own_entities(view.snapshot))},
        {"http_active_requests", "gauge", "Requests under way.",
         (double)serve_http_active(server->http)},
        {"http_waiting_requests", "gauge", "Requests that wait for a thread.",
         waiting_calls(server)},
        {"change_streams", "gauge", "Clients that listen to changes.",
         (double)serve_changes_listeners(server->changes)},
        {"compacting", "gauge", "1 while the next generation is trained.",
         serve_jobs_is_compacting(server->jobs) ? 1 : 0},
        {"store_failed", "gauge", "1 if a write failed, and the store takes no more changes.",
         serve_graph_has_failed(&server->graph) ? 1 : 0},
        {"access_log_dropped_total", "counter", "Lines of the access log that were not written.",
         (double)atomic_load(&server->access_log.dropped)},
        {"resident_memory_bytes", "gauge", "Memory of the process.", resident_bytes()},
        {0},
    };
    response->body = serve_metrics_text(&server->metrics, routes, gauges, &response->size);
    serve_view_close(&view);
    return response->body == NULL ? kg__fail_memory(error) : KG_OK;
}

static void begin(void *payload, serve_exchange *exchange) {
    (void)payload;
    serve_problem problem = {0};
    kg_error error = {0};
    exchange->request.most = 0;
    if (serve_framing_check(exchange, &problem, &error) != KG_OK)
        serve_call_fail(exchange, &problem, &error);
}

static void answer(void *payload, serve_exchange *exchange) {
    serve_server *server = payload;
    serve_response *response = &exchange->response;
    kg_error error = {0};
    serve_problem problem = {0};
    bool is_known = strcmp(exchange->request.target, "/metrics") == 0;
    bool is_read = strcmp(exchange->request.method, "GET") == 0;
    kg_status status = KG_OK;
    if (!is_known || !is_read) {
        problem.status = is_known ? 405 : 404;
        status = kg_fail(&error, KG_BAD_INPUT, "expected GET /metrics, found something else");
    }
    if (status == KG_OK)
        status = describe(server, response, &error);
    if (status != KG_OK) {
        serve_call_fail(exchange, &problem, &error);
        return;
    }
    response->status = 200;
    response->type = "text/plain; version=0.0.4; charset=utf-8";
}

static void end(void *payload, serve_exchange *exchange) {
    (void)payload;
    (void)exchange;
}

kg_status serve_metrics_open(serve_server *server, kg_error *error) {
    serve_app app = {server, begin, answer, end};
    serve_http_options options = {.address = server->options.metrics,
                                  .threads = 1,
                                  .connections = CONNECTIONS,
                                  .limits = &server->options.limits};
    return serve_http_open(&server->metrics_http, &options, &app, error);
}
