/* libmicrohttpd: its daemons, requests to exchanges and back.
 *
 * A daemon that is stopped with a suspended connection ends the process. So a closing server first
 * takes no requests any more, then suspends no connection any more, and waits until none is
 * suspended. That decision and the count of suspended connections share a lock. */
#include "serve/http.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/peak_memory.h"
#include "serve/connection_thread.h"
#include "serve/listener.h"
#include "serve/request_head.h"
#include "serve/request_timeout.h"
#include "serve/tls_certificates.h"

#define CLOSE_STEPS 200 /* a second: how often a server that stops looks at what is left */
#define STREAM_BLOCK 16384

/* libmicrohttpd's, of a connection: beside the headers it holds a table of them, copies of cookies,
 * and the headers of the response. */
#define CONNECTION_BYTES (2 * SERVE_MOST_HEADER)
#define RETURNED_BYTES ((size_t)32 << 20) /* of bodies, before memory is returned to the system */

struct serve_http {
    serve_connection_thread *threads;
    unsigned thread_count;
    serve_http_options options;
    serve_app app;
    serve_certificates *certificates; /* NULL: no TLS */
    serve_timer *timer;
    int listener;
    unsigned port;
    atomic_bool is_ending; /* requests that come are refused */
    _Atomic size_t active; /* exchanges */
    _Atomic size_t held;   /* bytes of bodies */
    _Atomic size_t unread; /* bytes of responses */
    _Atomic size_t freed;  /* bytes of both, since memory was last returned to the system */

    pthread_mutex_t lock;
    size_t suspended; /* connections */
    bool has_ended;   /* no more connections are suspended */
};

/* ---- Exchanges ---- */

void serve_response_header(serve_response *response, const char *name, const char *format, ...) {
    if (response->header_count == SERVE_MOST_HEADERS)
        return;
    va_list arguments;
    va_start(arguments, format);
    response->headers[response->header_count].name = name;
    vsnprintf(response->headers[response->header_count].value, SERVE_HEADER_VALUE, format,
              arguments);
    response->header_count++;
    va_end(arguments);
}

double serve_exchange_seconds(const serve_exchange *exchange) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - exchange->started.tv_sec) +
           1e-9 * (double)(now.tv_nsec - exchange->started.tv_nsec);
}

/* False if the server has ended. */
static bool suspend(serve_exchange *exchange) {
    serve_http *http = exchange->http;
    pthread_mutex_lock(&http->lock);
    bool good = !http->has_ended;
    if (good) {
        http->suspended++;
        MHD_suspend_connection(exchange->connection);
    }
    pthread_mutex_unlock(&http->lock);
    return good;
}

static serve_connection_thread *thread_of(const serve_exchange *exchange) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_DAEMON);
    serve_connection_thread *thread = exchange->http->threads;
    while (thread->daemon != info->daemon)
        thread++;
    return thread;
}

/* Once it is resumed, the exchange may be gone at any time. */
static void resume(serve_exchange *exchange) {
    serve_http *http = exchange->http;
    serve_connection_thread *thread = thread_of(exchange);
    MHD_resume_connection(exchange->connection);
    serve_connection_thread_wake(thread);
    pthread_mutex_lock(&http->lock);
    http->suspended--;
    pthread_mutex_unlock(&http->lock);
}

bool serve_exchange_defer(serve_exchange *exchange) {
    exchange->is_deferred = suspend(exchange);
    return exchange->is_deferred;
}

void serve_exchange_finish(serve_exchange *exchange) {
    resume(exchange);
}

void serve_exchange_wake(serve_exchange *exchange) {
    resume(exchange);
}

/* Small ones are always sent, such as refusals and what a commit answers: the number of connections
 * bounds them. */
bool serve_exchange_hold(serve_exchange *exchange) {
    serve_http *http = exchange->http;
    const serve_response *response = &exchange->response;
    size_t size = response->is_constant || response->stream != NULL ? 0 : response->size;
    size_t before = atomic_fetch_add(&http->unread, size);
    if (size > SERVE_SMALL_RESPONSE && before + size > http->options.limits->held_response_bytes) {
        atomic_fetch_sub(&http->unread, size);
        return false;
    }
    exchange->unread = size;
    return true;
}

static int socket_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

static bool is_at_end(int fd) {
    char byte = 0;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

bool serve_exchange_is_abandoned(const serve_exchange *exchange) {
    return is_at_end(socket_of(exchange->connection));
}

/* What is being exchanged over a connection. libmicrohttpd always says that a connection has ended,
 * but not of a request whose parameters or headers do not fit into its memory. */
typedef struct http_slot {
    serve_exchange *exchange; /* NULL: none */
    serve_timed timed;
} http_slot;

static http_slot *slot_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

/* Parameters are ours to read. libmicrohttpd reads them, too, and falls silent where they do not
 * fit into its memory: so we make one of them all. The target is in the buffer of the connection,
 * which can be written to. */
static void join_parameters(const char *target) {
    for (char *at = strchr(target, '&'); at != NULL; at = strchr(at, '&'))
        *at = '+';
}

/* The first that is heard of a request. */
static void *on_target(void *payload, const char *target, struct MHD_Connection *connection) {
    serve_http *http = payload;
    http_slot *slot = slot_of(connection);
    serve_exchange *exchange = slot == NULL ? NULL : kg__alloc(1, sizeof *exchange);
    if (exchange == NULL)
        return NULL;
    slot->exchange = exchange;
    exchange->request.target = kg__copy_string(target, strlen(target));
    join_parameters(target);
    exchange->http = http;
    exchange->connection = connection;
    clock_gettime(CLOCK_MONOTONIC, &exchange->started);
    atomic_fetch_add(&http->active, 1);
    return exchange;
}

/* The C library keeps what is freed, in pieces, for as long as the process lives. Now and then it
 * is made to return them, which takes milliseconds: too long to do for each exchange. */
static void count_freed(serve_http *http, size_t bytes) {
    if (atomic_fetch_add(&http->freed, bytes) + bytes < RETURNED_BYTES)
        return;
    atomic_store(&http->freed, 0);
    kg__return_memory();
}

/* libmicrohttpd lets go of the response only behind this, so what that is made of ends here and not
 * with the response. */
static void end_exchange(serve_http *http, serve_exchange *exchange) {
    if (exchange->phase != SERVE_READING)
        http->app.end(http->app.payload, exchange);
    if (exchange->response.stream != NULL)
        exchange->response.stream->close(exchange->response.stream_state);
    if (!exchange->response.is_constant)
        kg__free(exchange->response.body);
    kg__free(exchange->request.target);
    kg__free(exchange->request.body);
    atomic_fetch_sub(&http->held, exchange->request.size);
    atomic_fetch_sub(&http->unread, exchange->unread);
    count_freed(http, exchange->request.capacity + exchange->unread);
    kg__free(exchange);
    atomic_fetch_sub(&http->active, 1);
}

static void on_end(void *payload, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode code) {
    (void)code;
    if (*state == NULL)
        return;
    serve_http *http = payload;
    http_slot *slot = slot_of(connection);
    slot->exchange = NULL;
    end_exchange(http, *state);
    *state = NULL;
    serve_timer_ended(http->timer, &slot->timed);
}

static void use_certificate(serve_http *http, struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (http->certificates != NULL && info != NULL)
        serve_certificates_use(http->certificates, info->tls_session);
}

static void on_connection(void *payload, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code) {
    serve_http *http = payload;
    http_slot *slot = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        slot = kg__alloc(1, sizeof *slot);
        *context = slot;
        use_certificate(http, connection);
        if (slot != NULL)
            serve_timer_add(http->timer, &slot->timed, socket_of(connection));
        return;
    }
    if (slot == NULL)
        return;
    serve_timer_remove(http->timer, &slot->timed);
    if (slot->exchange != NULL)
        end_exchange(http, slot->exchange);
    kg__free(slot);
}

/* ---- Responses ---- */

static ssize_t read_stream(void *payload, uint64_t position, char *out, size_t size) {
    serve_exchange *exchange = payload;
    const serve_stream *stream = exchange->response.stream;
    void *state = exchange->response.stream_state;
    (void)position;
    stream->lock(state);
    int64_t got = stream->read(state, out, size);
    if (got == 0 && !suspend(exchange))
        got = -1;
    stream->unlock(state);
    if (got > 0)
        exchange->sent += (uint64_t)got;
    return got < 0 ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)got;
}

static struct MHD_Response *make_response(serve_exchange *exchange) {
    serve_response *response = &exchange->response;
    if (response->stream != NULL)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream,
                                                 exchange, NULL);
    exchange->sent = response->size;
    return MHD_create_response_from_buffer(response->size, response->body, MHD_RESPMEM_PERSISTENT);
}

/* Body and stream stay the exchange's: where a client is gone, libmicrohttpd ends the exchange
 * before it destroys the response, and reads neither in between. */
static enum MHD_Result send_response(serve_exchange *exchange) {
    const serve_response *response = &exchange->response;
    struct MHD_Response *made = make_response(exchange);
    if (made == NULL)
        return MHD_NO;
    enum MHD_Result good = MHD_YES;
    if (response->type != NULL)
        good = MHD_add_response_header(made, "Content-Type", response->type);
    for (size_t i = 0; i < response->header_count && good == MHD_YES; i++)
        good = MHD_add_response_header(made, response->headers[i].name, response->headers[i].value);
    if (response->closes || atomic_load(&exchange->http->is_ending))
        MHD_add_response_header(made, "Connection", "close");
    if (response->stream == NULL)
        serve_timer_sending(exchange->http->timer, &slot_of(exchange->connection)->timed);
    if (good == MHD_YES)
        good = MHD_queue_response(exchange->connection, (unsigned)response->status, made);
    MHD_destroy_response(made);
    return good;
}

/* ---- Requests ---- */

/* What comes of it is read from now on, but not kept. */
static void drop_body(serve_exchange *exchange) {
    serve_request *request = &exchange->request;
    atomic_fetch_sub(&exchange->http->held, request->size);
    count_freed(exchange->http, request->capacity);
    kg__free(request->body);
    request->dropped += request->size;
    request->body = NULL;
    request->size = request->capacity = request->most = 0;
}

/* All bodies together have a limit; a request whose body would be beyond it is refused when the
 * body has come. */
static bool keep(serve_exchange *exchange, const char *bytes, size_t size) {
    serve_request *request = &exchange->request;
    serve_http *http = exchange->http;
    char *body = kg__grow(request->body, &request->capacity, request->size + size + 1, 1);
    if (body == NULL)
        return false;
    memcpy(body + request->size, bytes, size);
    request->body = body;
    request->size += size;
    body[request->size] = '\0';
    request->is_crowded =
        atomic_fetch_add(&http->held, size) + size > http->options.limits->held_body_bytes;
    if (request->is_crowded)
        drop_body(exchange);
    return true;
}

static bool add_body(serve_exchange *exchange, const char *bytes, size_t size) {
    serve_request *request = &exchange->request;
    size_t room = request->most - request->size;
    size_t taken = size < room ? size : room;
    bool is_kept = taken == 0 || keep(exchange, bytes, taken);
    request->dropped += size - taken;
    return is_kept && request->dropped <= SERVE_MOST_FACTS_BODY;
}

/* Whether the client is gone in the middle of a body. libmicrohttpd does not hear of it where that
 * came with the last bytes, and would keep the body until the connection has been idle for long. */
static bool has_hung_up(const serve_exchange *exchange) {
    const serve_request *request = &exchange->request;
    const char *length = request->headers[SERVE_CONTENT_LENGTH];
    if (length == NULL || request->size + request->dropped >= strtoull(length, NULL, 10))
        return false;
    return is_at_end(socket_of(exchange->connection));
}

static bool take_body(serve_exchange *exchange, const char *bytes, size_t size) {
    return add_body(exchange, bytes, size) && !has_hung_up(exchange);
}

/* ---- Answers ---- */

/* Whether a refusal is sent before the body is read: to a client that waits for it, or whose body
 * is larger than any that is taken, or cannot be read. Then the connection is closed behind it. Any
 * other client may not look at the answer before it has sent all: its body is read and dropped. */
static bool is_refused_at_once(const serve_exchange *exchange) {
    const char *const *headers = exchange->request.headers;
    if (exchange->response.status == 0)
        return false;
    const char *length = headers[SERVE_CONTENT_LENGTH];
    return exchange->response.closes || headers[SERVE_EXPECT] != NULL ||
           (length != NULL && strtoull(length, NULL, 10) > SERVE_MOST_FACTS_BODY);
}

static enum MHD_Result begin_request(serve_exchange *exchange, const char *url, const char *method,
                                     const char *version) {
    serve_http *http = exchange->http;
    exchange->phase = SERVE_BODY;
    serve_request_head_read(exchange, url, method, version);
    exchange->request.is_late = atomic_load(&http->is_ending);
    http->app.begin(http->app.payload, exchange);
    return is_refused_at_once(exchange) ? send_response(exchange) : MHD_YES;
}

static enum MHD_Result answer_request(serve_exchange *exchange) {
    serve_http *http = exchange->http;
    exchange->phase = SERVE_ANSWERING;
    serve_timer_whole(http->timer, &slot_of(exchange->connection)->timed);
    if (exchange->response.status != 0)
        return send_response(exchange);
    http->app.answer(http->app.payload, exchange);
    return exchange->is_deferred ? MHD_YES : send_response(exchange);
}

/* Called when the headers are there, for each piece of the body, at its end, and when a deferred
 * exchange is finished. */
static enum MHD_Result on_request(void *payload, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *size, void **state) {
    serve_exchange *exchange = *state;
    (void)payload;
    (void)connection;
    if (exchange == NULL || exchange->request.target == NULL)
        return MHD_NO;
    if (exchange->phase == SERVE_READING)
        return begin_request(exchange, url, method, version);
    if (*size > 0) {
        size_t given = *size;
        *size = 0;
        return take_body(exchange, bytes, given) ? MHD_YES : MHD_NO;
    }
    return exchange->phase == SERVE_BODY ? answer_request(exchange) : send_response(exchange);
}

/* ---- Opening and closing ---- */

/* One that has so many connections at most. */
static struct MHD_Daemon *make_daemon(serve_http *http, unsigned connections) {
    bool is_secure = http->certificates != NULL;
    char *cert = is_secure ? serve_certificates_cert(http->certificates) : NULL;
    char *key = is_secure ? serve_certificates_key(http->certificates) : NULL;
    unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (is_secure ? MHD_USE_TLS : MHD_NO_FLAG);
    static char versions[] = "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1"; /* RFC 8996 */
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, cert},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, key},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, versions},
                                   {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem no_tls[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET, http->listener,
        MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)http->options.limits->idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        CONNECTION_BYTES, MHD_OPTION_URI_LOG_CALLBACK, on_target, http, MHD_OPTION_NOTIFY_COMPLETED,
        on_end, http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY,
        is_secure ? tls : no_tls, MHD_OPTION_END);
}

/* The connections are shared out. */
static kg_status start_threads(serve_http *http, kg_error *error) {
    const serve_http_options *options = &http->options;
    http->threads = kg__alloc(options->threads, sizeof *http->threads);
    if (http->threads == NULL)
        return kg__fail_memory(error);
    for (unsigned i = 0; i < options->threads; i++) {
        unsigned share = (options->connections + i) / options->threads;
        struct MHD_Daemon *daemon = make_daemon(http, share);
        if (daemon == NULL)
            return kg_fail(error, KG_SYSTEM, "cannot serve HTTP%s on %s",
                           http->certificates == NULL ? "" : " with this certificate and key",
                           options->address);
        KG_TRY(serve_connection_thread_start(&http->threads[i], daemon, error));
        http->thread_count++;
    }
    return KG_OK;
}

static kg_status open(serve_http *http, kg_error *error) {
    const serve_http_options *options = &http->options;
    if (options->tls_cert != NULL)
        KG_TRY(serve_certificates_open(&http->certificates, options->tls_cert, options->tls_key,
                                       error));
    KG_TRY(serve_timer_open(&http->timer, (unsigned)options->limits->request_seconds,
                            (unsigned)options->limits->response_seconds, error));
    KG_TRY(serve_listen(&http->listener, options->address, error));
    http->port = serve_listener_port(http->listener);
    return start_threads(http, error);
}

kg_status serve_http_open(serve_http **out, const serve_http_options *options, const serve_app *app,
                          kg_error *error) {
    serve_http *http = kg__alloc(1, sizeof *http);
    if (http == NULL)
        return kg__fail_memory(error);
    *http = (serve_http){.options = *options, .app = *app, .listener = -1};
    pthread_mutex_init(&http->lock, NULL);
    kg_status status = open(http, error);
    if (status == KG_OK)
        *out = http;
    else
        serve_http_close(http);
    return status;
}

unsigned serve_http_port(const serve_http *http) {
    return http->port;
}

size_t serve_http_active(const serve_http *http) {
    return atomic_load(&http->active);
}

kg_status serve_http_reload(serve_http *http, kg_error *error) {
    return http->certificates == NULL ? KG_OK
                                      : serve_certificates_reload(http->certificates, error);
}

/* The socket is closed later, since a thread may be about to use it. */
void serve_http_end(serve_http *http) {
    if (http == NULL || atomic_exchange(&http->is_ending, true))
        return;
    shutdown(http->listener, SHUT_RDWR);
    for (unsigned i = 0; i < http->thread_count; i++)
        serve_connection_thread_end(&http->threads[i]);
}

static size_t count_suspended(serve_http *http, bool ends) {
    pthread_mutex_lock(&http->lock);
    http->has_ended |= ends;
    size_t count = http->suspended;
    pthread_mutex_unlock(&http->lock);
    return count;
}

static const struct timespec close_step = {.tv_nsec = 1000000000 / CLOSE_STEPS};

static void wait_for_exchanges(const serve_http *http) {
    uint64_t steps = http->options.limits->stop_seconds * CLOSE_STEPS;
    for (uint64_t i = 0; atomic_load(&http->active) > 0 && i < steps; i++)
        nanosleep(&close_step, NULL);
}

/* Requests that are not whole, and responses that clients do not read, have some time; those that
 * are worked on as much as they need, and then the same time to be sent. */
static void stop(serve_http *http) {
    wait_for_exchanges(http);
    bool is_late = count_suspended(http, true) > 0;
    while (count_suspended(http, true) > 0)
        nanosleep(&close_step, NULL);
    if (is_late)
        wait_for_exchanges(http);
    for (unsigned i = 0; i < http->thread_count; i++)
        serve_connection_thread_stop(&http->threads[i]);
}

void serve_http_close(serve_http *http) {
    if (http == NULL)
        return;
    serve_http_end(http);
    stop(http);
    if (http->listener >= 0)
        close(http->listener);
    serve_timer_close(http->timer);
    serve_certificates_close(http->certificates);
    kg__free(http->threads);
    pthread_mutex_destroy(&http->lock);
    kg__free(http);
}
