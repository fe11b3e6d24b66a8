/* The checks that all calls have in common, in the order in which they are made. */
#include "serve/router.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"
#include "serve/accept_header.h"
#include "serve/limits.h"
#include "serve/uri.h"

/* ---- Routes ---- */

size_t serve_route_index(const serve_route *route) {
    size_t i = 0;
    while (serve_routes[i].method != NULL && &serve_routes[i] != route)
        i++;
    return i;
}

static bool is_method(const char *method, const serve_route *route) {
    const char *meant = strcmp(method, "HEAD") == 0 ? "GET" : method;
    return strcmp(meant, route->method) == 0;
}

#define ALLOWED_SIZE 64

static void allow(char *allowed, const char *method) {
    size_t length = strlen(allowed);
    snprintf(allowed + length, ALLOWED_SIZE - length, "%s%s", length == 0 ? "" : ", ", method);
}

const serve_route *serve_route_find(const char *method, const char *path, const char **parameter,
                                    char *allowed) {
    const serve_route *found = NULL;
    allowed[0] = '\0';
    for (const serve_route *route = serve_routes; route->method != NULL; route++) {
        const char *part = NULL;
        if (!serve_path_matches(path, route->path, &part))
            continue;
        allow(allowed, route->method);
        if (strcmp(route->method, "GET") == 0)
            allow(allowed, "HEAD");
        if (is_method(method, route)) {
            found = route;
            *parameter = part;
        }
    }
    if (allowed[0] != '\0')
        allow(allowed, "OPTIONS");
    return found;
}

static kg_status find_route(serve_call *call, const char *path, kg_error *error) {
    serve_response *response = &call->exchange->response;
    const char *method = call->exchange->request.method;
    const char *part = NULL;
    char allowed[ALLOWED_SIZE];
    call->route = serve_route_find(method, path, &part, allowed);
    if (allowed[0] == '\0')
        return serve_refuse(call, error, 404,
                            "expected a path of the API, found %s (see "
                            "/openapi.json)",
                            kg__quote(path, strlen(path)).text);
    if (call->route == NULL) {
        serve_response_header(response, "Allow", "%s", allowed);
        if (strcmp(method, "OPTIONS") == 0) {
            response->status = 204;
            return KG_OK;
        }
        return serve_refuse(call, error, 405, "expected %s, found %s", allowed,
                            kg__quote(method, strlen(method)).text);
    }
    if (part == NULL)
        return KG_OK;
    call->name = kg__copy_string(part, strlen(part));
    if (call->name == NULL)
        return kg__fail_memory(error);
    call->name_length = serve_uri_decode(call->name, false);
    if (call->name_length > SERVE_MOST_NAME)
        return serve_refuse(
            call, error, 400,
            "path: expected a name of at most %d bytes, with two hexadecimal digits "
            "behind each percent sign, not both 0, found another",
            SERVE_MOST_NAME);
    return KG_OK;
}

/* ---- Rights ---- */

/* Whether a header Host names this machine: by an address, or as localhost. */
static bool is_own_host(const char *header) {
    unsigned char address[sizeof(struct in6_addr)];
    char host[64];
    bool is_bracketed = header[0] == '[';
    size_t length = strcspn(header + is_bracketed, is_bracketed ? "]" : ":");
    if (length >= sizeof host)
        return false;
    memcpy(host, header + is_bracketed, length);
    host[length] = '\0';
    return strcasecmp(host, "localhost") == 0 ||
           inet_pton(is_bracketed ? AF_INET6 : AF_INET, host, address) == 1;
}

/* Without tokens, whoever is on this machine may ask: also a page of elsewhere in a browser here,
 * if the name of its host is made to lead to this server (DNS rebinding). The browser then sends
 * that name. */
static kg_status check_host(serve_call *call, kg_error *error) {
    const char *header = serve_call_header(call, SERVE_HOST);
    if (header == NULL || call->server->options.is_open || is_own_host(header))
        return KG_OK;
    return serve_refuse(call, error, 403,
                        "Host: expected localhost or an address, since no token is needed here, "
                        "found %s",
                        kg__quote(header, strlen(header)).text);
}

static kg_status check_right(serve_call *call, kg_error *error) {
    serve_server *server = call->server;
    if (call->route->right == SERVE_NOTHING)
        return KG_OK;
    if (server->options.token_file == NULL)
        return check_host(call, error);
    const char *header = serve_call_header(call, SERVE_AUTHORIZATION);
    pthread_rwlock_rdlock(&server->tokens_lock);
    serve_right right = serve_tokens_right(server->tokens, header);
    pthread_rwlock_unlock(&server->tokens_lock);
    if (right >= call->route->right)
        return KG_OK;
    if (right != SERVE_NOTHING)
        return serve_refuse(call, error, 403,
                            "expected a token for writing, found one for reading");
    serve_response_header(&call->exchange->response, "WWW-Authenticate", "Bearer realm=\"kgraft\"");
    return serve_refuse(call, error, 401,
                        "expected a header Authorization: Bearer TOKEN with a "
                        "known token, found %s",
                        header == NULL ? "none" : "another");
}

/* ---- Parameters ---- */

static kg_status read_count(serve_call *call, size_t i, const char *value, kg_error *error) {
    const serve_parameter *row = &call->route->parameters[i];
    uint64_t *out = &call->counts[i];
    if (kg__parse_count(out, value) == NULL && *out >= row->least && *out <= row->most)
        return KG_OK;
    call->problem.parameter = row->name;
    return serve_refuse(call, error, 400, "`%s`: expected a whole number of %ju to %ju, found %s",
                        row->name, (uintmax_t)row->least, (uintmax_t)row->most,
                        kg__quote(value, strlen(value)).text);
}

static kg_status read_parameter(serve_call *call, const char *name, const char *value,
                                kg_error *error) {
    const serve_parameter *rows = call->route->parameters;
    size_t i = 0;
    while (rows != NULL && rows[i].name != NULL &&
           (rows[i].place != SERVE_IN_QUERY || strcmp(rows[i].name, name) != 0))
        i++;
    if (rows == NULL || rows[i].name == NULL)
        return serve_refuse(call, error, 400, "expected a parameter of this operation, found %s",
                            kg__quote(name, strlen(name)).text);
    call->problem.parameter = rows[i].name;
    if (call->texts[i] != NULL)
        return serve_refuse(call, error, 400, "`%s`: expected it once, found it twice", name);
    if (strlen(value) > SERVE_MOST_NAME)
        return serve_refuse(call, error, 400, "`%s`: expected at most %d bytes, found %zu", name,
                            SERVE_MOST_NAME, strlen(value));
    call->problem.parameter = NULL;
    call->texts[i] = value;
    return rows[i].is_count ? read_count(call, i, value, error) : KG_OK;
}

static kg_status read_parameters(serve_call *call, char *query, kg_error *error) {
    const serve_parameter *rows = call->route->parameters;
    for (size_t i = 0; rows != NULL && rows[i].name != NULL; i++)
        call->counts[i] = rows[i].fallback;
    for (bool more = true; more;) {
        char *name = NULL;
        char *value = NULL;
        kg_status status = serve_query_next(&name, &value, &more, &query, error);
        if (status != KG_OK) {
            call->problem.status = 400;
            return status;
        }
        if (more)
            KG_TRY(read_parameter(call, name, value, error));
    }
    return KG_OK;
}

/* ---- Bodies ---- */

static bool is_type(const char *header, const char *type) {
    size_t length = strcspn(header, "; \t");
    return length == strlen(type) && strncasecmp(header, type, length) == 0;
}

static kg_status check_type(serve_call *call, kg_error *error) {
    const char *header = serve_call_header(call, SERVE_CONTENT_TYPE);
    const char *const *types = call->route->types;
    char known[256];
    for (; header != NULL && *types != NULL; types++)
        if (is_type(header, *types)) {
            call->type = *types;
            return KG_OK;
        }
    kg__join_names(known, sizeof known, call->route->types, sizeof *types);
    return serve_refuse(call, error, 415, "Content-Type: expected %s, found %s", known,
                        header == NULL ? "none" : kg__quote(header, strlen(header)).text);
}

static kg_status check_body(serve_call *call, kg_error *error) {
    serve_request *request = &call->exchange->request;
    const char *length = serve_call_header(call, SERVE_CONTENT_LENGTH);
    const char *coding = serve_call_header(call, SERVE_CONTENT_ENCODING);
    request->most = call->route->types == NULL ? 0 : call->route->most_body;
    if (length != NULL && strtoull(length, NULL, 10) > request->most)
        return serve_refuse(call, error, 413, "expected a body of at most %zu bytes, found %s",
                            request->most, length);
    if (call->route->types == NULL)
        return KG_OK;
    if (coding != NULL && strcasecmp(coding, "identity") != 0)
        return serve_refuse(call, error, 415, "Content-Encoding: expected none, found %s",
                            kg__quote(coding, strlen(coding)).text);
    return check_type(call, error);
}

static kg_status check_accept(serve_call *call, kg_error *error) {
    const char *header = serve_call_header(call, SERVE_ACCEPT);
    const char *type = call->route->response_type;
    if (header == NULL || type == NULL || header[strspn(header, " ")] == '\0' ||
        serve_accept_weight(header, type) > 0)
        return KG_OK;
    return serve_refuse(call, error, 406, "Accept: expected %s, found %s", type,
                        kg__quote(header, strlen(header)).text);
}

/* ---- The application ---- */

static void allow_origin(serve_call *call) {
    const char *origin = serve_call_header(call, SERVE_ORIGIN);
    const char *allowed = call->server->options.cors;
    serve_response *response = &call->exchange->response;
    if (allowed != NULL && strcmp(allowed, "*") != 0)
        serve_response_header(response, "Vary", "Origin");
    if (allowed == NULL || origin == NULL ||
        (strcmp(allowed, "*") != 0 && strcmp(allowed, origin) != 0))
        return;
    serve_response_header(response, "Access-Control-Allow-Origin", "%s", allowed);
    serve_response_header(response, "Access-Control-Expose-Headers", "ETag, Location, Retry-After");
    if (strcmp(call->exchange->request.method, "OPTIONS") != 0)
        return;
    serve_response_header(response, "Access-Control-Allow-Methods",
                          "GET, HEAD, POST, PUT, PATCH, DELETE");
    serve_response_header(response, "Access-Control-Allow-Headers",
                          "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
                          "Last-Event-ID");
    serve_response_header(response, "Access-Control-Max-Age", "600");
}

/* Chunks are not read: libmicrohttpd answers 500 where the extension of one is longer than its
 * buffer. */
kg_status serve_framing_check(serve_exchange *exchange, serve_problem *problem, kg_error *error) {
    const char *fault = exchange->request.fault;
    if (fault == NULL && exchange->request.headers[SERVE_TRANSFER_ENCODING] == NULL)
        return KG_OK;
    exchange->response.closes = true;
    problem->status = fault != NULL ? exchange->request.fault_status : 411;
    return kg_fail(error, KG_BAD_INPUT, "%s",
                   fault != NULL ? fault : "expected Content-Length, found Transfer-Encoding");
}

/* The query is cut off first: the access log is without it. */
static kg_status check_request(serve_call *call, serve_target *target, kg_error *error) {
    *target = serve_target_split(call->exchange->request.target);
    KG_TRY(serve_framing_check(call->exchange, &call->problem, error));
    if (strstr(target->path, "%00") != NULL || strstr(target->query, "%00") != NULL)
        return serve_refuse(call, error, 400, "target: expected no NUL, found %%00");
    return KG_OK;
}

static kg_status check_late(serve_call *call, kg_error *error) {
    bool answers = call->route != NULL && call->route->answers_late;
    if (answers || !call->exchange->request.is_late)
        return KG_OK;
    return serve_refuse(call, error, 503, "the server is stopping");
}

static kg_status check(serve_call *call, kg_error *error) {
    serve_target target;
    KG_TRY(check_request(call, &target, error));
    KG_TRY(find_route(call, target.path, error));
    KG_TRY(check_late(call, error));
    if (call->exchange->response.status != 0)
        return KG_OK;
    KG_TRY(check_right(call, error));
    if (!call->route->ignores_query)
        KG_TRY(read_parameters(call, target.query, error));
    KG_TRY(check_body(call, error));
    return check_accept(call, error);
}

static void begin(void *payload, serve_exchange *exchange) {
    serve_call *call = kg__alloc(1, sizeof *call);
    kg_error error = {0};
    serve_response_header(&exchange->response, "X-Content-Type-Options", "nosniff");
    if (call == NULL) {
        (void)kg__fail_memory(&error);
        serve_call_fail(exchange, &(serve_problem){0}, &error);
        return;
    }
    exchange->state = call;
    call->server = payload;
    call->exchange = exchange;
    allow_origin(call);
    if (check(call, &error) != KG_OK)
        serve_call_fail(exchange, &call->problem, &error);
}

static bool submit(serve_call *call) {
    serve_server *server = call->server;
    if (call->route->pool == SERVE_PREDICTIONS)
        return serve_batcher_submit(server->batcher, call);
    return serve_pool_submit(server->pools[call->route->pool], call);
}

static void answer(void *payload, serve_exchange *exchange) {
    (void)payload;
    serve_call *call = exchange->state;
    if (exchange->request.is_crowded) {
        serve_call_refuse(call);
        return;
    }
    if (call->route->pool == SERVE_INLINE) {
        serve_call_run(call, NULL);
        return;
    }
    bool is_deferred = serve_exchange_defer(exchange);
    if (is_deferred && submit(call))
        return;
    serve_call_refuse(call);
    if (is_deferred)
        serve_exchange_finish(exchange);
}

static void end(void *payload, serve_exchange *exchange) {
    serve_server *server = payload;
    serve_call *call = exchange->state;
    if (call == NULL)
        return;
    size_t route = serve_route_index(call->route);
    if (exchange->response.status == 0)
        exchange->response.status = SERVE_ABANDONED;
    serve_metrics_count(&server->metrics, route, exchange->response.status);
    if (exchange->response.stream == NULL)
        serve_metrics_observe(&server->metrics, SERVE_REQUEST_TIME, route,
                              serve_exchange_seconds(exchange));
    atomic_fetch_add(&server->metrics.bytes, exchange->sent);
    serve_access_log_add(&server->access_log, exchange,
                         call->route == NULL ? NULL : call->route->name);
    json_decref(call->body);
    json_decref(call->answer);
    json_decref(call->problem.similar);
    kg__free(call->name);
    kg__free(call);
}

serve_app serve_router_app(serve_server *server) {
    return (serve_app){server, begin, answer, end};
}
