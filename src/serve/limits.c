/* The limits that clients are told. */
#include "serve/limits.h"

#include <string.h>

const serve_limit serve_limits[] = {
    {"body_bytes", SERVE_MOST_BODY},
    {"facts_body_bytes", SERVE_MOST_FACTS_BODY},
    {"held_body_bytes", SERVE_MOST_HELD},
    {"held_response_bytes", SERVE_MOST_UNREAD},
    {"small_response_bytes", SERVE_SMALL_RESPONSE},
    {"header_bytes", SERVE_MOST_HEADER},
    {"json_depth", SERVE_MOST_DEPTH},
    {"batch", SERVE_MOST_BATCH},
    {"batch_suggestions", SERVE_MOST_SUGGESTED},
    {"k", SERVE_MOST_K},
    {"answers", SERVE_MOST_ANSWERS},
    {"subject_facts", SERVE_MOST_SUBJECT_FACTS},
    {"changes", SERVE_MOST_CHANGES},
    {"name_bytes", SERVE_MOST_NAME},
    {"links", SERVE_MOST_PAGE},
    {"completions", SERVE_MOST_COMPLETIONS},
    {"waiting", SERVE_MOST_WAITING},
    {"waiting_explanations", SERVE_MOST_EXPLANATIONS},
    {"waiting_large", SERVE_MOST_LARGE},
    {"small_prediction_pairs", SERVE_PIECE_WEIGHT},
    {"small_explanation_facts", SERVE_SMALL_EXPLANATION},
    {"small_neighbors_batch", SERVE_SMALL_NEIGHBORS},
    {"small_embed_batch", SERVE_SMALL_EMBED},
    {"small_change_bytes", SERVE_SMALL_CHANGE},
    {"explanation_batch_facts", SERVE_MOST_EXPLAINED},
    {"connections", SERVE_MOST_CONNECTIONS},
    {"streams", SERVE_MOST_STREAMS},
    {"request_seconds", SERVE_REQUEST_SECONDS},
    {"response_seconds", SERVE_RESPONSE_SECONDS},
    {"idle_seconds", SERVE_IDLE_SECONDS},
    {NULL, 0},
};

uint64_t serve_limit_value(const char *name) {
    const serve_limit *limit = serve_limits;
    while (limit->name != NULL && strcmp(limit->name, name) != 0)
        limit++;
    return limit->value;
}
