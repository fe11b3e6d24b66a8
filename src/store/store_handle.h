/* An open store, as the files of this folder see it. The database is used by one thread at a time:
 * by the one that holds the store, which is the leader of a group of commits (group_commit.c) or
 * whoever reads. */
#ifndef KG_STORE_STORE_HANDLE_H
#define KG_STORE_STORE_HANDLE_H

#include <pthread.h>
#include <string.h>

#include "graph/change_list.h"
#include "store/schema.h"
#include "store/store.h"

#define KG_DATABASE_FILE "graph.db"
#define KG_NEW_DATABASE_FILE "graph.db.new" /* until it is complete */

struct kg_store {
    char *path;   /* as it was given, and its graph.db: for messages, */
    char *file;   /* and until it is open */
    char *folder; /* the same without links, and from the root on */
    kg_database *database;
    kg_store_mode mode;
    int lock;     /* -1 unless it is open for writing */
    int identity; /* of graph.db (failed_stores.h); likewise */

    /* For writing: */
    kg_base_facts base; /* of the current generation */
    kg_store_state state;

    pthread_mutex_t mutex;      /* guards what follows */
    pthread_cond_t changed;     /* the store was released */
    bool is_held;               /* by a thread that uses the database */
    kg_transaction *queue;      /* committed by their threads, in order, */
    kg_transaction **queue_end; /* waiting for a leader */
};

struct kg_transaction {
    kg_store *store;
    char *source;
    int64_t offset;
    kg_change_list changes;
    kg_before_commit before_commit; /* NULL: none */
    kg_on_commit on_commit;         /* likewise */
    void *payload;

    /* When it is committed: */
    kg_transaction *next;
    bool is_done;
    kg_status status;
    kg_error error;
    kg_commit_counts counts;
};

/* Waits until no other thread uses the database. */
void kg__store_hold(kg_store *store);
void kg__store_release(kg_store *store);

/* To be called after a write that failed: ends its transaction, and makes the store read-only if it
 * must not be written to any more. */
void kg__store_give_up(kg_store *store);

/* The state as the database has it. The caller holds the store. */
KG_MUST_CHECK kg_status kg__store_load_state(kg_store *store, kg_store_state *out, kg_error *error);

/* The operation and the fact of a row, from a column on. What cannot be one is refused. */
KG_MUST_CHECK kg_status kg__store_row_change(const kg_store *store, const kg_row *row, int column,
                                             kg_operation *operation, kg_text fact[3],
                                             kg_error *error);

/* Applies the changes of a transaction within one of the database. The caller holds the store. */
KG_MUST_CHECK kg_status kg__transaction_apply(kg_transaction *transaction, kg_error *error);

/* Milliseconds since 1970. */
int64_t kg__store_now(void);

/* NULL is the text without bytes. */
static inline kg_text kg__text(const char *string) {
    return (kg_text){string, string == NULL ? 0 : strlen(string)};
}

#endif
