/* Opening a store, views, and commits. */
#include "serve/graph_service.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "live/live_store.h"

static serve_state describe(const kg_model *snapshot) {
    kg_snapshot_info about = KG_SNAPSHOT_INFO_INIT;
    kg_status status = kg_snapshot_describe(&about, snapshot, NULL);
    (void)status; /* it is a snapshot */
    return (serve_state){about.generation, about.last, about.facts};
}

static kg_status fill(serve_graph *graph, const char *path, kg_error *error) {
    kg_live_options options = KG_LIVE_OPTIONS_INIT;
    options.read_only = graph->is_read_only;
    graph->path = kg__path_trim(path);
    if (graph->path == NULL)
        return kg__fail_memory(error);
    const char *slash = strrchr(graph->path, '/');
    graph->name = slash == NULL || slash[1] == '\0' ? graph->path : slash + 1;
    KG_TRY(kg_live_open_store(&graph->live, path, &options, error));
    return serve_graph_index(graph, error);
}

kg_status serve_graph_open(serve_graph *graph, const char *path, bool read_only, kg_error *error) {
    pthread_rwlockattr_t fair;
    *graph = (serve_graph){.is_read_only = read_only};
    pthread_rwlockattr_init(&fair);
    pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&graph->writers, &fair);
    pthread_rwlockattr_destroy(&fair);
    pthread_mutex_init(&graph->keys_lock, NULL);
    pthread_mutex_init(&graph->index_lock, NULL);
    kg_status status = fill(graph, path, error);
    if (status != KG_OK)
        serve_graph_close(graph);
    return status;
}

void serve_graph_close(serve_graph *graph) {
    serve_name_index_free(graph->index);
    kg_live_close(graph->live);
    kg__free(graph->keys);
    kg__free(graph->path);
    pthread_rwlock_destroy(&graph->writers);
    pthread_mutex_destroy(&graph->keys_lock);
    pthread_mutex_destroy(&graph->index_lock);
    *graph = (serve_graph){0};
}

serve_state serve_graph_state(const serve_graph *graph) {
    kg_model *snapshot = NULL;
    serve_state state = {0};
    if (kg_live_snapshot(&snapshot, graph->live, NULL) == KG_OK)
        state = describe(snapshot);
    kg_model_close(snapshot);
    return state;
}

bool serve_graph_has_failed(const serve_graph *graph) {
    return !graph->is_read_only && kg__live_check_writable(graph->live, NULL) != KG_OK;
}

/* ---- The index ---- */

kg_status serve_graph_index(serve_graph *graph, kg_error *error) {
    serve_name_index *index = NULL;
    kg_model *snapshot = NULL;
    KG_TRY(kg_live_snapshot(&snapshot, graph->live, error));
    kg_status status =
        serve_name_index_make(&index, snapshot, describe(snapshot).generation, error);
    kg_model_close(snapshot);
    if (status != KG_OK)
        return status;
    pthread_mutex_lock(&graph->index_lock);
    serve_name_index *before = graph->index;
    graph->index = index;
    pthread_mutex_unlock(&graph->index_lock);
    if (before != NULL)
        serve_graph_drop_index(graph, before);
    return KG_OK;
}

serve_name_index *serve_graph_hold_index(serve_graph *graph) {
    pthread_mutex_lock(&graph->index_lock);
    serve_name_index *index = graph->index;
    index->holders++;
    pthread_mutex_unlock(&graph->index_lock);
    return index;
}

void serve_graph_drop_index(serve_graph *graph, serve_name_index *index) {
    pthread_mutex_lock(&graph->index_lock);
    bool is_last = --index->holders == 0;
    pthread_mutex_unlock(&graph->index_lock);
    if (is_last)
        serve_name_index_free(index);
}

/* ---- Views ---- */

kg_status serve_view_refresh(serve_view *view, serve_graph *graph, kg_error *error) {
    kg_model *now = NULL;
    KG_TRY(kg_live_snapshot(&now, graph->live, error));
    view->state = describe(now);
    if (now == view->snapshot) {
        kg_model_close(now);
        return KG_OK;
    }
    kg_status status = KG_OK;
    if (view->workspace != NULL)
        status = kg_workspace_move(view->workspace, now, error);
    if (status != KG_OK) {
        kg_workspace_close(view->workspace);
        view->workspace = NULL;
    }
    kg_model_close(view->snapshot);
    view->snapshot = now;
    return status;
}

kg_status serve_view_ready(serve_view *view, serve_graph *graph, kg_error *error) {
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    KG_TRY(serve_view_refresh(view, graph, error));
    if (view->workspace != NULL)
        return KG_OK;
    return kg_workspace_open(&view->workspace, view->snapshot, &options, error);
}

void serve_view_close(serve_view *view) {
    kg_workspace_close(view->workspace);
    kg_model_close(view->snapshot);
    *view = (serve_view){0};
}

/* ---- Changes ---- */

kg_status serve_graph_change(kg_changes **out, serve_graph *graph, kg_error *error) {
    if (graph->is_read_only)
        return kg_fail(error, KG_SYSTEM, "this server only reads its store");
    if (serve_graph_has_failed(graph))
        return kg_fail(error, KG_SYSTEM,
                       "the store takes no changes since a write to it failed, until the server is "
                       "started again");
    return kg_changes_open(out, graph->live, error);
}

kg_status serve_graph_commit(kg_commit *out, kg_changes *changes, kg_error *error) {
    *out = (kg_commit)KG_COMMIT_INIT;
    kg_status status = kg_changes_commit(out, changes, error);
    kg_changes_close(changes);
    return status;
}

static size_t find_key(const serve_graph *graph, const char *key) {
    size_t place = 0;
    while (place < graph->key_count && strcmp(graph->keys[place], key) != 0)
        place++;
    return place;
}

bool serve_graph_take_key(serve_graph *graph, const char *key) {
    pthread_mutex_lock(&graph->keys_lock);
    bool is_free = find_key(graph, key) == graph->key_count;
    const char **keys =
        kg__grow(graph->keys, &graph->key_capacity, graph->key_count + 1, sizeof *keys);
    if (keys != NULL)
        graph->keys = keys;
    bool taken = is_free && keys != NULL;
    if (taken)
        keys[graph->key_count++] = key;
    pthread_mutex_unlock(&graph->keys_lock);
    return taken;
}

void serve_graph_drop_key(serve_graph *graph, const char *key) {
    pthread_mutex_lock(&graph->keys_lock);
    size_t place = find_key(graph, key);
    graph->keys[place] = graph->keys[--graph->key_count];
    pthread_mutex_unlock(&graph->keys_lock);
}
