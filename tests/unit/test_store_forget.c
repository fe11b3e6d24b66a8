/* What a store forgets leaves no trace in its files; and idempotency keys are forgotten in time. */
#define _GNU_SOURCE
#include "support.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_lock.h"
#include "some_store.h"

static bool has_bytes(const char *path, const char *word) {
    size_t size = 0;
    char *bytes = read_file(path, &size);
    bool found = memmem(bytes, size, word, strlen(word)) != NULL;
    free(bytes);
    return found;
}

static bool store_has_bytes(const char *word) {
    bool found = false;
    DIR *dir = opendir(STORE);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[512];
        snprintf(path, sizeof path, STORE "/%s", entry->d_name);
        found = found || (entry->d_type == DT_REG && has_bytes(path, word));
    }
    closedir(dir);
    return found;
}

static void change_names(kg_store *store, kg_operation operation, const char *prefix, size_t from,
                         size_t to) {
    kg_transaction *transaction = NULL;
    kg_error error = {0};
    assert_ok(kg__store_begin(&transaction, store, NULL, 0, &error), &error);
    for (size_t i = from; i < to; i++) {
        char name[64];
        snprintf(name, sizeof name, "%zu-%s", i * 7919 % 1000, prefix);
        kg_text fact[3] = {{name, strlen(name)}, {"r0", 2}, {"e0", 2}};
        assert_ok(kg__store_change(transaction, operation, fact, &error), &error);
    }
    assert_ok(kg__store_commit(transaction, NULL, &error), &error);
}

static void test_forget(void **state) {
    (void)state;
    twin_store twin;
    kg_forgotten found;
    kg_error error = {0};
    make_store(&twin);
    kg_store *store = open_store(KG_STORE_WRITE);
    for (size_t i = 0; i < 900; i += 30) {
        change_names(store, KG_ADD, "kept", i, i + 30);
        change_names(store, KG_ADD, "secret", i, i + 30);
        if (i >= 300)
            change_names(store, KG_REMOVE, "secret", i - 300, i - 270);
    }
    change_names(store, KG_REMOVE, "secret", 600, 900);
    assert_true(store_has_bytes("secret"));
    assert_ok(kg__store_forget(store, &found, &error), &error);
    assert_int_equal(found.entries, 2 * 900);
    assert_int_equal(found.in_base, 0);
    assert_false(store_has_bytes("secret"));
    assert_true(store_has_bytes("kept"));
    kg__store_close(store);
    assert_false(store_has_bytes("secret"));
}

/* A generation that was frozen with the fact is given up, unless somebody trains it. */
static void test_unfinished(void **state) {
    (void)state;
    twin_store twin;
    kg_store_state before;
    kg_forgotten found;
    kg_error error = {0};
    int lock = -1;
    make_store(&twin);
    kg_store *store = open_store(KG_STORE_WRITE);
    change_names(store, KG_ADD, "secret", 0, 1);
    assert_ok(kg__store_freeze(store, &before, &error), &error);
    assert_ok(kg__store_forget(store, &found, &error), &error); /* all of it is live */
    assert_false(found.gave_up);
    change_names(store, KG_REMOVE, "secret", 0, 1);
    commit_one(store, KG_REMOVE, 0, NULL, 0);
    assert_int_equal(mkdir(STORE "/generation-2.training", 0777), 0);
    write_file(STORE "/generation-2.training/checkpoint.safetensors", TEXT("secret"));
    assert_ok(kg__lock(&lock, STORE "/generation-1", &error), &error);
    assert_status(kg__store_forget(store, &found, &error), KG_BAD_INPUT, &error);
    assert_non_null(strstr(error.message, "found a compaction at work"));
    kg__unlock(lock);
    assert_true(file_exists(STORE "/generation-2.training"));
    assert_ok(kg__store_forget(store, &found, &error), &error);
    assert_true(found.gave_up);
    assert_int_equal(found.in_base, 1);
    assert_false(file_exists(STORE "/generation-2.training"));
    assert_false(store_has_bytes("secret"));
    assert_ok(kg__store_freeze(store, &before, &error), &error);
    assert_int_equal(before.frozen, before.last); /* anew */
    kg__store_close(store);
}

/* Who reads holds it up for a while; the second time it does the rest. */
static void test_held_up(void **state) {
    (void)state;
    twin_store twin;
    kg_forgotten found;
    sqlite3 *reader = NULL;
    kg_error error = {0};
    make_store(&twin);
    kg_store *store = open_store(KG_STORE_WRITE);
    change_names(store, KG_ADD, "secret", 0, 1);
    change_names(store, KG_REMOVE, "secret", 0, 1);
    assert_int_equal(sqlite3_open(STORE "/graph.db", &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM log", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_status(kg__store_forget(store, &found, &error), KG_SYSTEM, &error);
    assert_int_equal(found.entries, 2);
    assert_non_null(strstr(error.message, "gone from the log, but the file has traces"));
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    assert_ok(kg__store_forget(store, &found, &error), &error);
    assert_int_equal(found.entries, 0);
    assert_false(store_has_bytes("secret"));
    kg__store_close(store);
}

/* ---- Keys ---- */

#define DAY "86400000"

static bool has_source(kg_store *store, const char *name) {
    int64_t offset = 0;
    bool found = false;
    assert_ok(kg__store_read_offset(store, &offset, &found, name, NULL), NULL);
    return found;
}

/* How many of the old keys are there. */
static size_t count_keys(kg_store *store, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, KG_KEY_PREFIX "%zu", i);
        found += has_source(store, key);
    }
    return found;
}

static void make_older(const char *sql) {
    sqlite3 *writer = NULL;
    assert_int_equal(sqlite3_open(STORE "/graph.db", &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

static void test_keys(void **state) {
    (void)state;
    static const char *const others[] = {"idempotency", "idempotency;", "IDEMPOTENCY:a", "s"};
    twin_store twin;
    make_store(&twin);
    kg_store *store = open_store(KG_STORE_WRITE);
    for (size_t i = 0; i < 250; i++) {
        char key[32];
        snprintf(key, sizeof key, KG_KEY_PREFIX "%zu", i);
        commit_one(store, KG_ADD, i % FACTS, key, 7);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++)
        commit_one(store, KG_ADD, i, others[i], 7);
    commit_one(store, KG_ADD, 0, KG_KEY_PREFIX "young", 7);
    make_older("UPDATE sources SET time = time - " DAY " - 1;"
               "UPDATE sources SET time = time + 60000 WHERE name = 'idempotency:young'");
    commit_one(store, KG_ADD, 0, "s", 8);
    assert_int_equal(commit_one(store, KG_ADD, 0, KG_KEY_PREFIX "0", 7).skipped, 1);
    assert_int_equal(count_keys(store, 250), 250);
    commit_one(store, KG_ADD, 0, KG_KEY_PREFIX "new", 7);
    assert_int_equal(count_keys(store, 250), 150);
    commit_one(store, KG_ADD, 0, KG_KEY_PREFIX "newer", 7);
    commit_one(store, KG_ADD, 0, KG_KEY_PREFIX "newest", 7);
    assert_int_equal(count_keys(store, 250), 0);
    assert_true(has_source(store, KG_KEY_PREFIX "young") && has_source(store, KG_KEY_PREFIX "new"));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_true(has_source(store, others[i]));
    assert_int_equal(commit_one(store, KG_ADD, 0, KG_KEY_PREFIX "0", 7).skipped, 0);
    assert_int_equal(commit_one(store, KG_ADD, 0, KG_KEY_PREFIX "young", 7).skipped, 1);
    kg__store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_forget),
        test_in_folder(test_unfinished),
        test_in_folder(test_held_up),
        test_in_folder(test_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
