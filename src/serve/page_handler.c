/* The page: files of web/, which are compiled in. Its policy lets it run nothing but these files,
 * and ask nobody but this server. */
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/text.h"
#include "serve/embedded.h"
#include "serve/etag_list.h"
#include "serve/gzip_body.h"
#include "serve/server.h"

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
    "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const struct {
    const char *extension;
    const char *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

static const char *type_of(const char *name) {
    const char *extension = strrchr(name, '.');
    for (size_t i = 0; extension != NULL && i < sizeof types / sizeof *types; i++)
        if (strcmp(extension, types[i].extension) == 0)
            return types[i].type;
    return "application/octet-stream";
}

static const serve_embedded *find_file(const char *name) {
    const serve_embedded *file = serve_web_files;
    while (file->name != NULL && strcmp(file->name, name) != 0)
        file++;
    return file->name == NULL ? NULL : file;
}

kg_status serve_page_get(serve_call *call, serve_view *view, kg_error *error) {
    const char *name = call->name == NULL ? "index.html" : call->name;
    const serve_embedded *file = find_file(name);
    serve_response *response = &call->exchange->response;
    const char *unless = serve_call_header(call, SERVE_IF_NONE_MATCH);
    (void)view;
    if (file == NULL)
        return serve_refuse(call, error, 404, "expected a file of the page, found %s",
                            kg__quote(name, strlen(name)).text);
    kg_checksum sum = kg__checksum_of(file->text, file->length);
    char tag[sizeof sum.text + 2];
    snprintf(tag, sizeof tag, "\"%s\"", sum.text);
    serve_response_header(response, "ETag", "%s", tag);
    serve_response_header(response, "Cache-Control", "no-cache");
    serve_response_header(response, "Content-Security-Policy", "%s", policy);
    serve_response_header(response, "Referrer-Policy", "no-referrer");
    serve_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    if (unless != NULL && serve_tags_find(unless, tag, true) == SERVE_TAGS_WITH) {
        call->status = 304;
        return KG_OK;
    }
    serve_call_set_constant(call, file->text, file->length, type_of(name));
    return KG_OK;
}
