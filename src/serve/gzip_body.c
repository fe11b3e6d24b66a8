/* gzip by zlib, in one piece. */
#include "serve/gzip_body.h"

#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "serve/accept_header.h"
#include "serve/limits.h"

#define GZIP_WINDOW (15 + 16) /* the largest, in gzip's frame */
#define LEVEL 1               /* time matters more than the last percent */

bool serve_accepts_gzip(const char *header) {
    return header != NULL && serve_accept_weight(header, "gzip") > 0;
}

static char *compress_body(const char *body, size_t size, size_t *compressed) {
    z_stream stream = {0};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    size_t room = deflateBound(&stream, size);
    char *out = room > UINT32_MAX ? NULL : kg__resize(NULL, room, 1);
    stream.next_in = (Bytef *)body;
    stream.avail_in = (uInt)size;
    stream.next_out = (Bytef *)out;
    stream.avail_out = (uInt)room;
    bool good = out != NULL && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    *compressed = stream.total_out;
    deflateEnd(&stream);
    if (good)
        return out;
    kg__free(out);
    return NULL;
}

void serve_gzip(serve_exchange *exchange) {
    serve_response *response = &exchange->response;
    size_t size = 0;
    if (response->stream != NULL || response->size < SERVE_LEAST_GZIP)
        return;
    serve_response_header(response, "Vary", "Accept-Encoding");
    if (!serve_accepts_gzip(exchange->request.headers[SERVE_ACCEPT_ENCODING]))
        return;
    char *body = compress_body(response->body, response->size, &size);
    if (body == NULL)
        return;
    if (!response->is_constant)
        kg__free(response->body);
    response->body = body;
    response->size = size;
    response->is_constant = false;
    serve_response_header(response, "Content-Encoding", "gzip");
}
