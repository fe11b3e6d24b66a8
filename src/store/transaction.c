/* Transactions: changes are collected in memory and applied at once when they are committed.
 *
 * The table `changes` holds, for a generation, the difference between its base and the live facts:
 * a fact is in it if and only if one of them has it and the other has not. So a change that takes
 * effect puts a fact in if it is not there, and takes it out if it is; while the next generation is
 * trained, the same is done for its base, and the switch has nothing left to compute. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "store/store_handle.h"

/* ---- In memory ---- */

kg_status kg__store_check_source(const char *source, int64_t offset, kg_error *error) {
    if (source[0] != '\0' && offset >= 0)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected a source with a name and an offset of at least 0, found %s and %jd",
                   kg__quote(source, strlen(source)).text, (intmax_t)offset);
}

kg_status kg__transaction_open(kg_transaction **out, const char *source, int64_t offset,
                               kg_error *error) {
    if (source != NULL)
        KG_TRY(kg__store_check_source(source, offset, error));
    kg_transaction *transaction = kg__alloc(1, sizeof *transaction);
    if (transaction == NULL)
        return kg__fail_memory(error);
    transaction->offset = offset;
    if (source != NULL && (transaction->source = kg__copy_string(source, strlen(source))) == NULL) {
        kg__free(transaction);
        return kg__fail_memory(error);
    }
    *out = transaction;
    return KG_OK;
}

kg_status kg__transaction_join(kg_transaction *transaction, kg_store *store, kg_error *error) {
    KG_TRY(kg__store_check_writable(store, error));
    transaction->store = store;
    return KG_OK;
}

kg_status kg__store_begin(kg_transaction **out, kg_store *store, const char *source, int64_t offset,
                          kg_error *error) {
    KG_TRY(kg__store_check_writable(store, error));
    KG_TRY(kg__transaction_open(out, source, offset, error));
    (*out)->store = store;
    return KG_OK;
}

void kg__store_rollback(kg_transaction *transaction) {
    if (transaction == NULL)
        return;
    kg__free(transaction->source);
    kg__change_list_free(&transaction->changes);
    kg__free(transaction);
}

kg_status kg__store_change(kg_transaction *transaction, kg_operation operation,
                           const kg_text fact[3], kg_error *error) {
    return kg__change_list_add(&transaction->changes, operation, fact, error);
}

void kg__store_on_commit(kg_transaction *transaction, kg_before_commit before,
                         kg_on_commit on_commit, void *payload) {
    transaction->before_commit = before;
    transaction->on_commit = on_commit;
    transaction->payload = payload;
}

size_t kg__store_change_count(const kg_transaction *transaction) {
    return transaction->changes.count;
}

void kg__store_rewind(kg_transaction *transaction, size_t count) {
    kg__change_list_rewind(&transaction->changes, count);
}

/* ---- In the database ---- */

/* The values that statements about a fact start with. */
enum { FIRST, HEAD, RELATION, TAIL, OPERATION, SOURCE, OFFSET, VALUES };

static kg_value operation_value(kg_operation operation) {
    return kg__string(operation == KG_ADD ? (kg_text){"A", 1} : (kg_text){"D", 1});
}

static kg_status insert(kg_store *store, kg_value values[VALUES], kg_error *error) {
    return kg__database_run(store->database, KG_INSERT_CHANGE, values, OPERATION + 1, NULL, NULL,
                            error);
}

/* Puts the fact in a generation's list of changes, or takes it out. */
static kg_status toggle(kg_store *store, int64_t generation, kg_value values[VALUES],
                        kg_error *error) {
    values[FIRST] = kg__integer(generation);
    KG_TRY(
        kg__database_run(store->database, KG_DELETE_CHANGE, values, TAIL + 1, NULL, NULL, error));
    return kg__database_changed(store->database) > 0 ? KG_OK : insert(store, values, error);
}

/* Whether the fact is live, and whether it is in the list of changes. */
static kg_status look_up(bool *is_live, bool *is_listed, kg_store *store, kg_value values[VALUES],
                         const kg_text fact[3], kg_error *error) {
    int64_t is_added = 0;
    values[FIRST] = kg__integer(store->state.generation);
    KG_TRY(kg__database_number(store->database, &is_added, is_listed, KG_FIND_CHANGE, values,
                               TAIL + 1, error));
    *is_live = is_added != 0;
    return *is_listed ? KG_OK : kg__base_facts_have(&store->base, is_live, fact, error);
}

static kg_status apply_change(kg_transaction *transaction, size_t i, int64_t now, kg_error *error) {
    kg_store *store = transaction->store;
    kg_commit_counts *counts = &transaction->counts;
    bool was_live = false;
    bool was_listed = false;
    kg_text fact[3];
    kg_operation operation = kg__change_list_get(fact, &transaction->changes, i);
    bool adds = operation == KG_ADD;
    kg_value values[VALUES] = {
        [OPERATION] = operation_value(operation),
        [SOURCE] = kg__string(kg__text(transaction->source)),
        [OFFSET] = transaction->source == NULL ? kg__string((kg_text){NULL, 0})
                                               : kg__integer(transaction->offset),
    };
    for (int k = 0; k < 3; k++)
        values[HEAD + k] = kg__string(fact[k]);
    KG_TRY(look_up(&was_live, &was_listed, store, values, fact, error));
    if (was_live == adds) {
        (*(adds ? &counts->present : &counts->absent))++;
        return KG_OK;
    }
    KG_TRY(was_listed ? toggle(store, store->state.generation, values, error)
                      : insert(store, values, error));
    if (store->state.next != 0)
        KG_TRY(toggle(store, store->state.next, values, error));
    values[FIRST] = kg__integer(now);
    KG_TRY(kg__database_run(store->database, KG_INSERT_LOG, values, VALUES, NULL, NULL, error));
    (*(adds ? &counts->added : &counts->removed))++;
    store->state.last = kg__database_last_row(store->database);
    return KG_OK;
}

/* Keys that are too old go with one that comes, some at a time. */
static kg_status delete_keys(const kg_transaction *transaction, int64_t now, kg_error *error) {
    kg_value before = kg__integer(now - KG_KEY_MILLISECONDS);
    if (strncmp(transaction->source, KG_KEY_PREFIX, strlen(KG_KEY_PREFIX)) != 0)
        return KG_OK;
    return kg__database_run(transaction->store->database, KG_DELETE_KEYS, &before, 1, NULL, NULL,
                            error);
}

/* Whether the source has been at this offset; if not, it is now. */
static kg_status advance(bool *is_replay, const kg_transaction *transaction, int64_t now,
                         kg_error *error) {
    kg_database *database = transaction->store->database;
    kg_value values[3] = {kg__string(kg__text(transaction->source)),
                          kg__integer(transaction->offset), kg__integer(now)};
    int64_t last = 0;
    bool found = false;
    KG_TRY(kg__database_number(database, &last, &found, KG_FIND_OFFSET, values, 1, error));
    *is_replay = found && transaction->offset <= last;
    if (*is_replay)
        return KG_OK;
    KG_TRY(kg__database_run(database, KG_SET_OFFSET, values, 3, NULL, NULL, error));
    return delete_keys(transaction, now, error);
}

kg_status kg__transaction_apply(kg_transaction *transaction, kg_error *error) {
    int64_t now = kg__store_now();
    bool is_replay = false;
    transaction->counts = (kg_commit_counts){0};
    if (transaction->source != NULL)
        KG_TRY(advance(&is_replay, transaction, now, error));
    if (is_replay)
        transaction->counts.skipped = transaction->changes.count;
    for (size_t i = 0; i < transaction->changes.count && !is_replay; i++)
        KG_TRY(apply_change(transaction, i, now, error));
    transaction->counts.last = transaction->store->state.last;
    return KG_OK;
}
