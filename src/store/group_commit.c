/* Group commit. A thread that commits puts its transaction in a queue. If no thread holds the
 * store, it becomes the leader: it takes all of the queue, applies it in one transaction of the
 * database, and so with one sync; the others wait until the leader is done with theirs. While a
 * leader is at work the queue fills up again, so that the more threads there are the more share a
 * sync.
 *
 * The transactions of a group get on disk together, or none of them does. */
#include "base/memory.h"
#include "store/store_handle.h"

/* From this many pages of the write-ahead log on (16 MB) it is moved into the file. */
#define MOST_LOG_PAGES 4096

void kg__store_hold(kg_store *store) {
    pthread_mutex_lock(&store->mutex);
    while (store->is_held)
        pthread_cond_wait(&store->changed, &store->mutex);
    store->is_held = true;
    pthread_mutex_unlock(&store->mutex);
}

void kg__store_release(kg_store *store) {
    pthread_mutex_lock(&store->mutex);
    store->is_held = false;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->mutex);
}

static kg_status apply_group(kg_store *store, kg_transaction *group, kg_error *error) {
    KG_TRY(kg__database_begin(store->database, true, error));
    for (kg_transaction *t = group; t != NULL; t = t->next)
        if (t->status == KG_OK)
            KG_TRY(kg__transaction_apply(t, error));
    return kg__database_commit(store->database, error);
}

/* A checkpoint that fails is a failed write, but no failure of the commit before it. */
static void move_log(kg_store *store) {
    kg_error error = {0};
    if (kg__database_log_pages(store->database) < MOST_LOG_PAGES)
        return;
    if (kg__database_checkpoint(store->database, &error) != KG_OK)
        kg__store_give_up(store);
}

/* Lets those that follow commits refuse theirs. Returns how many are left. */
static size_t announce(kg_transaction *group) {
    size_t ahead = 0;
    for (kg_transaction *t = group; t != NULL; t = t->next) {
        t->status =
            t->before_commit == NULL ? KG_OK : t->before_commit(t->payload, ahead, &t->error);
        ahead += t->status == KG_OK;
    }
    return ahead;
}

static void commit_group(kg_store *store, kg_transaction *group) {
    kg_error error = {0};
    kg_store_state before = store->state;
    kg_status status = kg__store_check_writable(store, &error);
    if (announce(group) == 0)
        return;
    if (status == KG_OK) {
        status = apply_group(store, group, &error);
        if (status != KG_OK) {
            kg__store_give_up(store);
            store->state = before;
        }
    }
    for (kg_transaction *t = group; t != NULL; t = t->next) {
        if (t->status != KG_OK)
            continue;
        t->status = status;
        t->error = error;
        if (status == KG_OK && t->on_commit != NULL)
            t->status = t->on_commit(t->payload, &t->counts, &t->error);
    }
    if (status == KG_OK)
        move_log(store);
}

/* Leads a group, the store's mutex being locked before and after. */
static void lead(kg_store *store) {
    kg_transaction *group = store->queue;
    store->queue = NULL;
    store->queue_end = &store->queue;
    store->is_held = true;
    pthread_mutex_unlock(&store->mutex);
    commit_group(store, group);
    pthread_mutex_lock(&store->mutex);
    store->is_held = false;
    for (kg_transaction *next = NULL; group != NULL; group = next) {
        next = group->next; /* its thread may free it as soon as it is done */
        group->is_done = true;
    }
    pthread_cond_broadcast(&store->changed);
}

kg_status kg__store_commit(kg_transaction *transaction, kg_commit_counts *counts, kg_error *error) {
    kg_store *store = transaction->store;
    pthread_mutex_lock(&store->mutex);
    *store->queue_end = transaction;
    store->queue_end = &transaction->next;
    while (!transaction->is_done)
        if (store->is_held)
            pthread_cond_wait(&store->changed, &store->mutex);
        else
            lead(store);
    pthread_mutex_unlock(&store->mutex);
    kg_status status = transaction->status;
    if (status != KG_OK && error != NULL)
        *error = transaction->error;
    if (status == KG_OK && counts != NULL)
        *counts = transaction->counts;
    kg__store_rollback(transaction);
    return status;
}
