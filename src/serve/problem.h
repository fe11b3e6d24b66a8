/* Errors of HTTP: RFC 9457, application/problem+json, with the library's message, its place and
 * names that may have been meant. */
#ifndef KG_SERVE_PROBLEM_H
#define KG_SERVE_PROBLEM_H

#include "base/json.h"
#include "base/names.h"
#include "infer/name_suggestions.h"

#define SERVE_PROBLEM_TYPE "application/problem+json"

/* What a refusal has beside its message. */
typedef struct serve_problem {
    int status;            /* of HTTP; 0: by the library's */
    const char *parameter; /* of the request that it is about, or NULL */
    json_t *similar;       /* names, or NULL; owned */
    bool is_brief;         /* no similar names are looked for, which takes a pass over all */
} serve_problem;

/* The status of HTTP that a failure has. */
int serve_status_of(const serve_problem *problem, kg_status status);

/* "Not Found": what a status of HTTP is called. */
const char *serve_status_title(int status);

/* Adds the known names that are similar to an unknown one. Returns them for a message, as
 * kg__suggest does. */
kg_suggestion serve_problem_suggest(serve_problem *problem, const kg_names *names, kg_text word);

/* Puts a text before the message of an error, as the place that it is about. */
void serve_error_prefix(kg_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The body; NULL if memory is short. */
json_t *serve_problem_json(const serve_problem *problem, const kg_error *error);

#endif
