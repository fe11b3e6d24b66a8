/* The table of routes, which the API is: what is routed, checked, documented and answered is made
 * from it. A handler gets a call whose right, parameters, type and size are in order. */
#ifndef KG_SERVE_ROUTES_H
#define KG_SERVE_ROUTES_H

#include "serve/call.h"
#include "serve/tokens.h"

/* Which threads run a handler: kinds of work have their own, so that none waits for another. */
typedef enum serve_pool_kind {
    SERVE_INLINE,       /* the connection's: takes microseconds and waits for nothing */
    SERVE_QUERIES,      /* reads the graph */
    SERVE_PREDICTIONS,  /* in batches (serve/batcher.h) */
    SERVE_EXPLANATIONS, /* may take seconds */
    SERVE_WRITES,       /* wait for the disk */
    SERVE_POOL_COUNT
} serve_pool_kind;

typedef enum serve_place { SERVE_IN_QUERY, SERVE_IN_HEADER, SERVE_IN_PATH } serve_place;

typedef struct serve_parameter {
    const char *name;
    serve_place place;
    bool is_count;
    uint64_t least; /* of a count, */
    uint64_t most;
    uint64_t fallback;
    const char *help;
    const char *example; /* a text, for the description; NULL: none */
} serve_parameter;

#define SERVE_MOST_STATUSES 8

typedef struct serve_route {
    const char *method;
    const char *path;    /* a template: one part at the end may be in braces */
    const char *name;    /* of the operation */
    const char *summary; /* NULL: no part of the API's description */
    serve_right right;
    serve_pool_kind pool;
    int success;
    bool answers_late;                 /* also while the server is stopping */
    bool ignores_query;                /* whatever a link to it was given on its way */
    const serve_parameter *parameters; /* ended by one without name */
    const char *const *types;          /* of the body, ended by NULL; NULL: there is none */
    size_t most_body;
    const char *request;  /* schema of a JSON body; NULL: none */
    const char *response; /* schema of the answer; NULL: it has none */
    const char *response_type;
    const char *response_header; /* that a success has beside it, for the description; NULL: none */
    int statuses[SERVE_MOST_STATUSES]; /* of refusals, ended by 0 */
    /* Whether a call takes so long that it goes to another pool; NULL: none does. */
    bool (*is_large)(serve_call *call, serve_view *view);
    kg_status (*handle)(serve_call *call, serve_view *view, kg_error *error);
} serve_route;

/* Ended by one without method. */
extern const serve_route serve_routes[];

/* Statuses that any call of a route may have, ended by 0. */
const int *serve_common_statuses(const serve_route *route);

/* ---- The handlers ---- */

typedef kg_status serve_handler(serve_call *call, serve_view *view, kg_error *error);

serve_handler serve_model_get;
serve_handler serve_entities_list;
serve_handler serve_entity_get;
serve_handler serve_entity_put;
serve_handler serve_entity_patch;
serve_handler serve_entity_delete;
serve_handler serve_facts_post;
serve_handler serve_predict_post;
serve_handler serve_explain_post;
bool serve_change_is_large(serve_call *call, serve_view *view);
bool serve_explain_is_large(serve_call *call, serve_view *view);
bool serve_embed_is_large(serve_call *call, serve_view *view);
bool serve_neighbors_is_large(serve_call *call, serve_view *view);
serve_handler serve_embed_post;
serve_handler serve_neighbors_post;
serve_handler serve_missing_post;
serve_handler serve_changes_get;
serve_handler serve_compactions_post;
serve_handler serve_backups_post;
serve_handler serve_jobs_get;
serve_handler serve_job_get;
serve_handler serve_openapi_get;
serve_handler serve_page_get;
serve_handler serve_health_get;
serve_handler serve_ready_get;

#endif
