/* Fuzzes what libmicrohttpd lets through: routes, targets, parameters, headers, and JSON of bodies,
 * all but the graph and the socket. An input is a request as it is written: a line of method and
 * target, lines of headers, an empty line, the body.
 *
 *  - A refusal has a status from 400 on, but not that of a fault of ours, and is a problem as JSON
 *    with the same status. A request that is not refused has a route, but for OPTIONS.
 *  - Names and parameters are within their limits, and texts without NUL.
 *  - JSON that is accepted is no deeper than the limit, and questions that are read from it have
 *    their settings within limits. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "fuzz.h"
#include "serve/limits.h"
#include "serve/prediction.h"
#include "serve/router.h"

/* A piece of the input as a text, to be freed: ends at a NUL, as those of libmicrohttpd do. */
static char *copy_text(struct fuzz_text text) {
    char *out = kg__copy_string(text.bytes == NULL ? "" : text.bytes, text.size);
    fuzz_require(out != NULL);
    return out;
}

/* ---- Requests ---- */

static void put_header(serve_request *request, struct fuzz_text line) {
    struct fuzz_text name = fuzz_cut(&line, ':');
    if (line.size > 0 && line.bytes[0] == ' ')
        line = (struct fuzz_text){line.bytes + 1, line.size - 1};
    for (int i = 0; i < SERVE_HEADER_COUNT; i++)
        if (strlen(serve_header_names[i]) == name.size && request->headers[i] == NULL &&
            strncasecmp(serve_header_names[i], name.bytes, name.size) == 0)
            request->headers[i] = copy_text(line);
}

static void make_request(serve_request *request, struct fuzz_text *input) {
    struct fuzz_text first = fuzz_cut_line(input);
    struct fuzz_text method = fuzz_cut(&first, ' ');
    request->method = copy_text(method);
    request->target = copy_text(first);
    for (struct fuzz_text line = fuzz_cut_line(input); line.size > 0; line = fuzz_cut_line(input))
        put_header(request, line);
}

static void free_exchange(serve_exchange *exchange) {
    serve_request *request = &exchange->request;
    if (!exchange->response.is_constant)
        kg__free(exchange->response.body);
    for (int i = 0; i < SERVE_HEADER_COUNT; i++)
        kg__free((char *)(uintptr_t)request->headers[i]);
    kg__free((char *)(uintptr_t)request->method);
    kg__free(request->target);
    kg__free(request->body);
}

/* ---- Properties ---- */

static void check_refusal(const serve_response *response) {
    json_t *problem = json_loadb(response->body, response->size, 0, NULL);
    fuzz_require(response->status >= 400 && response->status < 500);
    fuzz_require(strcmp(response->type, SERVE_PROBLEM_TYPE) == 0);
    fuzz_require(json_integer_value(json_object_get(problem, "status")) == response->status);
    fuzz_require(json_is_string(json_object_get(problem, "detail")));
    json_decref(problem);
}

static void check_parameters(const serve_call *call) {
    const serve_parameter *rows = call->route->parameters;
    if (call->name != NULL)
        fuzz_require(call->name_length <= SERVE_MOST_NAME &&
                     strlen(call->name) == call->name_length);
    for (size_t i = 0; rows != NULL && rows[i].name != NULL; i++) {
        fuzz_require(call->texts[i] == NULL || strlen(call->texts[i]) <= SERVE_MOST_NAME);
        if (rows[i].is_count && call->texts[i] != NULL)
            fuzz_require(call->counts[i] >= rows[i].least && call->counts[i] <= rows[i].most);
    }
}

static size_t depth_of(const json_t *value) {
    size_t most = 0;
    const char *name = NULL;
    json_t *member = NULL;
    for (size_t i = 0; i < json_array_size(value); i++) {
        size_t depth = depth_of(json_array_get(value, i));
        most = depth > most ? depth : most;
    }
    json_object_foreach((json_t *)(uintptr_t)value, name, member) {
        size_t depth = depth_of(member);
        most = depth > most ? depth : most;
    }
    return most + (json_is_array(value) || json_is_object(value) ? 1 : 0);
}

/* Questions are read as far as that goes without a graph. */
static void check_questions(serve_call *call) {
    serve_prediction prediction;
    kg_error error = {0};
    kg_status status = serve_prediction_open(&prediction, call, &error);
    fuzz_require(status == KG_OK || status == KG_BAD_INPUT);
    for (size_t i = 0; status == KG_OK && !prediction.is_batch && i < prediction.count; i++) {
        const serve_question *question = &prediction.questions[i];
        fuzz_require(question->k >= 1 && question->k <= SERVE_MOST_K);
        fuzz_require(question->min_probability >= 0 && question->min_probability <= 1);
        fuzz_require(question->entity == NULL || question->entity[0] != '\0');
    }
    serve_prediction_close(&prediction);
}

static void check_body(serve_call *call, struct fuzz_text body) {
    serve_request *request = &call->exchange->request;
    kg_error error = {0};
    request->size = body.size < request->most ? body.size : request->most;
    request->body = copy_text((struct fuzz_text){body.bytes, request->size});
    kg_status status = serve_call_prepare(call, &error);
    fuzz_require(status == KG_OK || status == KG_BAD_INPUT);
    if (call->body == NULL)
        return;
    fuzz_require(status == KG_OK && depth_of(call->body) <= SERVE_MOST_DEPTH);
    if (call->route->pool == SERVE_PREDICTIONS)
        check_questions(call);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    serve_server *server = calloc(1, sizeof *server);
    serve_exchange exchange = {0};
    struct fuzz_text input = {(const char *)bytes, size};
    fuzz_require(server != NULL);
    make_request(&exchange.request, &input);
    serve_app app = serve_router_app(server);
    app.begin(app.payload, &exchange);
    serve_call *call = exchange.state;
    if (exchange.response.status >= 300) {
        check_refusal(&exchange.response);
    } else if (exchange.response.status != 0) {
        fuzz_require(strcmp(exchange.request.method, "OPTIONS") == 0);
    } else {
        check_parameters(call);
        check_body(call, input);
    }
    app.end(app.payload, &exchange);
    free_exchange(&exchange);
    free(server);
    return 0;
}
