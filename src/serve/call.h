/* A call: an exchange whose route is known, with what its handler is given and what it answers. */
#ifndef KG_SERVE_CALL_H
#define KG_SERVE_CALL_H

#include "serve/graph_service.h"
#include "serve/http.h"
#include "serve/problem.h"

struct serve_server;
struct serve_route;

#define SERVE_MOST_PARAMETERS 8

typedef struct serve_call {
    struct serve_server *server;
    const struct serve_route *route;
    serve_exchange *exchange;

    char *name; /* the part of the path that the template has in braces, decoded; or NULL */
    size_t name_length;
    const char *texts[SERVE_MOST_PARAMETERS]; /* of the query, by the route's table; NULL: not
                                               * given */
    uint64_t counts[SERVE_MOST_PARAMETERS];   /* those that are numbers */
    const char *type;                         /* of the body, one of the route's */
    json_t *body;                             /* parsed, if it is JSON */

    /* The answer, and what a refusal has beside its message. */
    json_t *answer;
    int status; /* of HTTP; 0: the route's */
    serve_problem problem;

    struct serve_call *next; /* in a queue */
} serve_call;

/* A query parameter by name. */
uint64_t serve_call_count(const serve_call *call, const char *name);
const char *serve_call_text(const serve_call *call, const char *name);

static inline const char *serve_call_header(const serve_call *call, serve_header header) {
    return call->exchange->request.headers[header];
}

/* Refuses a call with a status of HTTP; the message follows as for kg_fail. */
#define serve_refuse(call, error, code, ...) \
    ((call)->problem.status = (code), kg_fail((error), KG_BAD_INPUT, __VA_ARGS__))

/* Runs its handler in this thread. What it sets becomes the response. */
void serve_call_run(serve_call *call, serve_view *view);

/* The same in two steps: parses the body, and makes the response of what the handler set and
 * returned. */
KG_MUST_CHECK kg_status serve_call_prepare(serve_call *call, kg_error *error);
void serve_call_respond(serve_call *call, kg_status status, const kg_error *error);

/* Makes the response a text that lives as long as the server. */
void serve_call_set_constant(serve_call *call, const char *text, size_t size, const char *type);

/* As others log it: the connection ended before there was a response. */
#define SERVE_ABANDONED 499

/* Fails, since no client waits for the answer. */
kg_status serve_call_abandon(serve_call *call, kg_error *error);

/* Frees the parsed body, and makes it be parsed again where it is needed once more: it takes many
 * times the memory of its text. */
void serve_call_drop_body(serve_call *call);

/* Makes the response a refusal of more than the server can do now. */
void serve_call_refuse(serve_call *call);

/* Makes the response a problem. */
void serve_call_fail(serve_exchange *exchange, const serve_problem *problem, const kg_error *error);

/* Adds "generation" and "log" to a new object, which may be NULL, in front of its members. */
json_t *serve_state_json(serve_state state, json_t *members);

#endif
