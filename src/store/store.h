/* A store: a model directory and the facts that were added and withdrawn since it was trained, on
 * disk. STORE/ holds `graph.db` (docs/store.md), the model directories `generation-N`, and `lock`.
 *
 * The live facts are those of the current generation's base (its training facts), plus the added
 * ones, minus the withdrawn ones. Facts are names: bytes without tab, newline and NUL.
 *
 * What a commit has returned KG_OK for is on disk. One process opens a store for writing, where any
 * number of threads may commit; any number open it for reading. A failed write (a full disk, a
 * failed sync) makes the store read-only for the rest of the process's life: what it holds can
 * still be read, and nothing is tried again. */
#ifndef KG_STORE_STORE_H
#define KG_STORE_STORE_H

#include "graph/change_reader.h"
#include "store/base_facts.h"

typedef struct kg_store kg_store;
typedef struct kg_transaction kg_transaction;

typedef enum kg_store_mode { KG_STORE_READ, KG_STORE_WRITE } kg_store_mode;

/* Makes a store of a model directory, whose files are linked where the file system allows it and
 * copied elsewhere. `path` must not exist; what a killed process left of making it is replaced. */
KG_MUST_CHECK kg_status kg__store_create(const char *path, const char *model, kg_error *error);

/* Whether there is a store at `path`, of whatever version. */
bool kg__store_exists(const char *path);

/* Opening for writing refuses a store that another process has been writing for a second, and
 * brings an older version up to date. The caller closes it when all its transactions have ended. */
KG_MUST_CHECK kg_status kg__store_open(kg_store **out, const char *path, kg_store_mode mode,
                                       kg_error *error);

/* Opens it for writing, and waits for so many seconds until nobody else does. */
KG_MUST_CHECK kg_status kg__store_open_when_free(kg_store **out, const char *path, double seconds,
                                                 kg_error *error);
void kg__store_close(kg_store *store);

/* Refuses to write to a store that is open for reading or that a write to failed. */
KG_MUST_CHECK kg_status kg__store_check_writable(const kg_store *store, kg_error *error);

/* The state that an answer is a function of. */
typedef struct kg_store_state {
    int64_t generation;
    int64_t last;   /* number of the last entry of the log, 0 before the first */
    int64_t next;   /* the generation that is being trained; 0 if none is */
    int64_t frozen; /* last entry of the log that the next generation knows of */
} kg_store_state;

KG_MUST_CHECK kg_status kg__store_read_state(kg_store *store, kg_store_state *out, kg_error *error);

/* Whether the live facts are others than those of the current generation's base. */
KG_MUST_CHECK kg_status kg__store_has_changes(kg_store *store, bool *out, kg_error *error);

/* Whether it is an end of a fact that was added, of whatever relation. Linear in their number. */
KG_MUST_CHECK kg_status kg__store_has_added(kg_store *store, bool *out, kg_text entity,
                                            kg_error *error);

/* The model directory of a generation, to be kg_freed; NULL if memory is short. */
char *kg__store_generation_path(const kg_store *store, int64_t generation);

/* The base of the current generation, of a store that is open for writing; valid until the switch
 * to the next one. */
const kg_base_facts *kg__store_base(const kg_store *store);

/* ---- Transactions ---- */

/* What became of the changes of a transaction. */
typedef struct kg_commit_counts {
    uint64_t added;
    uint64_t removed;
    uint64_t present; /* to be added, but live already */
    uint64_t absent;  /* to be removed, but not live */
    uint64_t skipped; /* all of them: the source has been at this offset before */
    int64_t last;     /* number of the last entry of the log */
} kg_commit_counts;

/* Starts a transaction, which lives in memory until it is committed. A transaction belongs to one
 * thread at a time. With a `source` (NULL: none) the offset is committed with the changes, and a
 * transaction whose offset is not beyond the source's last one is skipped, so that a stream can be
 * replayed. */
KG_MUST_CHECK kg_status kg__store_begin(kg_transaction **out, kg_store *store, const char *source,
                                        int64_t offset, kg_error *error);

/* The same before the store is open for writing, and then giving it to the store, which it has to
 * be before it is committed. */
KG_MUST_CHECK kg_status kg__transaction_open(kg_transaction **out, const char *source,
                                             int64_t offset, kg_error *error);
KG_MUST_CHECK kg_status kg__transaction_join(kg_transaction *transaction, kg_store *store,
                                             kg_error *error);

/* The generation that a store is made with. */
#define KG_FIRST_GENERATION 1

/* A source that begins with this is an idempotency key. It is not for ever: commits with other keys
 * remove those that are older than this. */
#define KG_KEY_PREFIX "idempotency:"
#define KG_KEY_MILLISECONDS ((int64_t)24 * 60 * 60 * 1000)

/* Refuses a source without a name, and offsets below 0. */
KG_MUST_CHECK kg_status kg__store_check_source(const char *source, int64_t offset, kg_error *error);

/* Adds to the transaction, in order. Head, relation and tail are copied. */
KG_MUST_CHECK kg_status kg__store_change(kg_transaction *transaction, kg_operation operation,
                                         const kg_text fact[3], kg_error *error);

/* The number of changes so far, and back to fewer of them. */
size_t kg__store_change_count(const kg_transaction *transaction);
void kg__store_rewind(kg_transaction *transaction, size_t count);

/* Makes the changes durable, all or none, and frees the transaction in any case. Threads that
 * commit at the same time share one sync. After a failure the changes have not been made as far as
 * this process is concerned; after a failed sync they may turn up, all of them, in the next. */
KG_MUST_CHECK kg_status kg__store_commit(kg_transaction *transaction, kg_commit_counts *counts,
                                         kg_error *error);

/* Called when the transaction is on disk, before its kg__store_commit returns: in the order of the
 * log, by one thread at a time, which may be another one that commits. That one holds the store,
 * which must only be used by kg__store_list_log. What it fails with is what kg__store_commit
 * returns. */
typedef kg_status (*kg_on_commit)(void *payload, const kg_commit_counts *counts, kg_error *error);

/* Called before anything is written, with the number of transactions that will be on disk before it
 * and whose kg_on_commit has not been called yet. It may refuse the transaction. */
typedef kg_status (*kg_before_commit)(void *payload, size_t ahead, kg_error *error);

void kg__store_on_commit(kg_transaction *transaction, kg_before_commit before,
                         kg_on_commit on_commit, void *payload);

/* Frees a transaction; NULL is allowed. */
void kg__store_rollback(kg_transaction *transaction);

/* ---- Reading. Callbacks must not use the same store. ---- */

typedef kg_status (*kg_on_change)(void *payload, kg_operation operation, const kg_text fact[3],
                                  kg_error *error);

/* The changes from the base of the current generation to the live facts, in the order of the names'
 * bytes, so that the same set of live facts is read in the same order however it came about.
 * `state`, unless it is NULL, is set before the first one, and belongs to them. */
KG_MUST_CHECK kg_status kg__store_read_changes(kg_store *store, kg_store_state *state,
                                               kg_on_change on_change, void *payload,
                                               kg_error *error);

/* Of these the facts that were added and have an entity at an end, in some order. Linear in the
 * number of changes. KG_SYSTEM if another generation is the current one. */
KG_MUST_CHECK kg_status kg__store_read_added(kg_store *store, int64_t generation, kg_text entity,
                                             kg_on_change on_change, void *payload,
                                             kg_error *error);

/* An entry of the log; `source.bytes` is NULL if it has no source. */
typedef struct kg_log_entry {
    int64_t number;
    int64_t time; /* milliseconds since 1970 */
    kg_operation operation;
    kg_text fact[3];
    kg_text source;
    int64_t offset;
} kg_log_entry;

typedef kg_status (*kg_on_log_entry)(void *payload, const kg_log_entry *entry, kg_error *error);

/* Entries with numbers above `since`, of one source or (NULL) of all, in the order of numbers. */
KG_MUST_CHECK kg_status kg__store_read_log(kg_store *store, int64_t since, const char *source,
                                           kg_on_log_entry on_entry, void *payload,
                                           kg_error *error);

/* The same for a kg_on_commit. */
KG_MUST_CHECK kg_status kg__store_list_log(kg_store *store, int64_t since, const char *source,
                                           kg_on_log_entry on_entry, void *payload,
                                           kg_error *error);

/* The last offset of a source; `*found` is false if it has none. */
KG_MUST_CHECK kg_status kg__store_read_offset(kg_store *store, int64_t *out, bool *found,
                                              const char *source, kg_error *error);

typedef kg_status (*kg_on_source)(void *payload, kg_text name, int64_t offset, kg_error *error);

/* All sources, in the order of the names' bytes. */
KG_MUST_CHECK kg_status kg__store_read_sources(kg_store *store, kg_on_source on_source,
                                               void *payload, kg_error *error);

/* What became of forgetting. */
typedef struct kg_forgotten {
    uint64_t entries; /* of the log */
    uint64_t in_base; /* withdrawn facts that the model's files hold until the next generation */
    bool gave_up;     /* the generation that was being trained, which held some */
} kg_forgotten;

/* Removes all entries of facts that are not live from the log, and their traces from the files.
 * A withdrawn fact of the base stays in the model directory, and in the list of changes, until the
 * next generation takes its place. An unfinished next generation is given up if it was frozen with
 * a fact that is not live any more; while somebody trains it, that is refused (KG_BAD_INPUT).
 * KG_SYSTEM if a reader, whose view of the store would change, does not end in time: the entries
 * are removed then, and another call removes the traces. */
KG_MUST_CHECK kg_status kg__store_forget(kg_store *store, kg_forgotten *out, kg_error *error);

/* ---- Generations ---- */

/* Starts the next generation, whose base will be the facts that are live now; or does nothing if
 * that was done before. From here on changes are recorded for both. */
KG_MUST_CHECK kg_status kg__store_freeze(kg_store *store, kg_store_state *out, kg_error *error);

/* The changes from the base of the current generation to that of the next, as
 * kg__store_read_changes. Needs a next generation. */
KG_MUST_CHECK kg_status kg__store_read_frozen(kg_store *store, kg_on_change on_change,
                                              void *payload, kg_error *error);

/* The changes since the base of the next generation was frozen, likewise. */
KG_MUST_CHECK kg_status kg__store_read_next(kg_store *store, kg_store_state *state,
                                            kg_on_change on_change, void *payload, kg_error *error);

/* Who follows a switch: `prepare` is called before it is committed, with the last entry of the log,
 * and may refuse it; `finish` after it. Nobody commits meanwhile; the store must only be used by
 * kg__store_list_log. */
typedef struct kg_switch_watcher {
    kg_status (*prepare)(void *payload, int64_t last, kg_error *error);
    void (*finish)(void *payload);
    void *payload;
} kg_switch_watcher;

/* Makes the next generation the current one: its model directory is in place, and its base is what
 * was frozen. Atomic; the model directory of the last generation is removed. `watcher` may be NULL.
 */
KG_MUST_CHECK kg_status kg__store_switch(kg_store *store, const kg_switch_watcher *watcher,
                                         kg_error *error);

/* Gives up the next generation, if there is one: what was recorded for it and its checkpoints. */
KG_MUST_CHECK kg_status kg__store_thaw(kg_store *store, kg_error *error);

#endif
