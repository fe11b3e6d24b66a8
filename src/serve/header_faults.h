/* Headers by which two readers may take a request for different ones, or for one without its
 * conditions (RFC 9112, 5.1, 5.2, 6.3 and 11.2): such a request is refused, with its connection. */
#ifndef KG_SERVE_HEADER_FAULTS_H
#define KG_SERVE_HEADER_FAULTS_H

#include "serve/http.h"

/* What was seen of a request's headers. All zeroes at first, but for the end. */
typedef struct serve_headers_seen {
    unsigned counts[SERVE_HEADER_COUNT];
    unsigned count;    /* of all */
    const char *fault; /* of a name or line; NULL: none */
    const char *end;   /* of the line that was last seen: at first that of the request */
    size_t line_end;   /* bytes of the end of a line, which is the same for all; 0: not known yet */
} serve_headers_seen;

/* To be called with each header, where it is in the buffer that it was read into: the value behind
 * the name. */
void serve_headers_look(serve_headers_seen *seen, const char *name, const char *value);

/* What was expected and found; NULL if nothing is wrong. `end` is that of all headers, where the
 * empty line behind them ends. */
const char *serve_headers_fault(const serve_headers_seen *seen, const char *end);

#endif
