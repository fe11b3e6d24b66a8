/* The target of a request: segments of its path and parameters of its query, percent-decoded. */
#ifndef KG_SERVE_URI_H
#define KG_SERVE_URI_H

#include "base/status.h"

/* The path and the query of a target, which is cut in place; the query is "" if there is none. */
typedef struct serve_target {
    char *path;
    char *query;
} serve_target;

serve_target serve_target_split(char *target);

/* Decodes %XX in place, and + if it is a query's. Returns the length, or SIZE_MAX if there is a
 * percent sign without two digits, or a NUL. */
size_t serve_uri_decode(char *text, bool is_query);

/* Takes the next `name=value` of a query, decoded; `*more` is false if there is none. */
KG_MUST_CHECK kg_status serve_query_next(char **name, char **value, bool *more, char **rest,
                                         kg_error *error);

/* Whether a path is that of a template, as /v1/entities/{name} is one. `*parameter` is where the
 * part in braces begins in the path, which goes up to its end; NULL if there is none. A slash is
 * part of it only if there is a plus sign, as in /web/{+file}. */
bool serve_path_matches(const char *path, const char *template, const char **parameter);

#endif
