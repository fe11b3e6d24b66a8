/* What changes a store other than facts: the next generation, and the removal of withdrawn facts
 * from the log and from the file's free space (forget). Each is one transaction of the database. */
#include "base/file_lock.h"
#include "base/memory.h"
#include "store/generation_folder.h"
#include "store/store_handle.h"
#include "train/training_folder.h"

typedef kg_status (*kg_work)(kg_store *store, void *payload, kg_error *error);

/* Does something in a transaction; the state in memory follows. */
static kg_status in_transaction(kg_store *store, kg_work work, void *payload, kg_error *error) {
    kg_store_state state = {0};
    kg_status status = KG_OK;
    KG_TRY(kg__store_check_writable(store, error));
    KG_CHECK(kg__database_begin(store->database, true, error));
    KG_CHECK(work(store, payload, error));
    KG_CHECK(kg__store_load_state(store, &state, error));
    KG_CHECK(kg__database_commit(store->database, error));
    store->state = state;
    return KG_OK;
done:
    kg__store_give_up(store);
    return status;
}

static kg_status run(kg_store *store, kg_statement statement, const kg_value *values, size_t count,
                     kg_error *error) {
    return kg__database_run(store->database, statement, values, count, NULL, NULL, error);
}

/* ---- Freezing ---- */

static kg_status freeze(kg_store *store, void *payload, kg_error *error) {
    (void)payload;
    kg_value next[] = {kg__integer(store->state.generation + 1), kg__string(kg__text("next")),
                       kg__integer(store->state.last), kg__integer(kg__store_now())};
    return store->state.next != 0 ? KG_OK : run(store, KG_INSERT_GENERATION, next, 4, error);
}

kg_status kg__store_freeze(kg_store *store, kg_store_state *out, kg_error *error) {
    kg__store_hold(store);
    kg_status status = in_transaction(store, freeze, NULL, error);
    if (status == KG_OK)
        *out = store->state;
    kg__store_release(store);
    return status;
}

static kg_status thaw(kg_store *store, void *payload, kg_error *error) {
    (void)payload;
    kg_value generation = kg__integer(store->state.next);
    kg_value state = kg__string(kg__text("next"));
    KG_TRY(run(store, KG_CLEAR_CHANGES, &generation, 1, error));
    return run(store, KG_DELETE_GENERATION, &state, 1, error);
}

/* Checkpoints of an unfinished run go first: those of other facts would be refused. */
static kg_status clear_training(const kg_store *store, kg_error *error) {
    kg_training_folder run;
    char *folder = kg__store_generation_path(store, store->state.next);
    kg_status status = folder == NULL ? kg__fail_memory(error)
                                      : kg__training_folder_open(&run, folder, false, true, error);
    kg__free(folder);
    KG_TRY(status);
    status = kg__training_folder_clear(&run, error);
    kg__training_folder_close(&run);
    return status;
}

/* The store is held. */
static kg_status give_up_next(kg_store *store, kg_error *error) {
    if (store->state.next == 0)
        return KG_OK;
    KG_TRY(clear_training(store, error));
    KG_TRY(in_transaction(store, thaw, NULL, error));
    kg__generation_sweep(store->folder, store->state.generation, 0);
    return KG_OK;
}

kg_status kg__store_thaw(kg_store *store, kg_error *error) {
    kg__store_hold(store);
    kg_status status = give_up_next(store, error);
    kg__store_release(store);
    return status;
}

/* ---- Switching ---- */

struct next {
    kg_store *store;
    kg_base_facts base;
    const kg_switch_watcher *watcher; /* NULL: none */
};

/* What was changed since the freeze differs from the base: if not, the model was trained on other
 * facts than those that were frozen. */
static kg_status check_change(void *payload, const kg_row *row, kg_error *error) {
    const struct next *next = payload;
    kg_operation operation = KG_ADD;
    bool is_base = false;
    kg_text fact[3];
    KG_TRY(kg__store_row_change(next->store, row, 0, &operation, fact, error));
    KG_TRY(kg__base_facts_have(&next->base, &is_base, fact, error));
    if (is_base == (operation == KG_ADD))
        return kg_fail_at(error, next->store->path, 0, 0,
                          "expected that generation %jd was trained on the facts that were frozen "
                          "for it, found one that was trained on others",
                          (intmax_t)next->store->state.next);
    return KG_OK;
}

static kg_status make_current(kg_store *store, void *payload, kg_error *error) {
    const kg_switch_watcher *watcher = ((const struct next *)payload)->watcher;
    kg_value next = kg__integer(store->state.next);
    kg_value last = kg__integer(store->state.generation);
    kg_value past[] = {kg__string(kg__text("current")), kg__string(kg__text("past"))};
    kg_value current[] = {kg__string(kg__text("next")), kg__string(kg__text("current"))};
    KG_TRY(
        kg__database_run(store->database, KG_LIST_CHANGES, &next, 1, check_change, payload, error));
    KG_TRY(run(store, KG_CLEAR_CHANGES, &last, 1, error));
    KG_TRY(run(store, KG_SET_STATE, past, 2, error));
    KG_TRY(run(store, KG_SET_STATE, current, 2, error));
    return watcher == NULL ? KG_OK : watcher->prepare(watcher->payload, store->state.last, error);
}

static kg_status switch_to(kg_store *store, struct next *next, kg_error *error) {
    if (store->state.next == 0)
        return kg_fail_at(error, store->path, 0, 0,
                          "expected a generation that is being trained, found none");
    char *folder = kg__store_generation_path(store, store->state.next);
    kg_status status =
        folder == NULL ? kg__fail_memory(error) : kg__base_facts_open(&next->base, folder, error);
    kg__free(folder);
    KG_TRY(status);
    status = in_transaction(store, make_current, next, error);
    if (status != KG_OK) {
        kg__base_facts_close(&next->base);
        return status;
    }
    kg__base_facts_close(&store->base);
    store->base = next->base;
    if (next->watcher != NULL)
        next->watcher->finish(next->watcher->payload);
    kg__generation_sweep(store->folder, store->state.generation, 0);
    return KG_OK;
}

kg_status kg__store_switch(kg_store *store, const kg_switch_watcher *watcher, kg_error *error) {
    struct next next = {.store = store, .watcher = watcher};
    kg__store_hold(store);
    kg_status status = switch_to(store, &next, error);
    kg__store_release(store);
    return status;
}

/* ---- Forgetting ---- */

/* How many facts of a generation's base are not live. */
static kg_status count_withdrawn(uint64_t *out, kg_store *store, int64_t generation,
                                 kg_error *error) {
    kg_value value = kg__integer(generation);
    int64_t count = 0;
    bool found = false;
    KG_TRY(
        kg__database_number(store->database, &count, &found, KG_COUNT_WITHDRAWN, &value, 1, error));
    *out = (uint64_t)count;
    return KG_OK;
}

/* The next generation must not bring back what is forgotten. A compaction that is at work on it has
 * locked the directory of the current one. */
static kg_status release_next(kg_store *store, bool *gave_up, kg_error *error) {
    uint64_t held = 0;
    int lock = -1;
    bool is_busy = false;
    if (store->state.next == 0)
        return KG_OK;
    KG_TRY(count_withdrawn(&held, store, store->state.next, error));
    if (held == 0)
        return KG_OK;
    char *folder = kg__store_generation_path(store, store->state.generation);
    kg_status status = folder == NULL ? kg__fail_memory(error)
                                      : kg__lock_unless_busy(&lock, &is_busy, folder, error);
    kg__free(folder);
    KG_TRY(status);
    if (is_busy)
        return kg_fail_at(error, store->path, 0, 0,
                          "expected that nobody compacts it, found a compaction at work that holds "
                          "facts which are to be forgotten: wait for its end, or stop it");
    status = give_up_next(store, error);
    *gave_up = status == KG_OK;
    kg__unlock(lock);
    return status;
}

static kg_status remove_entries(kg_store *store, void *payload, kg_error *error) {
    kg_forgotten *out = payload;
    KG_TRY(run(store, KG_FORGET_LOG, NULL, 0, error));
    out->entries = (uint64_t)kg__database_changed(store->database);
    return count_withdrawn(&out->in_base, store, store->state.generation, error);
}

static kg_status scrub(kg_store *store, kg_error *error) {
    kg_error reason = {0};
    kg_status status = kg__database_scrub(store->database, &reason);
    if (status == KG_OK)
        return KG_OK;
    kg__store_give_up(store);
    kg__record(error, status, store->file, 0, 0,
               "the entries are gone from the log, but the file has traces of them until they are "
               "forgotten once more: %s",
               reason.message);
    return status;
}

static kg_status forget(kg_store *store, kg_forgotten *out, kg_error *error) {
    KG_TRY(kg__store_check_writable(store, error));
    KG_TRY(release_next(store, &out->gave_up, error));
    KG_TRY(in_transaction(store, remove_entries, out, error));
    return scrub(store, error);
}

kg_status kg__store_forget(kg_store *store, kg_forgotten *out, kg_error *error) {
    *out = (kg_forgotten){0};
    kg__store_hold(store);
    kg_status status = forget(store, out, error);
    kg__store_release(store);
    return status;
}
