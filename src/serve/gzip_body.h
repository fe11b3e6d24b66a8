/* Compressing large answers for clients that accept gzip. */
#ifndef KG_SERVE_GZIP_BODY_H
#define KG_SERVE_GZIP_BODY_H

#include "serve/http.h"

/* Compresses the body of the response if it is large and the request accepts that; where memory is
 * short, it stays as it is. */
void serve_gzip(serve_exchange *exchange);

/* Whether a header Accept-Encoding, which may be NULL, takes gzip. */
bool serve_accepts_gzip(const char *header);

#endif
