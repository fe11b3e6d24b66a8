/* Routes as paths and operations. A limit stands in a schema by its name, as in {"maximum": "$k"},
 * and is replaced by its number; in examples, $entity and $relation become names of the graph, and
 * $tsv and $ndjson lines with these, so that they can be sent as they stand. */
#include "serve/openapi.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "serve/embedded.h"
#include "serve/limits.h"
#include "serve/server.h"

/* ---- Schemas ---- */

static int put_values(json_t *value, const kg_model *model);

static json_t *name_json(kg_text name) {
    return kg__json_text(name.bytes, name.length);
}

static json_t *relation_json(const kg_model *model) {
    return name_json(kg_model_relation_name(model, 0));
}

static json_t *entity_json(const kg_model *model) {
    return name_json(kg_model_entity_name(model, 0));
}

static json_t *tsv_json(const kg_model *model) {
    json_t *relation = relation_json(model);
    json_t *entity = entity_json(model);
    json_t *out = relation == NULL || entity == NULL
                      ? NULL
                      : json_sprintf("something new\t%s\t%s\n", json_string_value(relation),
                                     json_string_value(entity));
    json_decref(relation);
    json_decref(entity);
    return out;
}

static json_t *ndjson_json(const kg_model *model) {
    json_t *fact = json_pack("[soo]", "something new", relation_json(model), entity_json(model));
    char *text = json_dumps(fact, 0);
    json_t *out =
        text == NULL ? NULL : json_sprintf("{\"remove\": %s}\n{\"add\": %s}\n", text, text);
    kg__json_free_text(text);
    json_decref(fact);
    return out;
}

/* What a text stands for; NULL: itself. */
static json_t *value_of(const json_t *value, const kg_model *model) {
    static const struct {
        const char *text;
        json_t *(*make)(const kg_model *model);
    } examples[] = {{"$entity", entity_json},
                    {"$relation", relation_json},
                    {"$tsv", tsv_json},
                    {"$ndjson", ndjson_json}};
    const char *text = json_string_value(value);
    if (text == NULL || text[0] != '$')
        return NULL;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (strcmp(text, examples[i].text) == 0)
            return examples[i].make(model);
    uint64_t limit = serve_limit_value(text + 1);
    return limit == 0 ? NULL : json_integer((json_int_t)limit);
}

static int put_object_values(json_t *object, const kg_model *model) {
    const char *name = NULL;
    json_t *value = NULL;
    void *next = NULL;
    json_object_foreach_safe(object, next, name, value) {
        json_t *other = value_of(value, model);
        if (other != NULL ? json_object_set_new(object, name, other) != 0
                          : put_values(value, model) != 0)
            return -1;
    }
    return 0;
}

static int put_array_values(json_t *array, const kg_model *model) {
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *value = json_array_get(array, i);
        json_t *other = value_of(value, model);
        if (other != NULL ? json_array_set_new(array, i, other) != 0
                          : put_values(value, model) != 0)
            return -1;
    }
    return 0;
}

/* As deep as the document is. */
static int put_values(json_t *value, const kg_model *model) {
    if (json_is_object(value))
        return put_object_values(value, model);
    return json_is_array(value) ? put_array_values(value, model) : 0;
}

static json_t *schema_reference(const char *name) {
    char path[96];
    snprintf(path, sizeof path, "#/components/schemas/%s", name);
    return json_pack("{ss}", "$ref", path);
}

/* ---- Operations ---- */

static json_t *parameter_json(const serve_parameter *row) {
    static const char *const places[] = {"query", "header", "path"};
    json_t *schema = json_pack("{ss}", "type", row->is_count ? "integer" : "string");
    bool good = schema != NULL;
    if (row->is_count) {
        json_object_set_new(schema, "minimum", json_integer((json_int_t)row->least));
        json_object_set_new(schema, "maximum", json_integer((json_int_t)row->most));
        if (row->fallback > 0)
            json_object_set_new(schema, "default", json_integer((json_int_t)row->fallback));
    } else {
        json_object_set_new(schema, "maxLength", json_integer(SERVE_MOST_NAME));
        if (row->place == SERVE_IN_PATH)
            json_object_set_new(schema, "minLength", json_integer(1));
    }
    return json_pack("{ss ss sb ss so ss*}", "name", row->name, "in", places[row->place],
                     "required", row->place == SERVE_IN_PATH, "description", row->help, "schema",
                     kg__json_complete(schema, good), "example", row->example);
}

static json_t *parameters_json(const serve_route *route) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (const serve_parameter *row = route->parameters; good && row->name != NULL; row++)
        good = json_array_append_new(out, parameter_json(row)) == 0;
    return kg__json_complete(out, good);
}

static json_t *content_json(const char *type, json_t *schema) {
    return json_pack("{s{so}}", type, "schema", schema);
}

/* The schema of a body: in formats of others, that of a text. */
static const char *body_schema(const serve_route *route, const char *type) {
    static const struct {
        const char *type;
        const char *schema;
    } texts[] = {{"application/x-ndjson", "ChangeLines"},
                 {"text/tab-separated-values", "TsvFacts"},
                 {"application/n-triples", "NTriples"},
                 {"application/rdf-patch", "RdfPatch"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].type, type) == 0)
            return texts[i].schema;
    return route->request;
}

static json_t *body_json(const serve_route *route) {
    json_t *content = json_object();
    bool good = content != NULL;
    for (size_t i = 0; good && route->types[i] != NULL; i++) {
        const char *type = route->types[i];
        json_t *one = content_json(type, schema_reference(body_schema(route, type)));
        good = json_object_update(content, one) == 0;
        json_decref(one);
    }
    return json_pack("{sb so}", "required", true, "content", kg__json_complete(content, good));
}

/* Headers of a response that clients may need; NULL: none. */
static json_t *headers_json(const char *name) {
    static const struct {
        const char *name;
        const char *type;
        const char *help;
    } rows[] = {{"ETag", "string", "The tag of the set of the entity's facts, if it is there."},
                {"Location", "string", "The path of the job."},
                {"Retry-After", "integer", "Seconds after which to ask again."}};
    for (size_t i = 0; name != NULL && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return json_pack("{s{ss s{ss}}}", name, "description", rows[i].help, "schema", "type",
                             rows[i].type);
    return NULL;
}

static json_t *success_json(const serve_route *route, int status) {
    json_t *content = NULL;
    if (route->response_type != NULL && route->response == NULL)
        content = content_json(route->response_type, json_pack("{ss}", "type", "string"));
    else if (route->response != NULL && status != 304)
        content = content_json(route->response_type, schema_reference(route->response));
    return json_pack("{ss so* so*}", "description", serve_status_title(status), "headers",
                     headers_json(route->response_header), "content", content);
}

static json_t *refusal_json(int status) {
    return json_pack("{ss so* so}", "description", serve_status_title(status), "headers",
                     headers_json(status == 503 ? "Retry-After" : NULL), "content",
                     content_json(SERVE_PROBLEM_TYPE, schema_reference("Problem")));
}

/* A server that is not ready says so in the shape of one that is; one that is short of memory, by a
 * problem. */
static json_t *unready_json(const serve_route *route) {
    json_t *response = refusal_json(503);
    json_t *content = content_json(route->response_type, schema_reference(route->response));
    bool good = json_object_update(json_object_get(response, "content"), content) == 0;
    json_decref(content);
    return kg__json_complete(response, good);
}

static bool add_response(json_t *out, const serve_route *route, int status) {
    char code[8];
    snprintf(code, sizeof code, "%d", status);
    bool is_unready = status == 503 && route->handle == serve_ready_get;
    json_t *response = status < 400 ? success_json(route, status)
                       : is_unready ? unready_json(route)
                                    : refusal_json(status);
    return json_object_set_new(out, code, response) == 0;
}

static json_t *responses_json(const serve_route *route) {
    json_t *out = json_object();
    bool good = add_response(out, route, route->success);
    for (size_t i = 0; good && i < SERVE_MOST_STATUSES && route->statuses[i] != 0; i++)
        good = add_response(out, route, route->statuses[i]);
    for (const int *status = serve_common_statuses(route); good && *status != 0; status++)
        good = add_response(out, route, *status);
    return kg__json_complete(out, good);
}

static json_t *operation_json(const serve_route *route) {
    json_t *security =
        route->right == SERVE_NOTHING ? json_pack("[]") : json_pack("[{} {s[]}]", "token");
    return json_pack("{ss ss so* so* so so}", "operationId", route->name, "summary", route->summary,
                     "parameters", route->parameters == NULL ? NULL : parameters_json(route),
                     "requestBody", route->types == NULL ? NULL : body_json(route), "responses",
                     responses_json(route), "security", security);
}

static json_t *paths_json(void) {
    json_t *out = json_object();
    bool good = out != NULL;
    for (const serve_route *route = serve_routes; good && route->method != NULL; route++) {
        char method[8] = {0};
        if (route->summary == NULL)
            continue;
        for (size_t i = 0; route->method[i] != '\0'; i++)
            method[i] = (char)(route->method[i] - 'A' + 'a');
        json_t *path = json_object_get(out, route->path);
        if (path == NULL) {
            path = json_object();
            good = json_object_set_new(out, route->path, path) == 0;
        }
        good = good && json_object_set_new(path, method, operation_json(route)) == 0;
    }
    return kg__json_complete(out, good);
}

kg_status serve_openapi_get(serve_call *call, serve_view *view, kg_error *error) {
    (void)view;
    (void)error;
    serve_call_set_constant(call, call->server->openapi, call->server->openapi_size,
                            "application/json");
    return KG_OK;
}

/* ---- The document ---- */

static json_t *info_json(void) {
    return json_pack(
        "{ss ss ss ss s{ss ss}}", "title", "kgraft", "version", kg_version(), "summary",
        "A knowledge graph whose entities keep arriving: predictions, reasons, changes",
        "description", "Errors are problems of RFC 9457. GET /v1/model has the limits of requests.",
        "license", "name", "MIT", "identifier", "MIT");
}

static json_t *document_json(json_t *schemas) {
    return json_pack("{ss so s[{ss}] so s{so s{s{ss ss}}}}", "openapi", "3.1.0", "info",
                     info_json(), "servers", "url", "/", "paths", paths_json(), "components",
                     "schemas", schemas, "securitySchemes", "token", "type", "http", "scheme",
                     "bearer");
}

kg_status serve_openapi_make(char **out, size_t *size, const kg_model *model, kg_error *error) {
    json_t *schemas = json_loadb(serve_schemas[0].text, serve_schemas[0].length, 0, NULL);
    if (schemas == NULL)
        return kg__fail_memory(error);
    json_t *document = document_json(schemas);
    bool good = document != NULL && put_values(document, model) == 0;
    char *text = good ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    *size = text == NULL ? 0 : strlen(text);
    *out = text == NULL ? NULL : kg__copy_string(text, *size);
    kg__json_free_text(text);
    return *out == NULL ? kg__fail_memory(error) : KG_OK;
}
