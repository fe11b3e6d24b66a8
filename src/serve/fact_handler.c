/* POST /v1/facts: facts added and removed in one transaction, in the format that the type of the
 * body says. A place in a source, or an idempotency key, makes a request that is repeated count
 * once.
 *
 * A key is a source of its own, `idempotency:KEY`, and its offset is made of the body. So the store
 * knows it, for a day at least, and tells the same request from another with the same key. */
#define _GNU_SOURCE /* memfd_create */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "graph/change_reader.h"
#include "serve/commit_call.h"
#include "serve/limits.h"
#include "serve/request_json.h"
#include "serve/server.h"
#include "store/store.h"

/* What a request says. */
struct posted {
    const json_t *add;
    const json_t *remove;
    const char *source;
    uint64_t offset;
};

#define NO_OFFSET UINT64_MAX
#define POSTED(name) offsetof(struct posted, name)

static const serve_field fields[] = {
    {"add", SERVE_FACTS, POSTED(add), 0, SERVE_MOST_CHANGES},
    {"remove", SERVE_FACTS, POSTED(remove), 0, SERVE_MOST_CHANGES},
    {"source", SERVE_TEXT, POSTED(source), 0, 0},
    {"offset", SERVE_COUNT, POSTED(offset), 0, INT64_MAX},
    {0},
};

/* ---- Formats ---- */

struct collector {
    serve_changing changing;
    size_t count;
    bool is_rdf;
    uint64_t literals; /* facts with a value that the model does not know: they say nothing */
    bool gives_up;     /* a patch with a transaction that is given up */
};

static kg_status count_change(struct collector *collector, kg_error *error) {
    if (collector->count++ < SERVE_MOST_CHANGES)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "expected at most %d facts, found more",
                   SERVE_MOST_CHANGES);
}

static kg_status on_change(void *payload, kg_operation operation, const kg_text fact[3],
                           kg_error *error) {
    struct collector *collector = payload;
    KG_TRY(count_change(collector, error));
    for (size_t i = 0; i < 3; i++)
        KG_TRY(serve_name_check(fact[i], error));
    if (collector->is_rdf && fact[2].bytes[0] == '"' &&
        kg_model_find_entity(collector->changing.known, fact[2]) == KG_NO_ID) {
        collector->literals++;
        return KG_OK;
    }
    return serve_change_fact(&collector->changing, operation == KG_ADD, fact, error);
}

static void on_mark(void *payload, kg_patch_mark mark) {
    struct collector *collector = payload;
    collector->gives_up |= mark == KG_PATCH_ABORT;
}

/* Readers read files. */
static kg_status open_body(kg_input **out, const serve_request *request, kg_error *error) {
    int fd = memfd_create("body", MFD_CLOEXEC);
    if (fd < 0)
        return kg__fail_errno(error, "body", "keep it");
    for (size_t done = 0; done < request->size;) {
        ssize_t written = write(fd, request->body + done, request->size - done);
        if (written <= 0) {
            close(fd);
            return kg__fail_errno(error, "body", "keep it");
        }
        done += (size_t)written;
    }
    lseek(fd, 0, SEEK_SET);
    return kg__input_from_fd(out, fd, "body", KG_PLAIN, error);
}

static kg_status read_format(const serve_call *call, struct collector *collector,
                             const char *format, const char *scope, kg_error *error) {
    kg_change_reader reader = {.format = format,
                               .operation = KG_ADD,
                               .keep_literals = true,
                               .scope = scope,
                               .on_change = on_change,
                               .on_mark = on_mark,
                               .payload = collector};
    kg_input *input = NULL;
    collector->is_rdf = strcmp(format, "tsv") != 0;
    KG_TRY(open_body(&input, &call->exchange->request, error));
    kg_status status = kg__changes_read_input(&reader, input, error);
    kg__input_close(input);
    if (status == KG_OK && collector->gives_up)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected transactions that are committed, found TA: leave these out");
    return status;
}

/* A line of NDJSON. */
struct line {
    const json_t *add;
    const json_t *remove;
};

static const serve_field line_fields[] = {
    {"add", SERVE_FACT, offsetof(struct line, add), 0, 0},
    {"remove", SERVE_FACT, offsetof(struct line, remove), 0, 0},
    {0},
};

static kg_status read_line(struct collector *collector, const json_t *value, kg_error *error) {
    struct line line = {0};
    kg_text names[3];
    KG_TRY(serve_fields_read(&line, line_fields, value, "", error));
    if ((line.add == NULL) == (line.remove == NULL))
        return kg_fail(error, KG_BAD_INPUT, "expected `add` or `remove`, found %s",
                       line.add == NULL ? "neither" : "both");
    KG_TRY(count_change(collector, error));
    serve_fact_names(names, line.add != NULL ? line.add : line.remove);
    return serve_change_fact(&collector->changing, line.add != NULL, names, error);
}

static kg_status read_ndjson(serve_call *call, struct collector *collector, kg_error *error) {
    const char *at = call->exchange->request.body;
    const char *end = at == NULL ? NULL : at + call->exchange->request.size;
    for (uint64_t number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline == NULL ? end : newline) - at);
        json_t *value = NULL;
        bool is_empty = length == 0 || (length == 1 && at[0] == '\r');
        kg_status status = is_empty ? KG_OK : serve_json_parse(&value, at, length, error);
        if (status == KG_BAD_INPUT)
            call->problem.status = 400;
        if (status == KG_OK && !is_empty)
            status = read_line(collector, value, error);
        json_decref(value);
        if (status != KG_OK) {
            error->line = number;
            kg__error_locate(error, "body", number, 0);
            return status;
        }
        at += length + 1;
    }
    return KG_OK;
}

/* The names of formats by types, as the tool has them. */
static const struct {
    const char *type;
    const char *format;
} formats[] = {{"text/tab-separated-values", "tsv"},
               {"application/n-triples", "nt"},
               {"application/rdf-patch", "rdfp"}};

/* `*left_out` is the number of facts that are not part of the transaction. */
static kg_status read_body(serve_call *call, const struct posted *posted,
                           const serve_changing *changing, uint64_t *left_out, kg_error *error) {
    struct collector collector = {.changing = *changing};
    char scope[SERVE_MOST_NAME + 64];
    snprintf(scope, sizeof scope, "%s@%ju", posted->source == NULL ? "" : posted->source,
             (uintmax_t)posted->offset);
    if (strcmp(call->type, "application/json") == 0) {
        KG_TRY(serve_changes_read(changing, false, posted->remove, "remove", error));
        return serve_changes_read(changing, true, posted->add, "add", error);
    }
    if (strcmp(call->type, "application/x-ndjson") == 0)
        return read_ndjson(call, &collector, error);
    size_t i = 0;
    while (strcmp(formats[i].type, call->type) != 0)
        i++;
    kg_status status = read_format(call, &collector, formats[i].format,
                                   posted->source == NULL ? NULL : scope, error);
    *left_out = collector.literals;
    return status;
}

/* ---- Once ---- */

/* 63 bits of the body's checksum. */
static uint64_t offset_of_body(const serve_request *request) {
    kg_checksum sum = kg__checksum_of(request->body == NULL ? "" : request->body, request->size);
    sum.text[16] = '\0';
    return strtoull(sum.text, NULL, 16) >> 1;
}

/* Refuses a key that has been used with another body. */
static kg_status check_key(serve_call *call, const struct posted *posted, kg_error *error) {
    int64_t before = -1;
    kg_status status = kg_live_offset(&before, call->server->graph.live, posted->source, error);
    if (status != KG_OK)
        return serve_call_failed(call, status);
    if (before < 0 || before == (int64_t)posted->offset)
        return KG_OK;
    return serve_refuse(call, error, 409,
                        "Idempotency-Key: expected a new key, found one that another body was sent "
                        "with");
}

static kg_status commit(serve_call *call, const struct posted *posted, bool has_key,
                        serve_view *view, kg_error *error) {
    serve_graph *graph = &call->server->graph;
    kg_changes *changes = NULL;
    kg_commit done;
    uint64_t left_out = 0;
    KG_TRY(serve_view_refresh(view, graph, error));
    KG_TRY(serve_call_change(call, &changes, error));
    kg_status status = KG_OK;
    serve_changing changing = {changes, view->snapshot, &call->problem};
    KG_CHECK(read_body(call, posted, &changing, &left_out, error));
    if (has_key)
        KG_CHECK(check_key(call, posted, error));
    if (posted->source != NULL)
        KG_CHECK(kg_changes_set_source(changes, posted->source, (int64_t)posted->offset, error));
    pthread_rwlock_rdlock(&graph->writers);
    kg_changes *filled = changes;
    changes = NULL;
    status = serve_call_commit(call, filled, left_out, &done, error);
    pthread_rwlock_unlock(&graph->writers);
done:
    kg_changes_close(changes);
    return status;
}

/* A source and an offset, in the query or in the body. */
static kg_status read_source(const serve_call *call, struct posted *posted, kg_error *error) {
    const char *source = serve_call_text(call, "source");
    const char *offset = serve_call_text(call, "offset");
    if ((source != NULL && posted->source != NULL) ||
        (offset != NULL && posted->offset != NO_OFFSET))
        return kg_fail(error, KG_BAD_INPUT,
                       "`%s`: expected it once, found it in the query and in the body",
                       source != NULL && posted->source != NULL ? "source" : "offset");
    if (source != NULL)
        posted->source = source;
    if (offset != NULL)
        posted->offset = serve_call_count(call, "offset");
    if ((posted->source == NULL) != (posted->offset == NO_OFFSET))
        return kg_fail(error, KG_BAD_INPUT,
                       "expected `source` and `offset` together, found one without the other");
    if (posted->source != NULL &&
        strncmp(posted->source, KG_KEY_PREFIX, strlen(KG_KEY_PREFIX)) == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "`source`: expected one that does not begin with " KG_KEY_PREFIX
                       ", as those of idempotency keys do");
    return KG_OK;
}

/* A key becomes the name of a source, which streams and logs show: UTF-8. */
static kg_status check_key_text(serve_call *call, const struct posted *posted, const char *key,
                                kg_error *error) {
    if (posted->source != NULL || key[0] == '\0' || strlen(key) > SERVE_MOST_NAME)
        return serve_refuse(call, error, 400,
                            "Idempotency-Key: expected 1 to %d bytes, and no `source` beside it, "
                            "found others",
                            SERVE_MOST_NAME);
    if (serve_name_check((kg_text){key, strlen(key)}, NULL) != KG_OK)
        return serve_refuse(call, error, 400, "Idempotency-Key: expected UTF-8, found %s",
                            kg__quote(key, strlen(key)).text);
    return KG_OK;
}

static kg_status commit_once(serve_call *call, const struct posted *posted, const char *key,
                             serve_view *view, kg_error *error) {
    serve_graph *graph = &call->server->graph;
    char source[sizeof KG_KEY_PREFIX + SERVE_MOST_NAME];
    KG_TRY(check_key_text(call, posted, key, error));
    snprintf(source, sizeof source, KG_KEY_PREFIX "%s", key);
    struct posted keyed = *posted;
    keyed.source = source;
    keyed.offset = offset_of_body(&call->exchange->request);
    if (!serve_graph_take_key(graph, key))
        return serve_refuse(call, error, 409,
                            "Idempotency-Key: expected a request that has ended, found one under "
                            "way with this key");
    kg_status status = commit(call, &keyed, true, view, error);
    serve_graph_drop_key(graph, key);
    return status;
}

kg_status serve_facts_post(serve_call *call, serve_view *view, kg_error *error) {
    struct posted posted = {.offset = NO_OFFSET};
    const char *key = serve_call_header(call, SERVE_IDEMPOTENCY_KEY);
    if (call->body != NULL)
        KG_TRY(serve_fields_read(&posted, fields, call->body, "", error));
    KG_TRY(read_source(call, &posted, error));
    return key == NULL ? commit(call, &posted, false, view, error)
                       : commit_once(call, &posted, key, view, error);
}
