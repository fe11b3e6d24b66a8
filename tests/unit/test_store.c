/* Stores hold the live facts: random transactions against a plain twin, through closing, forgetting
 * and new generations; the order of changes does not matter; many threads commit; a second writer
 * is refused, and readers do not wait for the one that there is. */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "some_store.h"

/* ---- Against the twin ---- */

#define STEPS (IS_SANITIZED ? 300 : 1500)

/* All that the random test knows. */
struct trial {
    kg_store *store;
    twin_store twin;
    bool frozen[FACTS];
    int64_t generation;
    int64_t next;
    int64_t last;       /* changes that took effect */
    int64_t offset;     /* of the source "s" */
    bool logged[FACTS]; /* facts that the log has an entry of */
    uint64_t random;
};

static void change_some(struct trial *trial, kg_transaction *transaction, bool live[FACTS],
                        kg_commit_counts *expected) {
    kg_error error = {0};
    for (size_t n = next_below(&trial->random, 8); n > 0; n--) {
        size_t i = next_below(&trial->random, FACTS);
        bool adds = next_below(&trial->random, 2) == 0;
        assert_ok(kg__store_change(transaction, adds ? KG_ADD : KG_REMOVE, fact_names(i), &error),
                  &error);
        if (live[i] == adds)
            (*(adds ? &expected->present : &expected->absent))++;
        else
            (*(adds ? &expected->added : &expected->removed))++;
        trial->logged[i] = trial->logged[i] || live[i] != adds;
        live[i] = adds;
    }
}

static void commit_some(struct trial *trial) {
    bool live[FACTS];
    bool logged[FACTS];
    kg_transaction *transaction = NULL;
    kg_commit_counts expected = {0};
    kg_commit_counts counts = {0};
    kg_error error = {0};
    bool has_source = next_below(&trial->random, 2) == 0;
    int64_t offset = trial->offset + (int64_t)next_below(&trial->random, 4) - 1;
    bool is_replay = has_source && offset <= trial->offset;
    bool is_given_up = next_below(&trial->random, 4) == 0;
    memcpy(live, trial->twin.live, sizeof live);
    memcpy(logged, trial->logged, sizeof logged);
    assert_ok(kg__store_begin(&transaction, trial->store, has_source ? "s" : NULL,
                              offset < 0 ? 0 : offset, &error),
              &error);
    change_some(trial, transaction, live, &expected);
    if (is_given_up || is_replay)
        memcpy(trial->logged, logged, sizeof logged);
    if (is_given_up) {
        kg__store_rollback(transaction);
        return;
    }
    if (is_replay)
        expected = (kg_commit_counts){.skipped = kg__store_change_count(transaction)};
    else
        memcpy(trial->twin.live, live, sizeof live);
    trial->offset = has_source && !is_replay ? offset : trial->offset;
    trial->last += (int64_t)(expected.added + expected.removed);
    expected.last = trial->last;
    assert_ok(kg__store_commit(transaction, &counts, &error), &error);
    assert_memory_equal(&counts, &expected, sizeof counts);
}

static kg_status mark(void *payload, kg_operation operation, const kg_text fact[3],
                      kg_error *error) {
    (void)error;
    bool *facts = payload;
    size_t i = fact_number(fact);
    assert_int_equal(facts[i], operation == KG_REMOVE);
    facts[i] = operation == KG_ADD;
    return KG_OK;
}

/* Starts the next generation, or trains it and switches, or gives it up. */
static void go_on(struct trial *trial) {
    kg_error error = {0};
    kg_store_state state = {0};
    if (trial->next == 0) {
        assert_ok(kg__store_freeze(trial->store, &state, &error), &error);
        trial->next = trial->generation + 1;
        memcpy(trial->frozen, trial->twin.live, sizeof trial->frozen);
        assert_int_equal(state.next, trial->next);
        assert_int_equal(state.frozen, trial->last);
        return;
    }
    assert_ok(kg__store_freeze(trial->store, &state, &error), &error); /* changes nothing */
    if (next_below(&trial->random, 3) == 0) {
        assert_ok(kg__store_thaw(trial->store, &error), &error);
        trial->next = 0;
        return;
    }
    bool facts[FACTS];
    memcpy(facts, trial->twin.base, sizeof facts);
    assert_ok(kg__store_read_frozen(trial->store, mark, facts, &error), &error);
    assert_memory_equal(facts, trial->frozen, sizeof facts);
    char *path = kg__store_generation_path(trial->store, trial->next);
    write_base_model(path, facts);
    assert_ok(kg__store_switch(trial->store, NULL, &error), &error);
    assert_true(file_exists(path));
    kg__free(path);
    path = kg__store_generation_path(trial->store, trial->generation);
    assert_false(file_exists(path));
    kg__free(path);
    memcpy(trial->twin.base, facts, sizeof facts);
    trial->generation = trial->next;
    trial->next = 0;
}

static kg_status follow_log(void *payload, const kg_log_entry *entry, kg_error *error) {
    (void)error;
    bool *logged = payload;
    logged[fact_number(entry->fact)] = true;
    assert_true(entry->time > 0);
    return KG_OK;
}

static void check_log(const struct trial *trial, kg_store *store) {
    bool logged[FACTS] = {false};
    kg_error error = {0};
    assert_ok(kg__store_read_log(store, 0, NULL, follow_log, logged, &error), &error);
    assert_memory_equal(logged, trial->logged, sizeof logged);
}

static void forget_some(struct trial *trial) {
    kg_forgotten found;
    kg_error error = {0};
    bool is_held = false;
    for (size_t i = 0; i < FACTS; i++)
        is_held = is_held || (trial->next != 0 && trial->frozen[i] && !trial->twin.live[i]);
    assert_ok(kg__store_forget(trial->store, &found, &error), &error);
    assert_int_equal(found.gave_up, is_held);
    trial->next = is_held ? 0 : trial->next;
    for (size_t i = 0; i < FACTS; i++)
        trial->logged[i] = trial->logged[i] && trial->twin.live[i];
}

static void check_all(struct trial *trial, kg_store *store) {
    kg_store_state state = {0};
    kg_error error = {0};
    int64_t offset = -1;
    bool found = false;
    assert_changes(store, &trial->twin);
    check_log(trial, store);
    assert_ok(kg__store_read_state(store, &state, &error), &error);
    assert_int_equal(state.generation, trial->generation);
    assert_int_equal(state.next, trial->next);
    assert_int_equal(state.last, trial->last);
    assert_ok(kg__store_read_offset(store, &offset, &found, "s", &error), &error);
    assert_int_equal(offset, trial->offset);
    assert_int_equal(found, trial->offset >= 0);
}

static void test_twin(void **state) {
    (void)state;
    struct trial trial = {.generation = 1, .offset = -1, .random = 1};
    make_store(&trial.twin);
    trial.store = open_store(KG_STORE_WRITE);
    kg_store *reader = open_store(KG_STORE_READ);
    for (size_t step = 0; step < STEPS; step++) {
        uint64_t choice = next_below(&trial.random, 100);
        if (choice < 90)
            commit_some(&trial);
        else if (choice < 94)
            go_on(&trial);
        else if (choice < 96)
            forget_some(&trial);
        else {
            kg__store_close(trial.store);
            trial.store = open_store(KG_STORE_WRITE);
        }
        if (step % 8 == 0)
            check_all(&trial, step % 16 == 0 ? trial.store : reader);
    }
    assert_true(trial.generation > 3);
    kg__store_close(trial.store);
    check_all(&trial, reader);
    kg__store_close(reader);
}

/* ---- Order ---- */

static kg_status print_change(void *payload, kg_operation operation, const kg_text fact[3],
                              kg_error *error) {
    (void)error;
    fprintf(payload, "%c %.*s %.*s %.*s\n", (char)operation, (int)fact[0].length, fact[0].bytes,
            (int)fact[1].length, fact[1].bytes, (int)fact[2].length, fact[2].bytes);
    return KG_OK;
}

static char *show_changes(kg_store *store) {
    char *out = NULL;
    size_t size = 0;
    kg_error error = {0};
    FILE *stream = open_memstream(&out, &size);
    assert_ok(kg__store_read_changes(store, NULL, print_change, stream, &error), &error);
    fclose(stream);
    return out;
}

/* The changes between two bases in a random order, in batches of a random size, with detours. */
static char *change_in_some_order(const char *path, const bool wanted[FACTS], uint64_t *random) {
    size_t order[FACTS];
    kg_store *store = NULL;
    kg_error error = {0};
    assert_ok(kg__store_create(path, "model", &error), &error);
    assert_ok(kg__store_open(&store, path, KG_STORE_WRITE, &error), &error);
    for (size_t i = 0; i < FACTS; i++) {
        size_t j = next_below(random, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < FACTS;) {
        kg_transaction *transaction = NULL;
        assert_ok(kg__store_begin(&transaction, store, NULL, 0, &error), &error);
        for (size_t n = 1 + next_below(random, 20); n > 0 && i < FACTS; n--, i++) {
            kg_operation operation = wanted[order[i]] ? KG_ADD : KG_REMOVE;
            kg_operation opposite = wanted[order[i]] ? KG_REMOVE : KG_ADD;
            if (next_below(random, 3) == 0)
                assert_ok(kg__store_change(transaction, opposite, fact_names(order[i]), &error),
                          &error);
            assert_ok(kg__store_change(transaction, operation, fact_names(order[i]), &error),
                      &error);
        }
        assert_ok(kg__store_commit(transaction, NULL, &error), &error);
    }
    char *out = show_changes(store);
    kg__store_close(store);
    return out;
}

static void test_order(void **state) {
    (void)state;
    twin_store twin;
    uint64_t random = 5;
    bool wanted[FACTS];
    make_store(&twin);
    for (size_t i = 0; i < FACTS; i++)
        wanted[i] = next_below(&random, 2) == 0;
    char *first = change_in_some_order("one", wanted, &random);
    char *second = change_in_some_order("two", wanted, &random);
    assert_true(strlen(first) > 0);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

/* ---- Threads ---- */

#define WRITERS 6
#define COMMITS (IS_SANITIZED ? 20 : 60)

struct writer {
    kg_store *store;
    size_t number;
    uint64_t added;
    kg_status status;
    pthread_t thread;
};

/* Adds facts of its own, one a transaction, and one that all add. */
static void *write_facts(void *payload) {
    struct writer *writer = payload;
    for (size_t i = 0; i < COMMITS && writer->status == KG_OK; i++) {
        char name[32];
        kg_transaction *transaction = NULL;
        kg_commit_counts counts = {0};
        snprintf(name, sizeof name, "new-%zu-%zu", writer->number, i);
        kg_text own[3] = {{name, strlen(name)}, {"r0", 2}, {"e0", 2}};
        kg_text common[3] = {{"common", 6}, {"r0", 2}, {"e0", 2}};
        writer->status = kg__store_begin(&transaction, writer->store, NULL, 0, NULL);
        if (writer->status == KG_OK)
            writer->status = kg__store_change(transaction, KG_ADD, own, NULL);
        if (writer->status == KG_OK)
            writer->status = kg__store_change(transaction, KG_ADD, common, NULL);
        if (writer->status == KG_OK)
            writer->status = kg__store_commit(transaction, &counts, NULL);
        writer->added += counts.added;
    }
    return NULL;
}

static kg_status count_change(void *payload, kg_operation operation, const kg_text fact[3],
                              kg_error *error) {
    (void)fact;
    (void)error;
    assert_int_equal(operation, KG_ADD);
    ++*(size_t *)payload;
    return KG_OK;
}

static void test_threads(void **state) {
    (void)state;
    twin_store twin;
    struct writer writers[WRITERS];
    uint64_t added = 0;
    size_t found = 0;
    kg_error error = {0};
    make_store(&twin);
    kg_store *store = open_store(KG_STORE_WRITE);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.store = store, .number = i};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_facts, &writers[i]), 0);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
        assert_int_equal(writers[i].status, KG_OK);
        added += writers[i].added;
    }
    assert_int_equal(added, WRITERS * COMMITS + 1);
    assert_ok(kg__store_read_changes(store, NULL, count_change, &found, &error), &error);
    assert_int_equal(found, added);
    kg__store_close(store);
}

/* ---- One writer ---- */

static void test_one_writer(void **state) {
    (void)state;
    twin_store twin;
    kg_store *second = NULL;
    kg_error error = {0};
    char expected[128];
    make_store(&twin);
    kg_store *store = open_store(KG_STORE_WRITE);
    snprintf(expected, sizeof expected,
             STORE ": another process is writing it: 'process %d (test_store)'", (int)getpid());
    pid_t child = fork();
    if (child == 0) {
        char found[KG_ERROR_TEXT_MAX];
        kg_status status = kg__store_open(&second, STORE, KG_STORE_WRITE, &error);
        kg__error_text(found, sizeof found, &error);
        _exit(status == KG_BAD_INPUT && strcmp(found, expected) == 0 ? 0 : 1);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    assert_status(kg__store_open(&second, STORE, KG_STORE_WRITE, &error), KG_BAD_INPUT, &error);
    kg_store *reader = open_store(KG_STORE_READ);
    commit_one(store, KG_ADD, 1, NULL, 0);
    twin.live[1] = true;
    assert_changes(reader, &twin);
    kg__store_close(store);
    assert_ok(kg__store_open(&second, STORE, KG_STORE_WRITE, &error), &error);
    kg__store_close(second);
    assert_changes(reader, &twin);
    kg__store_close(reader);
}

static kg_status write_while_reading(void *payload, kg_operation operation, const kg_text fact[3],
                                     kg_error *error) {
    (void)operation;
    (void)error;
    commit_one(payload, KG_ADD, (fact_number(fact) + 1) % FACTS, NULL, 0);
    return KG_OK;
}

/* A reader's view stays as it was when it began, and the writer does not wait for it. */
static void test_view(void **state) {
    (void)state;
    twin_store twin;
    kg_store_state seen = {0};
    kg_error error = {0};
    make_store(&twin);
    kg_store *store = open_store(KG_STORE_WRITE);
    kg_store *reader = open_store(KG_STORE_READ);
    commit_one(store, KG_ADD, 70, NULL, 0);
    assert_ok(kg__store_read_changes(reader, &seen, write_while_reading, store, &error), &error);
    assert_int_equal(seen.last, 1);
    twin.live[70] = twin.live[71] = true;
    assert_changes(reader, &twin);
    kg__store_close(reader);
    kg__store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_twin),       test_in_folder(test_order), test_in_folder(test_threads),
        test_in_folder(test_one_writer), test_in_folder(test_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
