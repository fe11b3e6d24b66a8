/* GET /v1/model, /livez and /readyz: what is served, and whether it is. */
#include <string.h>

#include "serve/jobs.h"
#include "serve/limits.h"
#include "serve/server.h"

static json_t *limits_json(const serve_capacity *capacity) {
    json_t *out = json_object();
    bool good = out != NULL;
    for (const serve_limit *limit = serve_limits; limit->name != NULL && good; limit++) {
        json_t *value = json_integer((json_int_t)serve_capacity_get(capacity, limit));
        good = json_object_set_new(out, limit->name, value) == 0;
    }
    return kg__json_complete(out, good);
}

static json_t *relations_json(const kg_model *model) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; i < model->relations.count && good; i++) {
        kg_text name = kg_model_relation_name(model, (kg_id)i);
        good = json_array_append_new(out, kg__json_text(name.bytes, name.length)) == 0;
    }
    return kg__json_complete(out, good);
}

static json_t *terms_json(const kg_model *model) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; kg__terms[i] != NULL && good; i++)
        if (kg__term_is_on(&model->params, i))
            good = json_array_append_new(out, json_string(kg__terms[i]->name)) == 0;
    return kg__json_complete(out, good);
}

kg_status serve_model_get(serve_call *call, serve_view *view, kg_error *error) {
    serve_server *server = call->server;
    serve_graph *graph = &server->graph;
    KG_TRY(serve_view_refresh(view, graph, error));
    const kg_model *model = view->snapshot;
    kg_model_info about = kg__model_describe(model);
    json_t *members = json_pack(
        "{ss so sI sI sI so so sI sb sb sb so}", "version", kg_version(), "name",
        kg__json_text(graph->name, strlen(graph->name)), "entities", (json_int_t)about.entities,
        "later_entities", (json_int_t)(about.entities - kg__model_own_entities(model)), "facts",
        (json_int_t)view->state.facts, "relations", relations_json(model), "terms",
        terms_json(model), "dim", (json_int_t)about.dim, "calibrated", about.is_calibrated,
        "read_only", graph->is_read_only || serve_graph_has_failed(graph), "compacting",
        serve_jobs_is_compacting(server->jobs), "limits", limits_json(&server->options.limits));
    call->answer = serve_state_json(view->state, members);
    return call->answer == NULL ? kg__fail_memory(error) : KG_OK;
}

/* It answers, so it is alive. */
kg_status serve_health_get(serve_call *call, serve_view *view, kg_error *error) {
    (void)view;
    call->answer = json_pack("{ss}", "status", "alive");
    return call->answer == NULL ? kg__fail_memory(error) : KG_OK;
}

kg_status serve_ready_get(serve_call *call, serve_view *view, kg_error *error) {
    serve_server *server = call->server;
    bool is_ready = atomic_load(&server->is_ready);
    bool has_failed = serve_graph_has_failed(&server->graph);
    (void)view;
    call->status = is_ready && !has_failed ? 200 : 503;
    call->answer = json_pack("{ss}", "status",
                             has_failed ? "the store failed"
                             : is_ready ? "ready"
                                        : "stopping");
    return call->answer == NULL ? kg__fail_memory(error) : KG_OK;
}
