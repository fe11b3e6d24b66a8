/* The head of a request, its first line and headers, as it is in libmicrohttpd's buffer: what is
 * beyond limits, or may be taken for something else, is a fault, and the headers that we know are
 * read. */
#ifndef KG_SERVE_REQUEST_HEAD_H
#define KG_SERVE_REQUEST_HEAD_H

#include "serve/http.h"

/* Sets method, headers, fault and peer. The strings are in the buffer, where values lose the blanks
 * behind them. */
void serve_request_head_read(serve_exchange *exchange, const char *url, const char *method,
                             const char *version);

#endif
