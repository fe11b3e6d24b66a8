/* Fuzzes what the server reads of a request before it looks anything up: an input is a target and,
 * behind the first newline, a body. Whatever they are, reading ends, and a failure is a message. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "serve/limits.h"
#include "serve/question.h"
#include "serve/request_json.h"
#include "serve/uri.h"

static const serve_field fields[] = {
    {"entity", SERVE_TEXT, SERVE_ASKED(entity), 0, 0},
    {"facts", SERVE_FACTS, SERVE_ASKED(facts), 0, SERVE_MOST_SUBJECT_FACTS},
    {"relation", SERVE_TEXT, SERVE_ASKED(relation), 0, 0},
    {"side", SERVE_SIDE, SERVE_ASKED(side), 0, 0},
    {"k", SERVE_COUNT, SERVE_ASKED(k), 1, SERVE_MOST_K},
    {"min_probability", SERVE_NUMBER, SERVE_ASKED(min_probability), 0, 1},
    {"no_echo", SERVE_FLAG, SERVE_ASKED(no_echo), 0, 0},
    {"requests", SERVE_LIST, SERVE_ASKED(requests), 1, SERVE_MOST_BATCH},
    {0},
};

static void read_target(const char *bytes, size_t size) {
    char *copy = malloc(size + 1);
    const char *parameter = NULL;
    fuzz_require(copy != NULL);
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    serve_target target = serve_target_split(copy);
    if (serve_path_matches(target.path, "/v1/entities/{name}", &parameter))
        fuzz_require(parameter[0] != '\0' && strchr(parameter, '/') == NULL);
    for (bool more = true; more;) {
        char *name = NULL;
        char *value = NULL;
        kg_error error = {0};
        kg_status status = serve_query_next(&name, &value, &more, &target.query, &error);
        fuzz_require(status == KG_OK || error.status == status);
        if (status != KG_OK)
            break;
    }
    serve_uri_decode(target.path, false);
    free(copy);
}

static void check_facts(const json_t *facts) {
    for (size_t i = 0; i < json_array_size(facts); i++) {
        kg_text names[3];
        serve_fact_names(names, json_array_get(facts, i));
        for (size_t k = 0; k < 3; k++)
            fuzz_require(names[k].length >= 1 && names[k].length <= SERVE_MOST_NAME);
    }
}

static void read_body(const char *bytes, size_t size) {
    serve_question question = {.k = 10};
    json_t *json = NULL;
    kg_error error = {0};
    kg_status status = serve_json_parse(&json, bytes, size, &error);
    if (status == KG_OK)
        status = serve_fields_read(&question, fields, json, "", &error);
    fuzz_require(status == KG_OK || (error.status == status && error.message[0] != '\0'));
    if (status == KG_OK) {
        fuzz_require(question.k >= 1 && question.k <= SERVE_MOST_K);
        fuzz_require(question.min_probability >= 0 && question.min_probability <= 1);
        fuzz_require(json_array_size(question.requests) <= SERVE_MOST_BATCH);
        check_facts(question.facts);
    }
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    const char *bytes = (const char *)input;
    const char *newline = size == 0 ? NULL : memchr(bytes, '\n', size);
    size_t first = newline == NULL ? size : (size_t)(newline - bytes);
    read_target(bytes, first);
    if (newline != NULL)
        read_body(newline + 1, size - first - 1);
    return 0;
}
