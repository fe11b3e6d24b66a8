/* From the changes of a store to versions in memory, when it is opened and with each commit. */
#include "live/live_store.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"

/* ---- Opening ---- */

/* What is read of a store. */
struct loading {
    kg_changes *changes;
    int64_t last; /* entry of the log that matters */
    uint64_t entries;
};

static kg_status load_change(void *payload, kg_operation operation, const kg_text fact[3],
                             kg_error *error) {
    const struct loading *loading = payload;
    return kg__change_list_add(&loading->changes->list, operation, fact, error);
}

/* Reads the changes of one of the store's generations, with its state in the same moment. */
typedef kg_status (*kg_reading)(kg_store *store, kg_store_state *state, kg_on_change on_change,
                                void *payload, kg_error *error);

static kg_status load(kg_generation *generation, kg_store *store, kg_reading read,
                      kg_error *error) {
    kg_changes changes = {.live = generation->live};
    struct loading loading = {.changes = &changes};
    kg_store_state state = {0};
    kg_commit commit;
    kg_status status = read(store, &state, load_change, &loading, error);
    if (status == KG_OK && state.generation != generation->number &&
        state.next != generation->number)
        status = kg_fail(error, KG_BAD_INPUT, "expected generation %jd, found %jd",
                         (intmax_t)generation->number, (intmax_t)state.generation);
    if (status == KG_OK)
        status = kg__changes_publish(&commit, &changes, generation, state.last, error);
    kg__changes_free(&changes);
    return status;
}

static kg_status open_model(kg_model **out, const kg_store *store, int64_t generation,
                            kg_error *error) {
    char *path = kg__store_generation_path(store, generation);
    kg_model *model = kg__alloc(1, sizeof *model);
    kg_status status =
        path == NULL || model == NULL ? kg__fail_memory(error) : kg__model_open(model, path, error);
    kg__free(path);
    if (status == KG_OK)
        *out = model;
    else
        kg__free(model);
    return status;
}

static kg_status open_generation(kg_generation **out, kg_live *live, kg_store *store,
                                 int64_t number, kg_reading read, kg_error *error) {
    kg_model *model = NULL;
    kg_generation *generation = NULL;
    KG_TRY(open_model(&model, store, number, error));
    kg_status status = kg__generation_open(&generation, live, model, error);
    if (status != KG_OK) {
        kg__model_close(model);
        kg__free(model);
        return status;
    }
    generation->own = model;
    generation->number = number;
    status = load(generation, store, read, error);
    if (status == KG_OK)
        *out = generation;
    else
        kg__generation_close(generation);
    return status;
}

/* While a reader opens the model, a writer may switch to the next generation and remove it. */
static kg_status open_current(kg_generation **out, kg_live *live, kg_store *store,
                              kg_error *error) {
    kg_store_state before;
    kg_store_state after;
    kg_status status = KG_OK;
    do {
        KG_TRY(kg__store_read_state(store, &before, error));
        status =
            open_generation(out, live, store, before.generation, kg__store_read_changes, error);
        if (status == KG_OK)
            return KG_OK;
        KG_TRY(kg__store_read_state(store, &after, NULL));
    } while (after.generation != before.generation);
    return status;
}

static kg_status open_on(kg_live *live, kg_store *store, kg_error *error) {
    kg_generation *generation = NULL;
    KG_TRY(open_current(&generation, live, store, error));
    kg_status status = kg__live_set_generation(live, generation, error);
    if (status != KG_OK)
        kg__generation_close(generation);
    return status;
}

kg_status kg__live_open_store(kg_live **out, const char *path, const kg_live_options *options,
                              kg_error *error) {
    kg_store *store = NULL;
    kg_live *live = NULL;
    kg_status status = KG_OK;
    KG_TRY(
        kg__store_open(&store, path, options->read_only ? KG_STORE_READ : KG_STORE_WRITE, error));
    KG_CHECK(kg__live_make(&live, options, error));
    live->path = kg__path_absolute(path); /* the working directory may change */
    KG_CHECK(live->path == NULL ? kg__fail_memory(error) : open_on(live, store, error));
    *out = live;
    if (!options->read_only) {
        live->store = store;
        return KG_OK;
    }
done:
    if (status != KG_OK)
        kg__live_close(live);
    kg__store_close(store);
    return status;
}

kg_status kg__live_open_model(kg_model **out, const char *path, kg_error *error) {
    kg_live_options options = KG_LIVE_OPTIONS_INIT;
    kg_live *live = NULL;
    options.read_only = true;
    KG_TRY(kg__live_open_store(&live, path, &options, error));
    live->is_model = true;
    *out = kg__live_snapshot(live);
    return KG_OK;
}

static bool has_dormant(const kg_model *snapshot) {
    return atomic_load(&kg__live_version_of(snapshot)->generation->has_dormant);
}

bool kg__live_is_dormant(const kg_model *snapshot, kg_text entity) {
    kg_store *store = NULL;
    bool found = false;
    if (snapshot->live == NULL || snapshot->live->path == NULL || !has_dormant(snapshot) ||
        kg__store_open(&store, snapshot->live->path, KG_STORE_READ, NULL) != KG_OK)
        return false;
    kg_status status = kg__store_has_added(store, &found, entity, NULL);
    kg__store_close(store);
    return status == KG_OK && found;
}

struct dormant {
    const kg_model *snapshot;
    kg_on_change on_fact;
    void *payload;
};

static kg_status show_dormant(void *payload, kg_operation operation, const kg_text fact[3],
                              kg_error *error) {
    const struct dormant *dormant = payload;
    kg_name relation = kg__name_of(fact[1].bytes, fact[1].length);
    if (kg__names_find(&dormant->snapshot->relations, relation) != KG_NO_ID)
        return KG_OK;
    return dormant->on_fact(dormant->payload, operation, fact, error);
}

kg_status kg__live_read_dormant(const kg_model *snapshot, kg_text entity, kg_on_change on_fact,
                                void *payload, kg_error *error) {
    struct dormant dormant = {snapshot, on_fact, payload};
    if (!has_dormant(snapshot))
        return KG_OK;
    KG_TRY(kg__live_check_store(snapshot->live, error));
    return kg__store_read_added(snapshot->live->store,
                                kg__live_version_of(snapshot)->generation->number, entity,
                                show_dormant, &dormant, error);
}

void kg__live_close_store(kg_live *live) {
    kg__store_close(live->store);
    live->store = NULL;
}

/* ---- Sources ---- */

kg_status kg__live_check_store(const kg_live *live, kg_error *error) {
    if (live->store != NULL)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected a live graph on a store that is open for writing, found one %s",
                   live->path == NULL ? "in memory alone"
                                      : "that was opened for reading, or closed");
}

kg_status kg__live_check_writable(const kg_live *live, kg_error *error) {
    KG_TRY(kg__live_check_store(live, error));
    return kg__store_check_writable(live->store, error);
}

kg_status kg__live_offset(int64_t *out, kg_live *live, const char *source, kg_error *error) {
    bool found = false;
    *out = -1;
    KG_TRY(kg__live_check_store(live, error));
    return kg__store_read_offset(live->store, out, &found, source, error);
}

/* ---- The log ---- */

struct listing {
    kg_on_logged on_logged;
    void *payload;
};

static kg_status list_entry(void *payload, const kg_log_entry *entry, kg_error *error) {
    const struct listing *listing = payload;
    kg_log_record record = {.number = entry->number,
                            .time = entry->time,
                            .head = entry->fact[0],
                            .relation = entry->fact[1],
                            .tail = entry->fact[2],
                            .source = entry->source,
                            .offset = entry->offset,
                            .is_added = entry->operation == KG_ADD};
    (void)error;
    return listing->on_logged(listing->payload, &record) ? KG_OK : KG_CANCELLED;
}

kg_status kg__live_log(kg_live *live, int64_t since, const char *source, kg_on_logged on_logged,
                       void *payload, kg_error *error) {
    struct listing listing = {on_logged, payload};
    kg_store *view = NULL;
    if (live->path == NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a live graph on a store, found one in memory alone");
    KG_TRY(kg__store_open(&view, live->path, KG_STORE_READ, error));
    kg_status status = kg__store_read_log(view, since, source, list_entry, &listing, error);
    kg__store_close(view);
    return status == KG_CANCELLED ? KG_OK : status;
}

/* ---- Committing ---- */

static kg_status load_entry(void *payload, const kg_log_entry *entry, kg_error *error) {
    struct loading *loading = payload;
    if (entry->number > loading->last)
        return KG_OK;
    loading->entries++;
    return kg__change_list_add(&loading->changes->list, entry->operation, entry->fact, error);
}

/* Publishes what the log has up to an entry. Its numbers are consecutive but where entries were
 * forgotten. */
static kg_status catch_up(kg_generation *generation, int64_t last, kg_error *error) {
    int64_t shown = kg__generation_newest(generation)->last;
    kg_changes changes = {.live = generation->live};
    struct loading loading = {.changes = &changes, .last = last};
    kg_commit commit;
    if (shown >= last)
        return KG_OK;
    kg_status status =
        kg__store_list_log(generation->live->store, shown, NULL, load_entry, &loading, error);
    if (status == KG_OK && loading.entries != (uint64_t)(last - shown))
        status = kg_fail(error, KG_BAD_INPUT,
                         "expected entries %jd to %jd of the log, found %ju of them",
                         (intmax_t)shown + 1, (intmax_t)last, (uintmax_t)loading.entries);
    if (status == KG_OK)
        status = kg__changes_publish(&commit, &changes, generation, last, error);
    kg__changes_free(&changes);
    return status;
}

struct publishing {
    kg_commit *out;
    kg_changes *changes;
};

static kg_status publish(const struct publishing *publishing, const kg_commit_counts *counts,
                         kg_error *error) {
    kg_commit *out = publishing->out;
    kg_generation *generation = kg__live_generation(publishing->changes->live);
    int64_t before = counts->last - (int64_t)(counts->added + counts->removed);
    *out = (kg_commit){.size = sizeof *out};
    KG_TRY(catch_up(generation, before, error));
    if (counts->skipped == 0)
        KG_TRY(kg__changes_publish(out, publishing->changes, generation, counts->last, error));
    out->removed = counts->removed; /* the store also knows those of unknown relations */
    out->missing = counts->absent;
    out->skipped = counts->skipped;
    out->last = counts->last;
    return KG_OK;
}

/* Before it is on disk: each of those ahead is a version, and perhaps what failed before. */
static kg_status before_commit(void *payload, size_t ahead, kg_error *error) {
    const struct publishing *publishing = payload;
    kg_generation *generation = kg__live_generation(publishing->changes->live);
    return kg__snapshots_check_room(&generation->versions, ahead + 2, error);
}

static kg_status on_commit(void *payload, const kg_commit_counts *counts, kg_error *error) {
    kg_error reason = {0};
    kg_status status = publish(payload, counts, &reason);
    if (status == KG_OK)
        return KG_OK;
    kg__record(error, status, reason.source, 0, 0,
               "on disk, but not shown before the next commit: %s", reason.message);
    return status;
}

kg_status kg__live_store_commit(kg_commit *out, kg_changes *c, kg_error *error) {
    struct publishing publishing = {out, c};
    kg_transaction *transaction = NULL;
    KG_TRY(kg__changes_keep_last(c, error)); /* the log has what takes effect */
    KG_TRY(kg__store_begin(&transaction, c->live->store, c->source, c->offset, error));
    for (size_t i = 0; i < c->list.count; i++) {
        kg_text fact[3];
        kg_operation operation = kg__change_list_get(fact, &c->list, i);
        kg_status status = kg__store_change(transaction, operation, fact, error);
        if (status != KG_OK) {
            kg__store_rollback(transaction);
            return status;
        }
    }
    kg__store_on_commit(transaction, before_commit, on_commit, &publishing);
    return kg__store_commit(transaction, NULL, error);
}

/* ---- The next generation ---- */

/* By a view of its own, so that commits go on. */
static kg_status open_next(kg_generation **out, kg_live *live, kg_error *error) {
    kg_store *view = NULL;
    kg_store_state state;
    KG_TRY(kg__store_open(&view, live->path, KG_STORE_READ, error));
    kg_status status = kg__store_read_state(view, &state, error);
    if (status == KG_OK)
        status = open_generation(out, live, view, state.next, kg__store_read_next, error);
    kg__store_close(view);
    return status;
}

/* Until it is the current one, it is not among the generations of the live graph. */
static kg_status prepare(void *payload, int64_t last, kg_error *error) {
    kg_generation *next = payload;
    KG_TRY(catch_up(next, last, error));
    kg__snapshots_lock(&next->live->generations);
    kg_status status = kg__snapshots_reserve(&next->live->generations, error);
    kg__snapshots_unlock(&next->live->generations);
    return status;
}

static void finish(void *payload) {
    kg_generation *next = payload;
    kg_status status = kg__live_set_generation(next->live, next, NULL);
    assert(status == KG_OK); /* that was reserved */
    (void)status;
}

kg_status kg__live_switch(kg_live *live, kg_error *error) {
    kg_generation *next = NULL;
    KG_TRY(open_next(&next, live, error));
    const kg_switch_watcher watcher = {prepare, finish, next};
    kg_model *last = kg__live_snapshot(live); /* so that commits do not wait until it is freed */
    kg_status status = kg__store_switch(live->store, &watcher, error);
    kg__live_release(last);
    if (status != KG_OK)
        kg__generation_close(next);
    return status;
}
