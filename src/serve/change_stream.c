/* Listeners, the thread that fills their buffers, and the handler that makes them. */
#include "serve/change_stream.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "serve/clock.h"
#include "serve/limits.h"
#include "serve/server.h"
#include "store/store.h"

#define BUFFER_FULL ((size_t)256 << 10) /* nothing is added beyond */

struct buffer {
    char *bytes;
    size_t size;
    size_t capacity;
};

struct listener {
    serve_changes *changes;
    serve_exchange *exchange;
    struct listener *next;
    struct buffer ready; /* to be sent */
    bool is_waiting;     /* its connection is suspended */
    bool has_failed; /* memory is short, the log cannot be read, or the client is gone: it ends */
    bool is_filled;  /* the thread is at it, without the lock, and changes what follows */
    bool is_gone;    /* the connection is closed: the thread frees it */

    struct buffer added;
    int64_t last;       /* entry of the log that was added */
    int64_t end;        /* entry of the log that may be added: the last one of the state shown */
    int64_t generation; /* likewise */
    time_t beat;        /* when something was last added */
    bool cannot_go_on;
};

struct serve_changes {
    serve_graph *graph;
    pthread_mutex_t lock; /* of all listeners */
    pthread_cond_t changed;
    pthread_t thread;
    struct listener *listeners;
    size_t count;
    size_t most;
    bool has_news;
    bool has_ended;
    bool is_closing;
};

/* ---- Events ---- */

static bool append(struct buffer *buffer, const char *bytes, size_t length) {
    char *grown = kg__grow(buffer->bytes, &buffer->capacity, buffer->size + length, 1);
    if (grown == NULL)
        return false;
    memcpy(grown + buffer->size, bytes, length);
    buffer->bytes = grown;
    buffer->size += length;
    return true;
}

static void add_text(struct listener *listener, const char *text) {
    if (!append(&listener->added, text, strlen(text)))
        listener->cannot_go_on = true;
    listener->beat = serve_clock_seconds();
}

static void add_event(struct listener *listener, const char *head, json_t *data) {
    char *text = json_dumps(data, JSON_COMPACT);
    json_decref(data);
    listener->cannot_go_on |= text == NULL;
    if (text == NULL)
        return;
    add_text(listener, head);
    add_text(listener, text);
    add_text(listener, "\n\n");
    kg__json_free_text(text);
}

static json_t *text_json(kg_text text) {
    return text.bytes == NULL ? json_null() : kg__json_text(text.bytes, text.length);
}

/* An idempotency key has no place in a stream: what the store has is a checksum of the body. */
static json_t *offset_json(const kg_log_record *entry) {
    size_t prefix = strlen(KG_KEY_PREFIX);
    bool is_place =
        entry->source.bytes != NULL &&
        (entry->source.length < prefix || memcmp(entry->source.bytes, KG_KEY_PREFIX, prefix) != 0);
    return is_place ? json_integer((json_int_t)entry->offset) : json_null();
}

/* Stops where the buffer is full, and at the end of the state that is shown: on disk there may be
 * more, of a commit under way or, beside a server that only reads, of another process. */
static bool add_change(void *payload, const kg_log_record *entry) {
    struct listener *listener = payload;
    char head[64];
    if (listener->added.size >= BUFFER_FULL || listener->cannot_go_on ||
        entry->number > listener->end)
        return false;
    snprintf(head, sizeof head, "id: %jd\nevent: change\ndata: ", (intmax_t)entry->number);
    add_event(listener, head,
              json_pack("{sI sI ss s[ooo] so so}", "number", (json_int_t)entry->number, "time",
                        (json_int_t)entry->time, "operation", entry->is_added ? "A" : "D", "fact",
                        text_json(entry->head), text_json(entry->relation), text_json(entry->tail),
                        "source", text_json(entry->source), "offset", offset_json(entry)));
    listener->last = entry->number;
    return !listener->cannot_go_on;
}

/* Its id is that of the entry before it: a client that loses the connection here, perhaps before
 * the first change, goes on behind that entry. */
static void add_generation(struct listener *listener, serve_state state) {
    char head[64];
    snprintf(head, sizeof head, "id: %jd\nevent: generation\ndata: ", (intmax_t)listener->last);
    add_event(listener, head,
              json_pack("{sI sI}", "generation", (json_int_t)state.generation, "log",
                        (json_int_t)state.log));
    listener->generation = state.generation;
}

/* ---- The thread ---- */

/* Reads what is new, which may wait for the disk. */
static void read_news(struct listener *listener, serve_graph *graph) {
    serve_state state = serve_graph_state(graph);
    if (listener->generation == 0)
        add_generation(listener, state);
    listener->end = state.log;
    if (listener->last < listener->end &&
        kg_live_log(graph->live, listener->last, NULL, add_change, listener, NULL) != KG_OK)
        listener->cannot_go_on = true;
    if (listener->generation != state.generation)
        add_generation(listener, state);
    if (serve_clock_seconds() - listener->beat >= SERVE_BEAT_SECONDS)
        add_text(listener, ": alive\n\n");
}

/* The lock is held, but while the log is read: connections never wait for that. */
static void fill(struct listener *listener, serve_changes *changes) {
    if (listener->ready.size >= BUFFER_FULL || changes->has_ended)
        return;
    listener->is_filled = true;
    pthread_mutex_unlock(&changes->lock);
    read_news(listener, changes->graph);
    pthread_mutex_lock(&changes->lock);
    listener->is_filled = false;
    listener->has_failed |= listener->cannot_go_on ||
                            !append(&listener->ready, listener->added.bytes, listener->added.size);
    listener->added.size = 0;
}

/* Nothing is read from a connection that waits, so whether its client is gone is asked for. */
static void wake(struct listener *listener) {
    if (!listener->is_waiting)
        return;
    listener->has_failed |= serve_exchange_is_abandoned(listener->exchange);
    if (listener->ready.size == 0 && !listener->has_failed && !listener->changes->has_ended)
        return;
    listener->is_waiting = false;
    serve_exchange_wake(listener->exchange);
}

/* The lock is held. */
static void free_listener(struct listener *listener) {
    serve_changes *changes = listener->changes;
    struct listener **place = &changes->listeners;
    while (*place != listener)
        place = &(*place)->next;
    *place = listener->next;
    changes->count--;
    kg__free(listener->ready.bytes);
    kg__free(listener->added.bytes);
    kg__free(listener);
}

static void wait_for_news(serve_changes *changes) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    while (!changes->has_news && !changes->is_closing &&
           pthread_cond_timedwait(&changes->changed, &changes->lock, &until) == 0)
        ;
    changes->has_news = false;
}

static void *work(void *payload) {
    serve_changes *changes = payload;
    pthread_mutex_lock(&changes->lock);
    while (!changes->is_closing) {
        wait_for_news(changes);
        for (struct listener *one = changes->listeners, *next = NULL; one != NULL; one = next) {
            fill(one, changes);
            next = one->next;
            if (one->is_gone)
                free_listener(one);
            else
                wake(one);
        }
    }
    pthread_mutex_unlock(&changes->lock);
    return NULL;
}

/* ---- Streams ---- */

static void lock_stream(void *state) {
    pthread_mutex_lock(&((struct listener *)state)->changes->lock);
}

static void unlock_stream(void *state) {
    pthread_mutex_unlock(&((struct listener *)state)->changes->lock);
}

static int64_t read_stream(void *state, char *out, size_t size) {
    struct listener *listener = state;
    struct buffer *ready = &listener->ready;
    size_t taken = ready->size < size ? ready->size : size;
    if (taken == 0 && (listener->changes->has_ended || listener->has_failed))
        return -1;
    listener->is_waiting = taken == 0;
    if (taken == 0)
        return 0;
    bool was_full = ready->size >= BUFFER_FULL;
    memcpy(out, ready->bytes, taken);
    ready->size -= taken;
    memmove(ready->bytes, ready->bytes + taken, ready->size);
    if (was_full) {
        listener->changes->has_news = true;
        pthread_cond_signal(&listener->changes->changed);
    }
    return (int64_t)taken;
}

static void close_stream(void *state) {
    struct listener *listener = state;
    serve_changes *changes = listener->changes;
    pthread_mutex_lock(&changes->lock);
    listener->is_gone = true;
    if (!listener->is_filled)
        free_listener(listener);
    pthread_mutex_unlock(&changes->lock);
}

static const serve_stream stream = {read_stream, lock_stream, unlock_stream, close_stream};

static kg_status add_listener(serve_changes *changes, serve_call *call, int64_t since,
                              kg_error *error) {
    struct listener *listener = kg__alloc(1, sizeof *listener);
    if (listener == NULL)
        return kg__fail_memory(error);
    *listener = (struct listener){.changes = changes,
                                  .exchange = call->exchange,
                                  .last = since,
                                  .beat = serve_clock_seconds()};
    pthread_mutex_lock(&changes->lock);
    bool is_taken = changes->count < changes->most && !changes->has_ended;
    if (is_taken) {
        listener->next = changes->listeners;
        changes->listeners = listener;
        changes->count++;
        changes->has_news = true;
        pthread_cond_signal(&changes->changed);
    }
    pthread_mutex_unlock(&changes->lock);
    if (!is_taken) {
        kg__free(listener);
        return kg_fail(error, KG_SYSTEM, "expected at most %zu streams of changes, found more",
                       changes->most);
    }
    call->exchange->response.stream = &stream;
    call->exchange->response.stream_state = listener;
    return KG_OK;
}

/* ---- The handler ---- */

/* Where to start: behind the last event that the client has, or at the end. A client that has more
 * than there is has it from another store. */
static kg_status find_start(int64_t *out, serve_call *call, kg_error *error) {
    const char *last = serve_call_header(call, SERVE_LAST_EVENT_ID);
    uint64_t number = serve_call_count(call, "since");
    int64_t end = serve_graph_state(&call->server->graph).log;
    *out = end;
    if (last != NULL && (kg__parse_count(&number, last) != NULL || number > INT64_MAX))
        return serve_refuse(call, error, 400,
                            "Last-Event-ID: expected the number of an entry, found %s",
                            kg__quote(last, strlen(last)).text);
    if (last != NULL || serve_call_text(call, "since") != NULL)
        *out = (int64_t)number;
    if (*out > end)
        return kg_fail(error, KG_BAD_INPUT,
                       "`%s`: expected an entry of the log, up to %jd, found %jd",
                       last != NULL ? "Last-Event-ID" : "since", (intmax_t)end, (intmax_t)*out);
    return KG_OK;
}

kg_status serve_changes_get(serve_call *call, serve_view *view, kg_error *error) {
    serve_response *response = &call->exchange->response;
    int64_t since = 0;
    (void)view;
    KG_TRY(find_start(&since, call, error));
    if (strcmp(call->exchange->request.method, "HEAD") != 0)
        KG_TRY(add_listener(call->server->changes, call, since, error));
    response->type = "text/event-stream";
    serve_response_header(response, "Cache-Control", "no-store");
    return KG_OK;
}

/* ---- Opening and closing ---- */

kg_status serve_changes_open(serve_changes **out, serve_graph *graph, size_t most,
                             kg_error *error) {
    serve_changes *changes = kg__alloc(1, sizeof *changes);
    if (changes == NULL)
        return kg__fail_memory(error);
    changes->graph = graph;
    changes->most = most;
    pthread_mutex_init(&changes->lock, NULL);
    pthread_cond_init(&changes->changed, NULL);
    if (pthread_create(&changes->thread, NULL, work, changes) == 0) {
        *out = changes;
        return KG_OK;
    }
    kg__free(changes);
    return kg_fail(error, KG_SYSTEM, "cannot start a thread");
}

static void set(serve_changes *changes, bool *flag) {
    pthread_mutex_lock(&changes->lock);
    *flag = true;
    changes->has_news = true;
    pthread_cond_signal(&changes->changed);
    pthread_mutex_unlock(&changes->lock);
}

void serve_changes_notify(serve_changes *changes) {
    set(changes, &changes->has_news);
}

void serve_changes_end(serve_changes *changes) {
    set(changes, &changes->has_ended);
}

void serve_changes_close(serve_changes *changes) {
    if (changes == NULL)
        return;
    set(changes, &changes->is_closing);
    pthread_join(changes->thread, NULL);
    pthread_cond_destroy(&changes->changed);
    pthread_mutex_destroy(&changes->lock);
    kg__free(changes);
}

size_t serve_changes_listeners(serve_changes *changes) {
    pthread_mutex_lock(&changes->lock);
    size_t count = changes->count;
    pthread_mutex_unlock(&changes->lock);
    return count;
}
