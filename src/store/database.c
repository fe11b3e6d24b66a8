/* Calling SQLite. Its automatic checkpoints ignore failures, so they are switched off, and
 * checkpoints are made by kg__database_checkpoint. Files are not trusted: triggers and functions
 * that a schema might call are disabled. */
#include "store/database.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/memory.h"

#define PATIENCE 5000 /* milliseconds to wait for a lock that another program holds */

struct kg_database {
    sqlite3 *sqlite;
    char *path;
    const char *const *statements;
    size_t count;
    sqlite3_stmt **prepared; /* NULL until first used */
    size_t log_pages;
    kg_error failure;       /* the first after which nothing must be written, */
    atomic_bool has_failed; /* if there is one; any thread may ask */
};

/* ---- Failures ---- */

static bool is_final(int code) {
    int kind = code & 0xff;
    return kind == SQLITE_FULL || kind == SQLITE_IOERR || kind == SQLITE_CORRUPT ||
           kind == SQLITE_NOTADB;
}

static const char *explain(int code) {
    switch (code & 0xff) {
    case SQLITE_FULL:
        return "the disk is full";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another program has locked it";
    case SQLITE_CORRUPT:
        return "it is damaged";
    case SQLITE_NOTADB:
        return "it is not a SQLite file, or damaged";
    default:
        return sqlite3_errstr(code);
    }
}

/* Records the failure `code` of the last call. */
static kg_status fail(kg_database *database, int code, kg_error *error) {
    int kind = code & 0xff;
    if (kind == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
        return kg__fail_memory(error);
    bool is_damage = kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB;
    kg_status status = is_damage ? KG_BAD_INPUT : KG_SYSTEM;
    const char *detail = kind == SQLITE_ERROR ? sqlite3_errmsg(database->sqlite) : explain(code);
    int cause = sqlite3_system_errno(database->sqlite);
    bool has_cause = cause != 0 && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN);
    kg_error found = {0};
    kg__record(&found, status, database->path, 0, 0, "%s%s%s%s",
               code == SQLITE_IOERR_FSYNC ? "cannot sync it to the disk: " : "", detail,
               has_cause ? ": " : "", has_cause ? strerror(cause) : "");
    if (is_final(code) && !atomic_load(&database->has_failed)) {
        database->failure = found;
        atomic_store(&database->has_failed, true);
    }
    if (error != NULL)
        *error = found;
    return status;
}

static kg_status check(kg_database *database, int code, kg_error *error) {
    return code == SQLITE_OK || code == SQLITE_DONE ? KG_OK : fail(database, code, error);
}

const kg_error *kg__database_failure(const kg_database *database) {
    return atomic_load(&database->has_failed) ? &database->failure : NULL;
}

/* ---- Opening ---- */

static int note_log_pages(void *payload, sqlite3 *sqlite, const char *name, int pages) {
    (void)sqlite;
    (void)name;
    kg_database *database = payload;
    database->log_pages = (size_t)pages;
    return SQLITE_OK;
}

static int is_log_mode(void *payload, int count, char **values, char **names) {
    (void)names;
    bool *out = payload;
    *out = count == 1 && values[0] != NULL && strcmp(values[0], "wal") == 0;
    return 0;
}

static kg_status configure(kg_database *database, kg_error *error) {
    sqlite3_busy_timeout(database->sqlite, PATIENCE);
    sqlite3_db_config(database->sqlite, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(database->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    /* Temporary data stay in memory: they may hold what is to leave no trace. */
    return kg__database_script(database,
                               "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                               "PRAGMA temp_store = MEMORY; PRAGMA synchronous = FULL;",
                               error);
}

static kg_status open_file(kg_database *database, const char *name, int flags, kg_error *error) {
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    return check(database, sqlite3_open_v2(name, &database->sqlite, flags, NULL), error);
}

/* Whether nobody can write to it, and it is all there: the file system is read-only, and there is
 * no write-ahead log with anything in it. */
static bool is_frozen(const kg_database *database) {
    struct statvfs system;
    struct stat log;
    const char *path = sqlite3_filename_wal(sqlite3_db_filename(database->sqlite, "main"));
    return statvfs(database->path, &system) == 0 && (system.f_flag & ST_RDONLY) != 0 &&
           (stat(path, &log) != 0 || log.st_size == 0);
}

/* The file as a URI that says so; NULL if memory is short. */
static char *frozen_uri(const char *path) {
    size_t size = 3 * strlen(path) + 32;
    char *uri = kg__alloc(size, 1);
    if (uri == NULL)
        return NULL;
    size_t length = (size_t)snprintf(uri, size, *path == '/' ? "file://" : "file:");
    for (; *path != '\0'; path++)
        length += (size_t)snprintf(uri + length, size - length,
                                   isalnum((unsigned char)*path) || *path == '/' ? "%c" : "%%%02x",
                                   (unsigned char)*path);
    snprintf(uri + length, size - length, "?immutable=1");
    return uri;
}

/* To read, SQLite needs an index of the write-ahead log, which cannot be made on a read-only file
 * system, unless it is told that there will be no log. */
static kg_status open_frozen(kg_database *database, kg_error *error) {
    int code = sqlite3_exec(database->sqlite, "PRAGMA schema_version", NULL, NULL, NULL);
    if ((code & 0xff) != SQLITE_CANTOPEN || !is_frozen(database))
        return KG_OK; /* what reads next fails, if this did */
    char *uri = frozen_uri(database->path);
    if (uri == NULL)
        return kg__fail_memory(error);
    sqlite3_close(database->sqlite);
    database->sqlite = NULL;
    kg_status status = open_file(database, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, error);
    kg__free(uri);
    return status;
}

kg_status kg__database_open(kg_database **out, const char *path, kg_database_mode mode,
                            const char *const *statements, size_t count, kg_error *error) {
    static const int flags[] = {
        [KG_DATABASE_CREATE] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
        [KG_DATABASE_WRITE] = SQLITE_OPEN_READWRITE,
        [KG_DATABASE_READ] = SQLITE_OPEN_READONLY,
    };
    kg_status status = KG_OK;
    kg_database *database = kg__alloc(1, sizeof *database);
    if (database == NULL)
        return kg__fail_memory(error);
    database->path = kg__copy_string(path, strlen(path));
    database->prepared = kg__alloc(count, sizeof(sqlite3_stmt *));
    database->statements = statements;
    database->count = count;
    if (database->path == NULL || database->prepared == NULL) {
        status = kg__fail_memory(error);
        goto done;
    }
    KG_CHECK(open_file(database, path, flags[mode], error));
    if (mode == KG_DATABASE_READ)
        KG_CHECK(open_frozen(database, error));
    KG_CHECK(configure(database, error));
    *out = database;
    return KG_OK;
done:
    kg__database_close(database);
    return status;
}

kg_status kg__database_start_log(kg_database *database, kg_error *error) {
    bool is_on = false;
    int persist = 1;
    KG_TRY(check(
        database,
        sqlite3_exec(database->sqlite, "PRAGMA journal_mode = WAL", is_log_mode, &is_on, NULL),
        error));
    if (!is_on)
        return kg_fail(error, KG_SYSTEM,
                       "%s: expected a file system with shared memory, as SQLite's write-ahead log "
                       "needs it, found one without",
                       database->path);
    sqlite3_file_control(database->sqlite, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
    sqlite3_wal_hook(database->sqlite, note_log_pages, database); /* no automatic checkpoints */
    return kg__database_script(database,
                               "PRAGMA journal_size_limit = 0; PRAGMA secure_delete = ON;"
                               "PRAGMA cache_size = -65536;",
                               error);
}

#define PIECE 65536

/* Writes what is in a file once more, byte by byte the same, which readers do not notice. */
static int write_again(sqlite3_file *file, char *piece) {
    sqlite3_int64 size = 0;
    int code = file->pMethods->xFileSize(file, &size);
    for (sqlite3_int64 at = 0; at < size && code == SQLITE_OK; at += PIECE) {
        int length = size - at < PIECE ? (int)(size - at) : PIECE;
        code = file->pMethods->xRead(file, piece, length, at);
        if (code == SQLITE_OK)
            code = file->pMethods->xWrite(file, piece, length, at);
    }
    return code != SQLITE_OK || size == 0 ? code : file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

static kg_status renew_log(kg_database *database, kg_error *error) {
    sqlite3_file *log = NULL;
    sqlite3_file_control(database->sqlite, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log == NULL || log->pMethods == NULL)
        return KG_OK;
    char *piece = kg__resize(NULL, PIECE, 1);
    if (piece == NULL)
        return kg__fail_memory(error);
    int code = write_again(log, piece);
    kg__free(piece);
    return check(database, code, error);
}

/* After a sync that failed, the system may hold pages of the log for clean which are not on the
 * disk: later syncs do not write them, so that the next power failure would cut off the log there,
 * and with it what was committed behind them. A checkpoint would not do, which relies on the log
 * while it writes to the file, and which readers may hold up. The transaction keeps others from
 * writing to the log, or starting it over, meanwhile. */
kg_status kg__database_renew_log(kg_database *database, kg_error *error) {
    KG_TRY(kg__database_begin(database, true, error));
    kg_status status = renew_log(database, error);
    kg__database_rollback(database);
    return status;
}

/* After a failed write, the pages in memory and those on disk may differ, so a checkpoint could
 * copy damage into the file: the log is left to be read again by the next process. */
void kg__database_close(kg_database *database) {
    if (database == NULL)
        return;
    for (size_t i = 0; i < database->count && database->prepared != NULL; i++)
        sqlite3_finalize(database->prepared[i]);
    if (kg__database_failure(database) != NULL)
        sqlite3_db_config(database->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(database->sqlite);
    kg__free(database->prepared);
    kg__free(database->path);
    kg__free(database);
}

/* ---- Statements ---- */

kg_status kg__database_script(kg_database *database, const char *sql, kg_error *error) {
    return check(database, sqlite3_exec(database->sqlite, sql, NULL, NULL, NULL), error);
}

int64_t kg__row_integer(const kg_row *row, int column) {
    return sqlite3_column_int64((sqlite3_stmt *)row, column);
}

kg_text kg__row_text(const kg_row *row, int column) {
    sqlite3_stmt *statement = (sqlite3_stmt *)row;
    const char *bytes = (const char *)sqlite3_column_text(statement, column);
    return (kg_text){bytes, (size_t)sqlite3_column_bytes(statement, column)};
}

static int bind(sqlite3_stmt *statement, int place, const kg_value *value) {
    if (value->is_integer)
        return sqlite3_bind_int64(statement, place, value->integer);
    if (value->text.bytes == NULL)
        return sqlite3_bind_null(statement, place);
    return sqlite3_bind_text64(statement, place, value->text.bytes, value->text.length,
                               SQLITE_STATIC, SQLITE_UTF8);
}

static kg_status prepare(sqlite3_stmt **out, kg_database *database, size_t number,
                         const kg_value *values, size_t count, kg_error *error) {
    sqlite3_stmt **kept = &database->prepared[number];
    if (*kept == NULL)
        KG_TRY(check(database,
                     sqlite3_prepare_v3(database->sqlite, database->statements[number], -1,
                                        SQLITE_PREPARE_PERSISTENT, kept, NULL),
                     error));
    for (size_t i = 0; i < count; i++)
        KG_TRY(check(database, bind(*kept, (int)i + 1, &values[i]), error));
    *out = *kept;
    return KG_OK;
}

kg_status kg__database_run(kg_database *database, size_t number, const kg_value *values,
                           size_t count, kg_on_row on_row, void *payload, kg_error *error) {
    sqlite3_stmt *statement = NULL;
    kg_status status = KG_OK;
    int code = SQLITE_ROW;
    KG_TRY(prepare(&statement, database, number, values, count, error));
    while (status == KG_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        if (on_row != NULL)
            status = on_row(payload, (const kg_row *)statement, error);
    if (status == KG_OK)
        status = check(database, code, error);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return status;
}

struct number {
    int64_t value;
    bool found;
};

static kg_status take_number(void *payload, const kg_row *row, kg_error *error) {
    (void)error;
    struct number *number = payload;
    if (!number->found && sqlite3_column_type((sqlite3_stmt *)row, 0) != SQLITE_NULL)
        *number = (struct number){kg__row_integer(row, 0), true};
    return KG_OK;
}

kg_status kg__database_number(kg_database *database, int64_t *out, bool *found, size_t statement,
                              const kg_value *values, size_t count, kg_error *error) {
    struct number number = {0};
    kg_status status =
        kg__database_run(database, statement, values, count, take_number, &number, error);
    *found = number.found;
    if (number.found)
        *out = number.value;
    return status;
}

int64_t kg__database_changed(const kg_database *database) {
    return sqlite3_changes64(database->sqlite);
}

int64_t kg__database_last_row(const kg_database *database) {
    return sqlite3_last_insert_rowid(database->sqlite);
}

/* ---- Transactions ---- */

kg_status kg__database_begin(kg_database *database, bool writes, kg_error *error) {
    return kg__database_script(database, writes ? "BEGIN IMMEDIATE" : "BEGIN", error);
}

kg_status kg__database_commit(kg_database *database, kg_error *error) {
    return kg__database_script(database, "COMMIT", error);
}

void kg__database_rollback(kg_database *database) {
    if (!sqlite3_get_autocommit(database->sqlite))
        sqlite3_exec(database->sqlite, "ROLLBACK", NULL, NULL, NULL);
}

size_t kg__database_log_pages(const kg_database *database) {
    return database->log_pages;
}

static int checkpoint(kg_database *database, int mode) {
    return sqlite3_wal_checkpoint_v2(database->sqlite, "main", mode, NULL, NULL);
}

kg_status kg__database_checkpoint(kg_database *database, kg_error *error) {
    int code = checkpoint(database, SQLITE_CHECKPOINT_PASSIVE);
    database->log_pages = 0;
    return (code & 0xff) == SQLITE_BUSY ? KG_OK : check(database, code, error);
}

kg_status kg__database_scrub(kg_database *database, kg_error *error) {
    KG_TRY(kg__database_script(database, "VACUUM", error));
    return check(database, checkpoint(database, SQLITE_CHECKPOINT_TRUNCATE), error);
}
