/* From the changes of a store to versions in memory, when it is opened and with each commit. */
#include "live/live_store.h"

#include "base/memory.h"

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
    return kg__changes_collect(loading->changes, operation, fact, error);
}

static kg_status load(kg_live *live, kg_store *store, int64_t generation, kg_error *error) {
    kg_changes changes = {.live = live};
    struct loading loading = {.changes = &changes};
    kg_store_state state = {0};
    kg_commit commit;
    kg_status status = kg__store_read_changes(store, &state, load_change, &loading, error);
    if (status == KG_OK && state.generation != generation)
        status = kg_fail(error, KG_BAD_INPUT, "expected generation %jd, found %jd",
                         (intmax_t)generation, (intmax_t)state.generation);
    if (status == KG_OK)
        status = kg__changes_publish(&commit, &changes, error);
    live->published = state.last;
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

static kg_status open_generation(kg_live **out, kg_store *store, int64_t generation,
                                 const kg_live_options *options, kg_error *error) {
    kg_model *model = NULL;
    kg_live *live = NULL;
    KG_TRY(open_model(&model, store, generation, error));
    kg_status status = kg__live_open(&live, model, options, error);
    if (status != KG_OK) {
        kg__model_close(model);
        kg__free(model);
        return status;
    }
    live->own = model;
    status = load(live, store, generation, error);
    if (status == KG_OK)
        *out = live;
    else
        kg__live_close(live);
    return status;
}

/* While a reader opens the model, a writer may switch to the next generation and remove it. */
static kg_status open_current(kg_live **out, kg_store *store, const kg_live_options *options,
                              kg_error *error) {
    kg_store_state before;
    kg_store_state after;
    kg_status status = KG_OK;
    do {
        KG_TRY(kg__store_read_state(store, &before, error));
        status = open_generation(out, store, before.generation, options, error);
        if (status == KG_OK)
            return KG_OK;
        KG_TRY(kg__store_read_state(store, &after, NULL));
    } while (after.generation != before.generation);
    return status;
}

kg_status kg__live_open_store(kg_live **out, const char *path, const kg_live_options *options,
                              kg_error *error) {
    kg_store *store = NULL;
    KG_TRY(
        kg__store_open(&store, path, options->read_only ? KG_STORE_READ : KG_STORE_WRITE, error));
    kg_status status = open_current(out, store, options, error);
    if (status == KG_OK && !options->read_only)
        (*out)->store = store;
    else
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

void kg__live_close_store(kg_live *live) {
    kg__store_close(live->store);
    live->store = NULL;
}

/* ---- Committing ---- */

kg_status kg__live_check_store(const kg_live *live, kg_error *error) {
    if (live->store != NULL)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected a live graph on a store that is open for writing, found one in memory "
                   "alone, which knows no offsets of sources");
}

kg_status kg__live_offset(int64_t *out, kg_live *live, const char *source, kg_error *error) {
    bool found = false;
    *out = -1;
    KG_TRY(kg__live_check_store(live, error));
    return kg__store_read_offset(live->store, out, &found, source, error);
}

static kg_status load_entry(void *payload, const kg_log_entry *entry, kg_error *error) {
    struct loading *loading = payload;
    if (entry->number > loading->last)
        return KG_OK;
    loading->entries++;
    return kg__changes_collect(loading->changes, entry->operation, entry->fact, error);
}

/* Publishes what the log has up to an entry. Its numbers are consecutive but where entries were
 * forgotten. */
static kg_status catch_up(kg_live *live, int64_t last, kg_error *error) {
    kg_changes changes = {.live = live};
    struct loading loading = {.changes = &changes, .last = last};
    kg_commit commit;
    kg_status status =
        kg__store_list_log(live->store, live->published, NULL, load_entry, &loading, error);
    if (status == KG_OK && loading.entries != (uint64_t)(last - live->published))
        status = kg_fail(error, KG_BAD_INPUT,
                         "expected entries %jd to %jd of the log, found %ju of them",
                         (intmax_t)live->published + 1, (intmax_t)last, (uintmax_t)loading.entries);
    if (status == KG_OK)
        status = kg__changes_publish(&commit, &changes, error);
    if (status == KG_OK)
        live->published = last;
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
    kg_live *live = publishing->changes->live;
    int64_t before = counts->last - (int64_t)(counts->added + counts->removed);
    *out = (kg_commit){.size = sizeof *out};
    if (live->published < before)
        KG_TRY(catch_up(live, before, error));
    if (counts->skipped == 0)
        KG_TRY(kg__changes_publish(out, publishing->changes, error));
    out->skipped = counts->skipped;
    out->last = counts->last;
    live->published = counts->last;
    return KG_OK;
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
    KG_TRY(kg__store_begin(&transaction, c->live->store, c->source, c->offset, error));
    for (size_t i = 0; i < c->count; i++) {
        kg_text fact[3];
        kg_operation operation = kg__changes_get(fact, c, i);
        kg_status status = kg__store_change(transaction, operation, fact, error);
        if (status != KG_OK) {
            kg__store_rollback(transaction);
            return status;
        }
    }
    kg__store_on_commit(transaction, on_commit, &publishing);
    return kg__store_commit(transaction, NULL, error);
}
