/* From a request to its handler, and from what that returns to a response. */
#include "serve/call.h"

#include <string.h>

#include "base/memory.h"
#include "serve/gzip_body.h"
#include "serve/limits.h"
#include "serve/request_json.h"
#include "serve/server.h"

static size_t find_parameter(const serve_call *call, const char *name) {
    const serve_parameter *rows = call->route->parameters;
    size_t i = 0;
    while (strcmp(rows[i].name, name) != 0)
        i++;
    return i;
}

uint64_t serve_call_count(const serve_call *call, const char *name) {
    return call->counts[find_parameter(call, name)];
}

const char *serve_call_text(const serve_call *call, const char *name) {
    return call->texts[find_parameter(call, name)];
}

json_t *serve_state_json(serve_state state, json_t *members) {
    json_t *out = json_pack("{sI sI}", "generation", (json_int_t)state.generation, "log",
                            (json_int_t)state.log);
    bool good = json_object_update(out, members) == 0;
    json_decref(members);
    return kg__json_complete(out, good);
}

/* ---- Responses ---- */

static bool set_body(serve_response *response, const json_t *value, const char *type) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY);
    size_t size = text == NULL ? 0 : strlen(text);
    response->body = text == NULL ? NULL : kg__copy_string(text, size);
    response->size = size;
    response->is_constant = false;
    response->type = type;
    kg__json_free_text(text);
    return response->body != NULL;
}

void serve_call_fail(serve_exchange *exchange, const serve_problem *problem,
                     const kg_error *error) {
    static char last_resort[] = "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\","
                                "\"status\":503,\"detail\":\"out of memory\"}";
    serve_response *response = &exchange->response;
    json_t *body = serve_problem_json(problem, error);
    response->status = serve_status_of(problem, error->status);
    if (!set_body(response, body, SERVE_PROBLEM_TYPE)) {
        response->status = 503;
        response->body = last_resort;
        response->size = strlen(last_resort);
        response->is_constant = true;
        response->type = SERVE_PROBLEM_TYPE;
    }
    json_decref(body);
    if (response->status == 503)
        serve_response_header(response, "Retry-After", "%d", SERVE_RETRY_SECONDS);
}

void serve_call_refuse(serve_call *call) {
    kg_error error = {0};
    atomic_fetch_add(&call->server->metrics.refused, 1);
    (void)kg_fail(&error, KG_SYSTEM, "too many requests wait, or the server is stopping");
    serve_call_fail(call->exchange, &call->problem, &error);
}

kg_status serve_call_abandon(serve_call *call, kg_error *error) {
    call->problem.status = SERVE_ABANDONED;
    return kg_fail(error, KG_CANCELLED, "the client has closed its end of the connection");
}

void serve_call_set_constant(serve_call *call, const char *text, size_t size, const char *type) {
    serve_response *response = &call->exchange->response;
    response->body = (char *)text;
    response->size = size;
    response->is_constant = true;
    response->type = type;
}

kg_status serve_call_prepare(serve_call *call, kg_error *error) {
    const serve_request *request = &call->exchange->request;
    if (call->type == NULL || strcmp(call->type, "application/json") != 0 || call->body != NULL)
        return KG_OK;
    kg_status status = serve_json_parse(&call->body, request->body == NULL ? "" : request->body,
                                        request->size, error);
    if (status == KG_BAD_INPUT)
        call->problem.status = 400;
    return status;
}

void serve_call_drop_body(serve_call *call) {
    json_decref(call->body);
    call->body = NULL;
}

/* A client may take long to read the text, which is all that is kept meanwhile. */
static void drop_trees(serve_call *call) {
    serve_call_drop_body(call);
    json_decref(call->answer);
    call->answer = NULL;
}

static void respond(serve_call *call) {
    serve_response *response = &call->exchange->response;
    response->status = call->status != 0 ? call->status : call->route->success;
    if (call->answer != NULL && !set_body(response, call->answer, "application/json")) {
        kg_error memory = {.status = KG_NO_MEMORY, .message = "out of memory"};
        serve_call_fail(call->exchange, &call->problem, &memory);
    }
    serve_gzip(call->exchange);
}

/* `headers` is how many there were before the body was compressed. */
static void refuse_unread(serve_call *call, size_t headers) {
    serve_response *response = &call->exchange->response;
    kg_error error = {0};
    atomic_fetch_add(&call->server->metrics.refused, 1);
    if (!response->is_constant)
        kg__free(response->body);
    response->body = NULL;
    response->header_count = headers;
    (void)kg_fail(&error, KG_SYSTEM, "too many answers wait for their clients to read them");
    serve_call_fail(call->exchange, &call->problem, &error);
}

void serve_call_respond(serve_call *call, kg_status status, const kg_error *error) {
    size_t headers = call->exchange->response.header_count;
    if (status == KG_OK)
        respond(call);
    else
        serve_call_fail(call->exchange, &call->problem, error);
    drop_trees(call);
    if (!serve_exchange_hold(call->exchange))
        refuse_unread(call, headers);
}

void serve_call_run(serve_call *call, serve_view *view) {
    kg_error error = {0};
    kg_status status = serve_call_prepare(call, &error);
    if (status == KG_OK)
        status = call->route->handle(call, view, &error);
    serve_call_respond(call, status, &error);
}
