/* The limits that clients are told. */
#include "serve/limits.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define MOST_BYTES ((uint64_t)1 << 40)
#define MOST_COUNT ((uint64_t)1 << 20)
#define MOST_SECONDS 86400

#define FIXED(label, number) \
    { .name = (label), .value = (number) }
#define SET(field, usual, smallest, largest)                                      \
    {                                                                             \
        .name = #field, .value = (usual), .least = (smallest), .most = (largest), \
        .offset = offsetof(serve_capacity, field)                                 \
    }

const serve_limit serve_limits[] = {
    FIXED("body_bytes", SERVE_MOST_BODY),
    FIXED("facts_body_bytes", SERVE_MOST_FACTS_BODY),
    SET(held_body_bytes, (uint64_t)256 << 20, SERVE_MOST_FACTS_BODY, MOST_BYTES),
    SET(held_response_bytes, (uint64_t)256 << 20, 1, MOST_BYTES),
    FIXED("small_response_bytes", SERVE_SMALL_RESPONSE),
    FIXED("header_bytes", SERVE_MOST_HEADER),
    FIXED("headers", SERVE_MOST_HEADER_COUNT),
    FIXED("json_depth", SERVE_MOST_DEPTH),
    FIXED("batch", SERVE_MOST_BATCH),
    FIXED("batch_suggestions", SERVE_MOST_SUGGESTED),
    FIXED("k", SERVE_MOST_K),
    FIXED("answers", SERVE_MOST_ANSWERS),
    FIXED("subject_facts", SERVE_MOST_SUBJECT_FACTS),
    FIXED("changes", SERVE_MOST_CHANGES),
    FIXED("name_bytes", SERVE_MOST_NAME),
    FIXED("links", SERVE_MOST_PAGE),
    FIXED("completions", SERVE_MOST_COMPLETIONS),
    SET(waiting, 1024, 1, MOST_COUNT),
    SET(waiting_explanations, 128, 1, MOST_COUNT),
    SET(waiting_large, 8, 1, MOST_COUNT),
    FIXED("small_prediction_pairs", SERVE_PIECE_WEIGHT),
    FIXED("small_explanation_facts", SERVE_SMALL_EXPLANATION),
    FIXED("small_neighbors_batch", SERVE_SMALL_NEIGHBORS),
    FIXED("small_embed_batch", SERVE_SMALL_EMBED),
    FIXED("small_change_bytes", SERVE_SMALL_CHANGE),
    FIXED("explanation_batch_facts", SERVE_MOST_EXPLAINED),
    SET(connections, 4096, 1, MOST_COUNT),
    SET(streams, 128, 1, MOST_COUNT),
    SET(request_seconds, 30, 1, MOST_SECONDS),
    SET(response_seconds, 60, 1, MOST_SECONDS),
    SET(idle_seconds, 60, 1, MOST_SECONDS),
    SET(stop_seconds, 10, 1, MOST_SECONDS),
    {0},
};

static const serve_limit *find(const char *name, size_t length) {
    const serve_limit *limit = serve_limits;
    while (limit->name != NULL &&
           (strlen(limit->name) != length || memcmp(limit->name, name, length) != 0))
        limit++;
    return limit;
}

uint64_t serve_limit_value(const char *name) {
    const serve_limit *limit = find(name, strlen(name));
    return limit->most == 0 ? limit->value : 0;
}

static uint64_t *place_of(serve_capacity *capacity, const serve_limit *limit) {
    return (uint64_t *)(void *)((char *)capacity + limit->offset);
}

serve_capacity serve_capacity_default(void) {
    serve_capacity out = {0};
    for (const serve_limit *limit = serve_limits; limit->name != NULL; limit++)
        if (limit->most > 0)
            *place_of(&out, limit) = limit->value;
    return out;
}

uint64_t serve_capacity_get(const serve_capacity *capacity, const serve_limit *limit) {
    if (limit->most == 0)
        return limit->value;
    return *(const uint64_t *)(const void *)((const char *)capacity + limit->offset);
}

static void join_settable(char *out, size_t size) {
    const char *names[sizeof(serve_capacity) / sizeof(uint64_t) + 1] = {0};
    size_t count = 0;
    for (const serve_limit *limit = serve_limits; limit->name != NULL; limit++)
        if (limit->most > 0)
            names[count++] = limit->name;
    kg__join_names(out, size, names, sizeof *names);
}

kg_status serve_capacity_set(serve_capacity *capacity, const char *text, kg_error *error) {
    const char *sign = strchr(text, '=');
    const serve_limit *limit = find(text, sign == NULL ? strlen(text) : (size_t)(sign - text));
    char known[256];
    uint64_t value = 0;
    if (sign == NULL || limit->most == 0) {
        join_settable(known, sizeof known);
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a limit as NAME=N, with the name %s, found %s", known,
                       kg__quote(text, strlen(text)).text);
    }
    if (kg__parse_count(&value, sign + 1) != NULL || value < limit->least || value > limit->most)
        return kg_fail(error, KG_BAD_INPUT,
                       "limit %s: expected a whole number of %ju to %ju, found %s", limit->name,
                       (uintmax_t)limit->least, (uintmax_t)limit->most,
                       kg__quote(sign + 1, strlen(sign + 1)).text);
    *place_of(capacity, limit) = value;
    return KG_OK;
}
