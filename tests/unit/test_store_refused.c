/* What a store refuses: names, offsets and generations that are wrong, folders of others, other
 * versions but for older ones, which are brought up to date, and damaged files. */
#define _GNU_SOURCE
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "some_store.h"
#include "store/backup.h"
#include "store/failed_stores.h"
#include "store/schema.h"

/* ---- Arguments and folders ---- */

static void test_refused(void **state) {
    (void)state;
    twin_store twin;
    kg_store *store = NULL;
    kg_transaction *transaction = NULL;
    kg_error error = {0};
    assert_status(kg__store_open(&store, STORE, KG_STORE_READ, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, STORE ": expected a store (a folder with graph.db), found none");
    assert_status(kg__store_create(STORE, "model", &error), KG_BAD_INPUT, &error);
    assert_false(file_exists(STORE));
    make_store(&twin);
    assert_status(kg__store_create(STORE, "model", &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, STORE ": expected a new name, found a store");
    assert_status(kg__store_create("model", "model", &error), KG_BAD_INPUT, &error);
    store = open_store(KG_STORE_READ);
    assert_status(kg__store_begin(&transaction, store, NULL, 0, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, STORE ": it was opened for reading only");
    kg__store_close(store);
    store = open_store(KG_STORE_WRITE);
    assert_ok(kg__store_begin(&transaction, store, NULL, 0, &error), &error);
    static const text wrong[] = {TEXT_FIELD(""), TEXT_FIELD("a\tb"), TEXT_FIELD("a\nb"),
                                 TEXT_FIELD("a\0b")};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        for (size_t k = 0; k < 3; k++) {
            kg_text fact[3] = {{"a", 1}, {"b", 1}, {"\xff", 1}};
            fact[k] = (kg_text){wrong[i].bytes, wrong[i].length};
            assert_status(kg__store_change(transaction, KG_ADD, fact, &error), KG_BAD_INPUT,
                          &error);
        }
    kg__store_rollback(transaction);
    assert_status(kg__store_begin(&transaction, store, "", 0, &error), KG_BAD_INPUT, &error);
    assert_status(kg__store_begin(&transaction, store, "s", -1, &error), KG_BAD_INPUT, &error);
    assert_status(kg__store_switch(store, NULL, &error), KG_BAD_INPUT, &error);
    kg__store_close(store);
}

/* A next generation that was trained on other facts is not switched to. */
static void test_wrong_generation(void **state) {
    (void)state;
    twin_store twin;
    kg_store_state frozen;
    kg_error error = {0};
    make_store(&twin);
    kg_store *store = open_store(KG_STORE_WRITE);
    assert_ok(kg__store_freeze(store, &frozen, &error), &error);
    assert_status(kg__store_switch(store, NULL, &error), KG_BAD_INPUT, &error); /* no directory */
    commit_one(store, KG_ADD, 1, NULL, 0);
    twin.live[1] = true;
    char *path = kg__store_generation_path(store, 2);
    write_base_model(path, twin.live);
    kg__free(path);
    assert_status(kg__store_switch(store, NULL, &error), KG_BAD_INPUT, &error);
    assert_changes(store, &twin);
    kg__store_close(store);
}

/* An older graph.db beside the model of a later generation: nothing is removed. */
static void test_older_database(void **state) {
    (void)state;
    twin_store twin;
    kg_store *store = NULL;
    kg_error error = {0};
    make_store(&twin);
    assert_int_equal(rename(STORE "/generation-1", STORE "/generation-2"), 0);
    assert_status(kg__store_open(&store, STORE, KG_STORE_WRITE, &error), KG_BAD_INPUT, &error);
    assert_true(file_exists(STORE "/generation-2/config.json"));
    assert_int_equal(rename(STORE "/generation-2", STORE "/generation-1"), 0);
    store = open_store(KG_STORE_WRITE);
    assert_changes(store, &twin);
    kg__store_close(store);
}

/* What a killed process left of making a store is replaced; what others put there is not. */
static void test_remains(void **state) {
    (void)state;
    twin_store twin;
    kg_error error = {0};
    make_store(&twin);
    assert_int_equal(rename(STORE "/graph.db", STORE "/graph.db.new"), 0);
    assert_int_equal(unlink(STORE "/generation-1/config.json"), 0);
    assert_ok(kg__store_create(STORE, "model", &error), &error);
    kg_store *store = open_store(KG_STORE_WRITE);
    assert_changes(store, &twin);
    kg__store_close(store);
    assert_int_equal(unlink(STORE "/graph.db"), 0);
    write_file(STORE "/notes", TEXT("mine"));
    assert_status(kg__store_create(STORE, "model", &error), KG_BAD_INPUT, &error);
    assert_file(STORE "/notes", TEXT("mine"));
}

static void (*before_lock)(void); /* called once, by the next flock */

int flock(int fd, int operation) {
    void (*call)(void) = before_lock;
    before_lock = NULL;
    if (call != NULL)
        call();
    return (int)syscall(SYS_flock, fd, operation);
}

static void make_and_fill(void) {
    kg_error error = {0};
    assert_ok(kg__store_create(STORE, "model", &error), &error);
    kg_store *store = open_store(KG_STORE_WRITE);
    commit_one(store, KG_ADD, 1, NULL, 0);
    kg__store_close(store);
}

/* Two make a store of the same name: the second must not replace what the first has by then. */
static void test_made_twice(void **state) {
    (void)state;
    twin_store twin;
    kg_error error = {0};
    make_store(&twin);
    assert_int_equal(rename(STORE, "other"), 0);
    before_lock = make_and_fill;
    assert_status(kg__store_create(STORE, "model", &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, STORE ": expected a new name, found a store");
    twin.live[1] = true;
    kg_store *store = open_store(KG_STORE_READ);
    assert_changes(store, &twin);
    kg__store_close(store);
}

static void lock_other(void) {
    int fd = open(STORE "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0); /* until the process ends */
    write_file(STORE "/graph.db.new", TEXT("half"));
}

/* Nor remove what it is about to make. */
static void test_made_meanwhile(void **state) {
    (void)state;
    twin_store twin;
    kg_error error = {0};
    make_store(&twin);
    assert_int_equal(rename(STORE, "other"), 0);
    before_lock = lock_other;
    assert_status(kg__store_create(STORE, "model", &error), KG_BAD_INPUT, &error);
    assert_non_null(strstr(error.message, "another process is writing it"));
    assert_file(STORE "/graph.db.new", TEXT("half"));
}

/* ---- Copies ---- */

static int syncs_left = INT_MAX; /* before one fails */

int fsync(int fd) {
    if (syncs_left-- > 0)
        return (int)syscall(SYS_fsync, fd);
    errno = EIO;
    return -1;
}

/* A copy is there as a whole, or not at all. */
static void test_backup(void **state) {
    (void)state;
    twin_store twin;
    kg_status status = KG_SYSTEM;
    kg_error error = {0};
    int tries = 0;
    make_store(&twin);
    for (; status != KG_OK; tries++) {
        syncs_left = tries;
        status = kg__store_backup(STORE, "copy", &error);
        syncs_left = INT_MAX;
        assert_int_equal(file_exists("copy"), status == KG_OK);
    }
    assert_true(tries > 3);
    assert_ok(kg__store_backup("copy", "again", &error), &error);
}

/* A file that gets the inode of one that is gone is another one. */
static void test_failed_stores(void **state) {
    (void)state;
    kg_error reason = {.message = "some reason"};
    kg_error found = {0};
    write_file("failed", TEXT("x"));
    int file = kg__failed_stores_identify("failed");
    assert_true(file >= 0);
    assert_false(kg__failed_stores_find(file, &found));
    kg__failed_stores_add(file, &reason);
    assert_int_equal(unlink("failed"), 0);
    assert_true(kg__failed_stores_find(file, &found));
    assert_string_equal(found.message, reason.message);
    close(file);
    for (int i = 0; i < 20; i++) {
        char path[16];
        snprintf(path, sizeof path, "other-%d", i);
        write_file(path, TEXT("y"));
        file = kg__failed_stores_identify(path);
        assert_false(kg__failed_stores_find(file, &found));
        close(file);
    }
}

/* ---- Versions ---- */

static void run_sql(const char *path, const char *sql) {
    sqlite3 *sqlite = NULL;
    assert_int_equal(sqlite3_open(path, &sqlite), SQLITE_OK);
    assert_int_equal(sqlite3_exec(sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(sqlite), SQLITE_OK);
}

static void assert_not_opened(const char *expected) {
    kg_store *store = NULL;
    kg_error error = {0};
    assert_status(kg__store_open(&store, STORE, KG_STORE_WRITE, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, expected);
    assert_status(kg__store_open(&store, STORE, KG_STORE_READ, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, expected);
}

static void test_other_versions(void **state) {
    (void)state;
    twin_store twin;
    make_store(&twin);
    run_sql(STORE "/graph.db", "PRAGMA user_version = 3");
    assert_not_opened(STORE "/graph.db: expected a store of version 2 or older, found version 3 "
                            "(made by a newer kgraft)");
    run_sql(STORE "/graph.db", "PRAGMA user_version = 2; PRAGMA application_id = 3");
    assert_not_opened(STORE "/graph.db: expected a store of kgraft, found another database");
    write_file(STORE "/graph.db", TEXT(""));
    unlink(STORE "/graph.db-wal");
    unlink(STORE "/graph.db-shm");
    assert_not_opened(STORE "/graph.db: expected a store of kgraft, found an empty or damaged "
                            "database");
    assert_file(STORE "/graph.db", TEXT(""));
    write_file(STORE "/graph.db", TEXT("what is this? not a database, but as long as its header "
                                       "is, which has a hundred bytes in all"));
    assert_not_opened(STORE "/graph.db: it is not a SQLite file, or damaged");
}

/* Steps of a format that never was: a second one adds a column, a third fails unless `works`. */
static void test_upgrade(void **state) {
    (void)state;
    const char *const first[] = {"CREATE TABLE t (a); INSERT INTO t VALUES (7);", NULL};
    const char *const broken[] = {first[0], "ALTER TABLE t ADD b DEFAULT 8", "no SQL", NULL};
    const char *const third[] = {first[0], broken[1], "UPDATE t SET b = a + b", NULL};
    const char *const queries[] = {[KG_READ_APPLICATION] = "PRAGMA application_id",
                                   [KG_READ_VERSION] = "PRAGMA user_version",
                                   [KG_COUNT_TABLES] = "SELECT count(*) FROM sqlite_schema",
                                   [KG_STATEMENTS] = "SELECT b FROM t"};
    kg_database *database = NULL;
    kg_error error = {0};
    int64_t value = 0;
    bool found = false;
    assert_ok(kg__database_open(&database, "old.db", KG_DATABASE_CREATE, queries, COUNT_OF(queries),
                                &error),
              &error);
    assert_status(kg__schema_upgrade(database, first, "old.db", &error), KG_BAD_INPUT, &error);
    assert_ok(kg__schema_make(database, first, "old.db", &error), &error);
    assert_status(kg__schema_make(database, first, "old.db", &error), KG_BAD_INPUT, &error);
    assert_status(kg__schema_check(database, third, "old.db", &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "old.db: expected a store of version 3, found version 1 (opening it "
                              "for writing, as by kgraft add, brings it up to date)");
    assert_status(kg__schema_upgrade(database, broken, "old.db", &error), KG_SYSTEM, &error);
    assert_ok(kg__schema_check(database, first, "old.db", &error), &error); /* as it was */
    assert_ok(kg__schema_upgrade(database, third, "old.db", &error), &error);
    assert_ok(kg__schema_check(database, third, "old.db", &error), &error);
    assert_ok(kg__database_number(database, &value, &found, KG_STATEMENTS, NULL, 0, &error),
              &error);
    assert_int_equal(value, 15);
    assert_status(kg__schema_upgrade(database, first, "old.db", &error), KG_BAD_INPUT, &error);
    kg__database_close(database);
}

/* Version 1 had sources without a time. */
static void test_version_1(void **state) {
    (void)state;
    twin_store twin;
    kg_store *store = NULL;
    kg_error error = {0};
    int64_t offset = 0;
    bool found = false;
    make_store(&twin);
    run_sql(STORE "/graph.db", "DROP INDEX keys_by_time; ALTER TABLE sources DROP COLUMN time;"
                               "INSERT INTO sources VALUES ('idempotency:a', 3), ('s', 4);"
                               "PRAGMA user_version = 1");
    assert_status(kg__store_open(&store, STORE, KG_STORE_READ, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, STORE "/graph.db: expected a store of version 2, found version 1 "
                                    "(opening it for writing, as by kgraft add, brings it up to "
                                    "date)");
    store = open_store(KG_STORE_WRITE);
    commit_one(store, KG_ADD, 0, "idempotency:b", 1);
    assert_ok(kg__store_read_offset(store, &offset, &found, "idempotency:a", &error), &error);
    assert_true(found && offset == 3);
    assert_ok(kg__store_read_offset(store, &offset, &found, "s", &error), &error);
    assert_true(found && offset == 4);
    assert_changes(store, &twin);
    kg__store_close(store);
    kg__store_close(open_store(KG_STORE_READ));
}

/* ---- Damage ---- */

static kg_status ignore_entry(void *payload, const kg_log_entry *entry, kg_error *error) {
    (void)payload;
    (void)entry;
    (void)error;
    return KG_OK;
}

static kg_status ignore_change(void *payload, kg_operation operation, const kg_text fact[3],
                               kg_error *error) {
    (void)payload;
    (void)operation;
    (void)error;
    for (int i = 0; i < 3; i++)
        assert_true(fact[i].length > 0 && memchr(fact[i].bytes, '\t', fact[i].length) == NULL);
    return KG_OK;
}

/* Rows that SQLite has and this program could not have made. The schema is written anew without
 * what keeps them out. */
#define HOSTILE_CHANGES                                                                       \
    "DROP TABLE changes; CREATE TABLE changes (generation, head, relation, tail, operation);" \
    "INSERT INTO changes VALUES (%d, %s, %s, %s, %s);"

static void assert_refused(kg_status status, const kg_error *error) {
    assert_status(status, KG_BAD_INPUT, error);
    assert_non_null(strstr(error->message, "expected"));
}

static void test_hostile_rows(void **state) {
    (void)state;
    static const char *const rows[][4] = {{"'a'", "'r0'", "'e1'", "NULL"},
                                          {"NULL", "'r0'", "'e1'", "'A'"},
                                          {"x'00'", "'r0'", "'e1'", "'A'"},
                                          {"x''", "'r0'", "'e1'", "'A'"},
                                          {"'a'", "'r0'", "'e1'", "x''"}};
    twin_store twin;
    kg_store_state frozen;
    kg_error error = {0};
    make_store(&twin);
    kg_store *store = open_store(KG_STORE_WRITE);
    assert_ok(kg__store_freeze(store, &frozen, &error), &error);
    char *path = kg__store_generation_path(store, 2);
    write_base_model(path, twin.live);
    kg__free(path);
    kg__store_close(store);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (int generation = 1; generation <= 2; generation++) {
            char sql[512];
            snprintf(sql, sizeof sql, HOSTILE_CHANGES, generation, rows[i][0], rows[i][1],
                     rows[i][2], rows[i][3]);
            run_sql(STORE "/graph.db", sql);
            store = open_store(KG_STORE_WRITE);
            assert_refused(generation == 1
                               ? kg__store_read_changes(store, NULL, ignore_change, NULL, &error)
                               : kg__store_switch(store, NULL, &error),
                           &error);
            kg__store_close(store);
        }
}

static kg_status ignore_source(void *payload, kg_text name, int64_t offset, kg_error *error) {
    (void)payload;
    (void)offset;
    (void)error;
    assert_non_null(name.bytes);
    return KG_OK;
}

static void test_hostile_state(void **state) {
    (void)state;
    twin_store twin;
    kg_store *store = NULL;
    kg_error error = {0};
    make_store(&twin);
    run_sql(STORE "/graph.db", "DROP TABLE sources; CREATE TABLE sources (name, offset);"
                               "INSERT INTO sources VALUES (NULL, 1);");
    store = open_store(KG_STORE_READ);
    assert_refused(kg__store_read_sources(store, ignore_source, NULL, &error), &error);
    kg__store_close(store);
    run_sql(STORE "/graph.db", "UPDATE generations SET number = 9223372036854775807");
    assert_refused(kg__store_open(&store, STORE, KG_STORE_WRITE, &error), &error);
}

/* Works, or says what is wrong; in a process of its own, since a store found to be damaged stays
 * read-only. */
static int use_damaged(void) {
    kg_store *store = NULL;
    kg_transaction *transaction = NULL;
    kg_error error = {0};
    kg_status status = kg__store_open(&store, STORE, KG_STORE_WRITE, &error);
    if (status == KG_OK)
        status = kg__store_read_changes(store, NULL, ignore_change, NULL, &error);
    if (status == KG_OK)
        status = kg__store_read_log(store, 0, NULL, ignore_entry, NULL, &error);
    if (status == KG_OK)
        status = kg__store_begin(&transaction, store, "s", 1, &error);
    if (status == KG_OK)
        status = kg__store_change(transaction, KG_ADD, fact_names(71), &error);
    if (status == KG_OK)
        status = kg__store_commit(transaction, NULL, &error);
    else
        kg__store_rollback(transaction);
    kg__store_close(store);
    return status == KG_OK || error.message[0] != '\0' ? 0 : 1;
}

static void test_damage(void **state) {
    (void)state;
    twin_store twin;
    uint64_t random = 3;
    size_t size = 0;
    make_store(&twin);
    kg_store *store = open_store(KG_STORE_WRITE);
    for (size_t i = 0; i < 30; i++)
        commit_one(store, i % 3 == 0 ? KG_REMOVE : KG_ADD, i, "s", (int64_t)i);
    kg__store_close(store);
    char *bytes = read_file(STORE "/graph.db", &size);
    for (size_t n = 0; n < (IS_SANITIZED ? 40 : 150); n++) {
        char *copy = must_allocate(size, 1);
        memcpy(copy, bytes, size);
        size_t kept = n % 5 == 0 ? next_below(&random, size) : size;
        for (size_t k = 1 + next_below(&random, 4); k > 0; k--)
            copy[next_below(&random, size)] ^= (char)(1 + next_below(&random, 255));
        unlink(STORE "/graph.db-wal");
        unlink(STORE "/graph.db-shm");
        write_file(STORE "/graph.db", (text){copy, kept});
        free(copy);
        int result = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(use_damaged());
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_int_equal(result, 0);
    }
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_refused),        test_in_folder(test_wrong_generation),
        test_in_folder(test_older_database), test_in_folder(test_remains),
        test_in_folder(test_made_twice),     test_in_folder(test_made_meanwhile),
        test_in_folder(test_backup),         test_in_folder(test_failed_stores),
        test_in_folder(test_other_versions), test_in_folder(test_upgrade),
        test_in_folder(test_version_1),      test_in_folder(test_hostile_rows),
        test_in_folder(test_hostile_state),  test_in_folder(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
