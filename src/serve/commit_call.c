/* Transactions of calls. */
#include "serve/commit_call.h"

#include <string.h>

#include "serve/change_stream.h"
#include "serve/limits.h"
#include "serve/request_json.h"
#include "serve/server.h"

/* JSON is parsed as a whole, which takes many times its size. Other formats are read by lines. */
bool serve_change_is_large(serve_call *call, serve_view *view) {
    (void)view;
    return call->exchange->request.size > SERVE_SMALL_CHANGE &&
           strcmp(call->type, "application/json") == 0;
}

kg_status serve_call_change(serve_call *call, kg_changes **out, kg_error *error) {
    serve_graph *graph = &call->server->graph;
    kg_status status = serve_graph_change(out, graph, error);
    if (status == KG_SYSTEM)
        call->problem.status = graph->is_read_only ? 403 : 503;
    return status;
}

kg_status serve_change_fact(const serve_changing *changing, bool is_added, const kg_text fact[3],
                            kg_error *error) {
    const kg_names *relations = &changing->known->relations;
    kg_status status = is_added
                           ? kg_changes_add(changing->changes, fact[0], fact[1], fact[2], error)
                           : kg_changes_remove(changing->changes, fact[0], fact[1], fact[2], error);
    if (status == KG_BAD_INPUT && kg_model_find_relation(changing->known, fact[1]) == KG_NO_ID)
        serve_problem_suggest(changing->problem, relations, fact[1]);
    return status;
}

kg_status serve_changes_read(const serve_changing *changing, bool is_added, const json_t *facts,
                             const char *member, kg_error *error) {
    for (size_t i = 0; i < json_array_size(facts); i++) {
        kg_text names[3];
        serve_fact_names(names, json_array_get(facts, i));
        kg_status status = serve_change_fact(changing, is_added, names, error);
        if (status == KG_BAD_INPUT)
            serve_error_prefix(error, "`%s[%zu]`: ", member, i);
        if (status != KG_OK)
            return status;
    }
    return KG_OK;
}

/* Other failures of the system may pass, such as a lock that another program holds: 503, with
 * Retry-After. */
kg_status serve_call_failed(serve_call *call, kg_status status) {
    if (status != KG_OK && status != KG_NO_MEMORY && serve_graph_has_failed(&call->server->graph))
        call->problem.status = 507;
    return status;
}

kg_status serve_call_commit(serve_call *call, kg_changes *changes, uint64_t left_out,
                            kg_commit *commit, kg_error *error) {
    serve_server *server = call->server;
    struct timespec before;
    struct timespec after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    kg_status status = serve_graph_commit(commit, changes, error);
    clock_gettime(CLOCK_MONOTONIC, &after);
    serve_metrics_observe(&server->metrics, SERVE_COMMIT_TIME, 0,
                          (double)(after.tv_sec - before.tv_sec) +
                              1e-9 * (double)(after.tv_nsec - before.tv_nsec));
    if (status != KG_OK)
        return serve_call_failed(call, status);
    serve_changes_notify(server->changes);
    serve_state state = serve_graph_state(&server->graph);
    state.log = commit->last;
    json_t *members = json_pack(
        "{sI sI sI sI sI sI sI sI}", "added", (json_int_t)commit->added, "removed",
        (json_int_t)commit->removed, "repeated", (json_int_t)commit->repeated, "missing",
        (json_int_t)commit->missing, "unknown", (json_int_t)commit->unknown + (json_int_t)left_out,
        "entities_added", (json_int_t)commit->entities_added, "entities_removed",
        (json_int_t)commit->entities_removed, "skipped", (json_int_t)commit->skipped);
    call->answer = serve_state_json(state, members);
    return call->answer == NULL ? kg__fail_memory(error) : KG_OK;
}
