/* The live graph as the server has it: opened on a store, changed by commits, and seen by threads,
 * each of which has a snapshot and a workspace of its own. Taking a snapshot does not wait. */
#ifndef KG_SERVE_GRAPH_SERVICE_H
#define KG_SERVE_GRAPH_SERVICE_H

#include <pthread.h>

#include "serve/name_index.h"

typedef struct serve_graph {
    kg_live *live;
    char *path;
    const char *name; /* of the store: the last part of its path */
    bool is_read_only;

    pthread_mutex_t index_lock;
    serve_name_index *index; /* of the last generation */

    /* Commits that depend on what they change, by a precondition or a difference, are alone; others
     * go on beside one another. */
    pthread_rwlock_t writers;

    /* Idempotency keys of commits that are under way. */
    pthread_mutex_t keys_lock;
    const char **keys;
    size_t key_count;
    size_t key_capacity;
} serve_graph;

KG_MUST_CHECK kg_status serve_graph_open(serve_graph *graph, const char *path, bool read_only,
                                         kg_error *error);
void serve_graph_close(serve_graph *graph);

/* What an answer is a function of. */
typedef struct serve_state {
    int64_t generation;
    int64_t log;    /* number of its last entry */
    uint64_t facts; /* that are live */
} serve_state;

/* That of now. O(1). */
serve_state serve_graph_state(const serve_graph *graph);

/* Whether a write failed so that the store takes no more, in a commit, a compaction or a
 * checkpoint. A lock that another program holds is no such failure. */
bool serve_graph_has_failed(const serve_graph *graph);

/* Makes the index of names anew, for another generation. */
KG_MUST_CHECK kg_status serve_graph_index(serve_graph *graph, kg_error *error);

/* The index of names, to be given back. */
serve_name_index *serve_graph_hold_index(serve_graph *graph);
void serve_graph_drop_index(serve_graph *graph, serve_name_index *index);

/* ---- Views ---- */

/* A thread's. All zeroes at first. */
typedef struct serve_view {
    kg_model *snapshot;
    kg_workspace *workspace; /* NULL until it is needed */
    serve_state state;
} serve_view;

/* Makes it a view of the graph as it is now. */
KG_MUST_CHECK kg_status serve_view_refresh(serve_view *view, serve_graph *graph, kg_error *error);

/* The same with a workspace. */
KG_MUST_CHECK kg_status serve_view_ready(serve_view *view, serve_graph *graph, kg_error *error);
void serve_view_close(serve_view *view);

/* ---- Changes ---- */

/* Opens a transaction; refused where nothing can be changed. */
KG_MUST_CHECK kg_status serve_graph_change(kg_changes **out, serve_graph *graph, kg_error *error);

/* Commits it, and closes it in any case. */
KG_MUST_CHECK kg_status serve_graph_commit(kg_commit *out, kg_changes *changes, kg_error *error);

/* Reserves an idempotency key for a commit; false if another one has it now. The key is borrowed.
 */
bool serve_graph_take_key(serve_graph *graph, const char *key);
void serve_graph_drop_key(serve_graph *graph, const char *key);

#endif
