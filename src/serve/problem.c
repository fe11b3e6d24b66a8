/* Statuses, and problems as JSON. */
#include "serve/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int status;
    const char *title;
} titles[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {409, "Conflict"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {431, "Request Header Fields Too Large"},
    {503, "Service Unavailable"},
    {507, "Insufficient Storage"},
};

const char *serve_status_title(int status) {
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Error";
}

/* What the client sent is wrong, or the system is short of something. */
int serve_status_of(const serve_problem *problem, kg_status status) {
    if (problem->status != 0)
        return problem->status;
    return status == KG_BAD_INPUT ? 422 : 503;
}

kg_suggestion serve_problem_suggest(serve_problem *problem, const kg_names *names, kg_text word) {
    if (problem->is_brief)
        return (kg_suggestion){""};
    kg_suggestions found = kg__suggestions_find(names, word);
    json_t *list = json_array();
    for (size_t i = 0; i < found.count; i++) {
        kg_name name = kg__names_get(names, found.ids[i]);
        json_array_append_new(list, kg__json_text(name.bytes, name.length));
    }
    json_decref(problem->similar);
    problem->similar = list;
    return kg__suggestions_text(names, &found);
}

void serve_error_prefix(kg_error *error, const char *format, ...) {
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof message)
        return;
    snprintf(message + length, sizeof message - (size_t)length, "%s", error->message);
    memcpy(error->message, message, sizeof message);
}

static json_t *place_json(uint64_t place) {
    return place == 0 ? NULL : json_integer((json_int_t)place);
}

json_t *serve_problem_json(const serve_problem *problem, const kg_error *error) {
    int status = serve_status_of(problem, error->status);
    return json_pack("{ss ss si so so* so* so* ss* sO*}", "type", "about:blank", "title",
                     serve_status_title(status), "status", status, "detail",
                     kg__json_text(error->message, strlen(error->message)), "source",
                     error->source[0] == '\0' ? NULL
                                              : kg__json_text(error->source, strlen(error->source)),
                     "line", place_json(error->line), "column", place_json(error->column),
                     "parameter", problem->parameter, "similar", problem->similar);
}
