/* What a store forgets leaves no trace in its files. */
#define _GNU_SOURCE
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    uint64_t removed = 0;
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
    assert_ok(kg__store_forget(store, &removed, &error), &error);
    assert_int_equal(removed, 2 * 900);
    assert_false(store_has_bytes("secret"));
    assert_true(store_has_bytes("kept"));
    kg__store_close(store);
    assert_false(store_has_bytes("secret"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
