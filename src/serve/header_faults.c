/* Names, lines and numbers of headers. */
#include "serve/header_faults.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "serve/limits.h"

/* Of these only one is looked at, so there must not be more; NULL: lists, which may go on. */
static const char *const repeated[SERVE_HEADER_COUNT] = {
    [SERVE_AUTHORIZATION] = "expected one Authorization, found more",
    [SERVE_CONTENT_ENCODING] = "expected one Content-Encoding, found more",
    [SERVE_CONTENT_TYPE] = "expected one Content-Type, found more",
    [SERVE_HOST] = "expected one Host, found more",
    [SERVE_IDEMPOTENCY_KEY] = "expected one Idempotency-Key, found more",
    [SERVE_IF_MATCH] = "expected one If-Match, found more",
    [SERVE_IF_NONE_MATCH] = "expected one If-None-Match, found more",
    [SERVE_LAST_EVENT_ID] = "expected one Last-Event-ID, found more",
    [SERVE_ORIGIN] = "expected one Origin, found more",
};

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t';
}

/* A character of a token (RFC 9110, 5.6.2). */
static bool is_token(char byte) {
    return isascii(byte) && (isalnum(byte) || (byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte)));
}

/* libmicrohttpd adds a line that goes on with a header to the name, in another place, and leaves
 * the value alone. So the value is behind the name, but for a colon and blanks, if and only if the
 * header is on one line. */
static bool is_on_one_line(const char *name, const char *value) {
    uintptr_t end = (uintptr_t)name + strlen(name) + 1;
    uintptr_t start = (uintptr_t)value;
    if (start < end || start - end > SERVE_MOST_HEADER)
        return false;
    const char *between = name + (end - (uintptr_t)name);
    while (between < value && is_blank(*between))
        between++;
    return between == value;
}

/* libmicrohttpd ends a value at a NUL, and headers at a line that begins with a colon. Neither is
 * to be seen but by what is left out: lines follow each other without a gap, but for their ends. */
static const char *const hidden =
    "expected headers without NUL, each with a name, found bytes between them";

static bool follows(serve_headers_seen *seen, const char *name) {
    size_t gap = (uintptr_t)name - (uintptr_t)seen->end;
    if (seen->line_end == 0)
        seen->line_end = gap;
    return gap == seen->line_end && (gap == 1 || gap == 2); /* LF, CR LF */
}

static bool is_end(const serve_headers_seen *seen, const char *end) {
    size_t gap = (uintptr_t)end - (uintptr_t)seen->end;
    return seen->line_end == 0 ? gap == 2 || gap == 4 : gap == 2 * seen->line_end;
}

static const char *fault_of(const char *name, const char *value) {
    size_t length = strlen(name);
    if (!is_on_one_line(name, value))
        return "expected a header on one line, found one on several";
    if (length > 0 && is_blank(name[length - 1]))
        return "expected a colon behind the name of a header, found a space";
    if (length == 0)
        return "expected a name before the colon of a header, found none";
    for (size_t i = 0; i < length; i++)
        if (!is_token(name[i]))
            return "expected letters, digits and !#$%&'*+-.^_`|~ as the name of a header, found "
                   "others";
    return NULL;
}

void serve_headers_look(serve_headers_seen *seen, const char *name, const char *value) {
    for (size_t i = 0; i < SERVE_HEADER_COUNT; i++)
        seen->counts[i] += strcasecmp(name, serve_header_names[i]) == 0;
    seen->count++;
    if (seen->fault != NULL)
        return;
    seen->fault = fault_of(name, value);
    if (seen->fault == NULL && !follows(seen, name))
        seen->fault = hidden;
    seen->end = value + strlen(value);
}

const char *serve_headers_fault(const serve_headers_seen *seen, const char *end) {
    if (seen->counts[SERVE_CONTENT_LENGTH] + seen->counts[SERVE_TRANSFER_ENCODING] > 1)
        return "expected one Content-Length and no Transfer-Encoding, found more";
    for (size_t i = 0; i < SERVE_HEADER_COUNT; i++)
        if (repeated[i] != NULL && seen->counts[i] > 1)
            return repeated[i];
    return seen->fault != NULL || is_end(seen, end) ? seen->fault : hidden;
}
