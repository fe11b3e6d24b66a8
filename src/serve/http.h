/* HTTP on a listening socket, by libmicrohttpd: connections are served by a few threads with epoll
 * (serve/connection_thread.h), and each request becomes an exchange of our own.
 *
 * The threads of connections never wait. What takes time is handed to another thread: the exchange
 * is deferred, its connection suspended, and finished from there. So neither a slow client nor a
 * slow answer keeps others waiting.
 *
 * A body is read up to the limit that the application sets when it has seen the headers. A request
 * that is not whole `request_seconds` after its first byte is cut off (serve/request_timeout.h), as
 * is one whose response is not read `response_seconds` after its first byte, and an idle connection
 * after `idle_seconds`. */
#ifndef KG_SERVE_HTTP_H
#define KG_SERVE_HTTP_H

#include <stdint.h>
#include <time.h>

#include "base/status.h"
#include "serve/limits.h"

/* The headers that are looked at. */
typedef enum serve_header {
    SERVE_ACCEPT,
    SERVE_ACCEPT_ENCODING,
    SERVE_AUTHORIZATION,
    SERVE_CONTENT_ENCODING,
    SERVE_CONTENT_LENGTH,
    SERVE_CONTENT_TYPE,
    SERVE_EXPECT,
    SERVE_HOST,
    SERVE_IDEMPOTENCY_KEY,
    SERVE_IF_MATCH,
    SERVE_IF_NONE_MATCH,
    SERVE_LAST_EVENT_ID,
    SERVE_ORIGIN,
    SERVE_TRANSFER_ENCODING,
    SERVE_HEADER_COUNT
} serve_header;

/* Their names, by which the enum is ordered. */
extern const char *const serve_header_names[SERVE_HEADER_COUNT];

typedef struct serve_request {
    const char *method;
    char *target;                            /* path and query, as they were sent */
    const char *headers[SERVE_HEADER_COUNT]; /* NULL: not there */
    char *body;                              /* with a zero behind it */
    size_t size;
    size_t capacity;
    size_t most;       /* bytes of the body; set by `begin` */
    size_t dropped;    /* bytes beyond that */
    const char *fault; /* it cannot be taken, or two readers may see different requests: what was
                        * expected and found; or NULL */
    int fault_status;  /* of HTTP */
    bool is_crowded;   /* its body was dropped: all bodies together were too large */
    bool is_late;      /* the server was ending when it came */
} serve_request;

/* A body that is sent as it comes into being. Called by threads of connections. */
typedef struct serve_stream {
    /* Writes up to `size` bytes to `out`. 0: nothing now; then serve_exchange_wake is called when
     * there is more. -1: the end. */
    int64_t (*read)(void *state, char *out, size_t size);
    /* Called between two reads that found nothing and the suspension, so that no wake is lost. */
    void (*lock)(void *state);
    void (*unlock)(void *state);
    void (*close)(void *state);
} serve_stream;

#define SERVE_MOST_HEADERS 16
#define SERVE_HEADER_VALUE 384

typedef struct serve_response {
    int status; /* 0: not set */
    const char *type;
    char *body; /* kg_freed when it is sent, unless it is constant */
    size_t size;
    bool is_constant;
    const serve_stream *stream; /* in place of a body */
    void *stream_state;
    struct {
        const char *name;
        char value[SERVE_HEADER_VALUE];
    } headers[SERVE_MOST_HEADERS];
    size_t header_count;
    bool closes; /* the connection, at once: what is left of the request is not read */
} serve_response;

typedef struct serve_exchange {
    serve_request request;
    serve_response response;
    struct timespec started;
    char peer[64]; /* its address */
    void *state;   /* the application's */

    struct serve_http *http;
    void *connection; /* libmicrohttpd's */
    enum { SERVE_READING, SERVE_BODY, SERVE_ANSWERING } phase;
    bool is_deferred;
    uint64_t sent; /* bytes of a body */
    size_t unread; /* bytes of the response that are counted as held */
} serve_exchange;

/* Who answers. */
typedef struct serve_app {
    void *payload;
    /* The headers are there: sets the limit of the body, or the response if it is refused. */
    void (*begin)(void *payload, serve_exchange *exchange);
    /* All of the request is there: sets the response, or defers the exchange. */
    void (*answer)(void *payload, serve_exchange *exchange);
    /* The exchange is over, or the connection lost. */
    void (*end)(void *payload, serve_exchange *exchange);
} serve_app;

typedef struct serve_http_options {
    const char *address;  /* HOST:PORT, [HOST]:PORT */
    const char *tls_cert; /* NULL: no TLS */
    const char *tls_key;
    unsigned threads;
    unsigned connections;         /* at most */
    const serve_capacity *limits; /* of bytes and seconds; borrowed */
} serve_http_options;

typedef struct serve_http serve_http;

KG_MUST_CHECK kg_status serve_http_open(serve_http **out, const serve_http_options *options,
                                        const serve_app *app, kg_error *error);

/* The port that it listens on. */
unsigned serve_http_port(const serve_http *http);

/* How many exchanges there are. */
size_t serve_http_active(const serve_http *http);

/* Reads the certificate again: connections that come from now on get it. */
KG_MUST_CHECK kg_status serve_http_reload(serve_http *http, kg_error *error);

/* Refuses connections from now on. Requests that still come are late, and their connections are
 * closed behind the response. NULL is allowed. */
void serve_http_end(serve_http *http);

/* Ends it, and waits for exchanges; those whose request does not become whole are cut off. Deferred
 * ones must be finished by other threads, streams ended before. NULL is allowed. */
void serve_http_close(serve_http *http);

/* ---- Exchanges ---- */

/* The response will be set by another thread, which then finishes it. False if the server has
 * ended: then the response must be set now. */
KG_MUST_CHECK bool serve_exchange_defer(serve_exchange *exchange);
void serve_exchange_finish(serve_exchange *exchange);

/* Counts the body of the response among those that are held until they are read. False if these
 * are too many: then the response must be another, small one. */
KG_MUST_CHECK bool serve_exchange_hold(serve_exchange *exchange);

/* Whether the client of a deferred exchange has closed its end of the connection. */
bool serve_exchange_is_abandoned(const serve_exchange *exchange);

/* The stream has more. Called with its lock held. */
void serve_exchange_wake(serve_exchange *exchange);

/* Adds a header to the response; a value that is too long is cut. */
void serve_response_header(serve_response *response, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Seconds since the exchange started. */
double serve_exchange_seconds(const serve_exchange *exchange);

#endif
