/* Sizes and lines of headers, and their values. */
#include "serve/request_head.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

#include "serve/header_faults.h"
#include "serve/limits.h"
#include "serve/listener.h"

const char *const serve_header_names[SERVE_HEADER_COUNT] = {
    "Accept",        "Accept-Encoding", "Authorization", "Content-Encoding", "Content-Length",
    "Content-Type",  "Expect",          "Host",          "Idempotency-Key",  "If-Match",
    "If-None-Match", "Last-Event-ID",   "Origin",        "Transfer-Encoding"};

static enum MHD_Result look_at_header(void *payload, enum MHD_ValueKind kind, const char *name,
                                      const char *value) {
    (void)kind;
    serve_headers_look(payload, name, value == NULL ? "" : value);
    return MHD_YES;
}

/* Whether a target goes on behind what a string has of it. In the buffer of the connection, `url`
 * is where it was, the version right behind it. */
static bool has_nul(const serve_exchange *exchange, const char *url, const char *version) {
    return url + strlen(exchange->request.target) + 1 != version;
}

/* The first fault counts. */
static void set_fault(serve_request *request, int status, const char *fault) {
    if (request->fault != NULL || fault == NULL)
        return;
    request->fault = fault;
    request->fault_status = status;
}

static enum MHD_Result add_size(void *payload, enum MHD_ValueKind kind, const char *name,
                                const char *value) {
    (void)kind;
    *(size_t *)payload += strlen(name) + (value == NULL ? 0 : strlen(value));
    return MHD_YES;
}

/* What is beyond the limits is refused before anything is done: libmicrohttpd might not have the
 * memory left to answer. `size` is that of the first line and all headers. */
static void check_sizes(serve_exchange *exchange, size_t size, unsigned headers) {
    size_t copied = 0;
    int cookies =
        MHD_get_connection_values(exchange->connection, MHD_COOKIE_KIND, add_size, &copied);
    if (strlen(exchange->request.target) > SERVE_MOST_HEADER)
        set_fault(&exchange->request, 414, "expected a target of fewer bytes (header_bytes)");
    if (size + copied > SERVE_MOST_HEADER)
        set_fault(&exchange->request, 431,
                  "expected a first line and headers of fewer bytes (header_bytes), those of "
                  "cookies counted twice");
    if (headers + (unsigned)cookies > SERVE_MOST_HEADER_COUNT)
        set_fault(&exchange->request, 431, "expected fewer headers and cookies (headers)");
}

/* In the buffer of the connection, headers are behind the version, and what libmicrohttpd has taken
 * for their end counts from the method. */
static void check_headers(serve_exchange *exchange, const char *method, const char *version) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    size_t size = info == NULL ? 0 : info->header_size;
    serve_headers_seen seen = {.end = version + strlen(version)};
    MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, look_at_header, &seen);
    check_sizes(exchange, size, seen.count);
    set_fault(&exchange->request, 400, serve_headers_fault(&seen, method + size));
}

static void check_coding(serve_request *request) {
    const char *coding = request->headers[SERVE_TRANSFER_ENCODING];
    if (coding != NULL && strcasecmp(coding, "chunked") != 0)
        set_fault(request, 400, "Transfer-Encoding: expected none, found one that is not known");
}

/* Cuts off blanks behind a value, which libmicrohttpd leaves there, in the buffer of the
 * connection.
 */
static const char *trim(const char *value) {
    char *end = value == NULL ? NULL : strchr(value, '\0');
    while (end != NULL && end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    return value;
}

static void read_headers(serve_exchange *exchange) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    for (int i = 0; i < SERVE_HEADER_COUNT; i++)
        exchange->request.headers[i] = trim(MHD_lookup_connection_value(
            exchange->connection, MHD_HEADER_KIND, serve_header_names[i]));
    if (info != NULL && info->client_addr != NULL)
        serve_show_peer(exchange->peer, sizeof exchange->peer, info->client_addr);
}

void serve_request_head_read(serve_exchange *exchange, const char *url, const char *method,
                             const char *version) {
    exchange->request.method = method;
    if (has_nul(exchange, url, version))
        set_fault(&exchange->request, 400, "target: expected no NUL, found one");
    check_headers(exchange, method, version);
    read_headers(exchange); /* which changes them in the buffer */
    check_coding(&exchange->request);
}
