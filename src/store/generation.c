/* What changes a store other than facts: the next generation, and forgetting. Each is one
 * transaction of the database. */
#include "base/memory.h"
#include "store/generation_folder.h"
#include "store/store_handle.h"

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
    kg__store_give_up(store, error);
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

kg_status kg__store_thaw(kg_store *store, kg_error *error) {
    kg__store_hold(store);
    kg_status status = in_transaction(store, thaw, NULL, error);
    if (status == KG_OK)
        kg__generation_sweep(store->path, store->state.generation, 0);
    kg__store_release(store);
    return status;
}

/* ---- Switching ---- */

struct next {
    kg_store *store;
    kg_base_facts base;
};

/* What was changed since the freeze differs from the base: if not, the model was trained on other
 * facts than those that were frozen. */
static kg_status check_change(void *payload, const kg_row *row, kg_error *error) {
    const struct next *next = payload;
    bool adds = kg__row_text(row, 0).bytes[0] == KG_ADD;
    bool is_base = false;
    kg_text fact[3] = {kg__row_text(row, 1), kg__row_text(row, 2), kg__row_text(row, 3)};
    KG_TRY(kg__base_facts_have(&next->base, &is_base, fact, error));
    if (is_base == adds)
        return kg_fail_at(error, next->store->path, 0, 0,
                          "expected that generation %jd was trained on the facts that were frozen "
                          "for it, found one that was trained on others",
                          (intmax_t)next->store->state.next);
    return KG_OK;
}

static kg_status make_current(kg_store *store, void *payload, kg_error *error) {
    kg_value next = kg__integer(store->state.next);
    kg_value last = kg__integer(store->state.generation);
    kg_value past[] = {kg__string(kg__text("current")), kg__string(kg__text("past"))};
    kg_value current[] = {kg__string(kg__text("next")), kg__string(kg__text("current"))};
    KG_TRY(
        kg__database_run(store->database, KG_LIST_CHANGES, &next, 1, check_change, payload, error));
    KG_TRY(run(store, KG_CLEAR_CHANGES, &last, 1, error));
    KG_TRY(run(store, KG_SET_STATE, past, 2, error));
    return run(store, KG_SET_STATE, current, 2, error);
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
    kg__generation_sweep(store->path, store->state.generation, 0);
    return KG_OK;
}

kg_status kg__store_switch(kg_store *store, kg_error *error) {
    struct next next = {.store = store};
    kg__store_hold(store);
    kg_status status = switch_to(store, &next, error);
    kg__store_release(store);
    return status;
}

/* ---- Forgetting ---- */

static kg_status forget(kg_store *store, void *payload, kg_error *error) {
    uint64_t *removed = payload;
    KG_TRY(run(store, KG_FORGET_LOG, NULL, 0, error));
    *removed = (uint64_t)kg__database_changed(store->database);
    return KG_OK;
}

kg_status kg__store_forget(kg_store *store, uint64_t *removed, kg_error *error) {
    kg__store_hold(store);
    kg_status status = in_transaction(store, forget, removed, error);
    if (status == KG_OK) {
        status = kg__database_scrub(store->database, error);
        if (status != KG_OK)
            kg__store_give_up(store, error);
    }
    kg__store_release(store);
    return status;
}
