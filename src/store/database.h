/* A SQLite file with a table of statements. This is the only place that calls SQLite: statements
 * are prepared at their first use and kept, values and rows are the project's types, and failures
 * are kg_errors that name the file.
 *
 * A database is used by one thread at a time. */
#ifndef KG_STORE_DATABASE_H
#define KG_STORE_DATABASE_H

#include <stdbool.h>

#include "base/status.h"

typedef struct kg_database kg_database;

typedef enum kg_database_mode {
    KG_DATABASE_CREATE, /* a new file, or an empty one */
    KG_DATABASE_WRITE,
    KG_DATABASE_READ,
} kg_database_mode;

/* A value of a statement: an integer, or a text that is borrowed, or NULL where `text.bytes` is
 * NULL. */
typedef struct kg_value {
    bool is_integer;
    int64_t integer;
    kg_text text;
} kg_value;

static inline kg_value kg__integer(int64_t integer) {
    return (kg_value){.is_integer = true, .integer = integer};
}

static inline kg_value kg__string(kg_text string) {
    return (kg_value){.text = string};
}

/* Opens the file `path`. `statements`, of which there are `count`, must outlive the database. */
KG_MUST_CHECK kg_status kg__database_open(kg_database **out, const char *path,
                                          kg_database_mode mode, const char *const *statements,
                                          size_t count, kg_error *error);

/* Prepares for writing: from now on commits go to a write-ahead log, and are synced. The log stays,
 * empty, when the file is closed, so that those who may read but not write can open it. */
KG_MUST_CHECK kg_status kg__database_start_log(kg_database *database, kg_error *error);

/* Makes sure that all of the write-ahead log is on the disk, also if a process before this one
 * failed to sync it. To be called before the first commit. */
KG_MUST_CHECK kg_status kg__database_renew_log(kg_database *database, kg_error *error);

/* Moves what is in the write-ahead log into the file itself, unless writing has failed. NULL is
 * allowed. */
void kg__database_close(kg_database *database);

/* Runs SQL without values and rows, of any number of statements. */
KG_MUST_CHECK kg_status kg__database_script(kg_database *database, const char *sql,
                                            kg_error *error);

/* A row of a result, valid during the call that it is passed to. */
typedef struct kg_row kg_row;
typedef kg_status (*kg_on_row)(void *payload, const kg_row *row, kg_error *error);

int64_t kg__row_integer(const kg_row *row, int column);

/* No bytes (NULL) if the value is NULL. */
kg_text kg__row_text(const kg_row *row, int column);

/* Runs a statement of the table with its values; `on_row`, unless it is NULL, is called for each
 * row of the result, up to the first call that fails, and must not run the same statement. */
KG_MUST_CHECK kg_status kg__database_run(kg_database *database, size_t statement,
                                         const kg_value *values, size_t count, kg_on_row on_row,
                                         void *payload, kg_error *error);

/* The integer in the first column of the first row; `*found` is false, and `*out` unchanged, if
 * there is no row or it has NULL. */
KG_MUST_CHECK kg_status kg__database_number(kg_database *database, int64_t *out, bool *found,
                                            size_t statement, const kg_value *values, size_t count,
                                            kg_error *error);

/* How many rows the last statement inserted, changed or deleted, and the number (the key) of the
 * row that was inserted last. */
int64_t kg__database_changed(const kg_database *database);
int64_t kg__database_last_row(const kg_database *database);

/* The first failure after which the file must not be written to: an error of input or output, a
 * full disk, or damage. NULL if there was none. Any thread may ask. */
const kg_error *kg__database_failure(const kg_database *database);

/* Transactions, for writing or for a consistent view; nothing to roll back is all right. */
KG_MUST_CHECK kg_status kg__database_begin(kg_database *database, bool writes, kg_error *error);
KG_MUST_CHECK kg_status kg__database_commit(kg_database *database, kg_error *error);
void kg__database_rollback(kg_database *database);

/* How many pages the write-ahead log had after the last commit, and moving them into the file as
 * far as readers allow, without waiting for them. */
size_t kg__database_log_pages(const kg_database *database);
KG_MUST_CHECK kg_status kg__database_checkpoint(kg_database *database, kg_error *error);

/* Leaves no trace of what was deleted: the file is written anew, and the write-ahead log emptied.
 * KG_SYSTEM if readers keep that from being done. */
KG_MUST_CHECK kg_status kg__database_scrub(kg_database *database, kg_error *error);

#endif
