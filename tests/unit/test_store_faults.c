/* Stores on machines that fail: at each of the calls that change files the power fails, the disk is
 * full or a sync fails; other processes are killed at random moments. Whatever happens: what was
 * acknowledged is there, what was not is there as a whole or not at all, a replayed source counts
 * once; and after a failed write nothing is written any more, while reading goes on. */
#define _GNU_SOURCE
#include "support.h"

#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "failing_machine.h"
#include "some_store.h"

/* ---- A script ---- */

/* What is done, step by step, and how the store is after each. */
enum { STEPS = 9, FREEZE = 4, SWITCH = 7, FORGET = 8 };

struct step_state {
    twin_store twin;
    int64_t generation;
    int64_t offset; /* of the source; -1: none */
};

/* Memory that survives the process. */
static struct shared { int done; /* steps that were acknowledged */ } * shared;

/* The changes of step i: some facts, each to be added or removed. */
static size_t step_fact(int step, int k) {
    return (size_t)(step * 17 + k * 5) % FACTS;
}

static kg_operation step_operation(int step, int k) {
    return (step + k) % 3 == 0 ? KG_REMOVE : KG_ADD;
}

#define STEP_CHANGES 5

static void predict(struct step_state states[STEPS + 1]) {
    bool frozen[FACTS];
    for (int i = 1; i <= STEPS; i++) {
        struct step_state *state = &states[i];
        *state = states[i - 1];
        if (i == FREEZE) {
            memcpy(frozen, state->twin.live, sizeof frozen);
        } else if (i == SWITCH) {
            memcpy(state->twin.base, frozen, sizeof frozen);
            state->generation++;
        } else if (i != FORGET) {
            for (int k = 0; k < STEP_CHANGES; k++)
                state->twin.live[step_fact(i, k)] = step_operation(i, k) == KG_ADD;
            state->offset = i;
        }
    }
}

static kg_status commit_step(kg_store *store, int step, kg_error *error) {
    kg_transaction *transaction = NULL;
    KG_TRY(kg__store_begin(&transaction, store, "s", step, error));
    for (int k = 0; k < STEP_CHANGES; k++) {
        kg_status status = kg__store_change(transaction, step_operation(step, k),
                                            fact_names(step_fact(step, k)), error);
        assert_int_equal(status, KG_OK);
    }
    return kg__store_commit(transaction, NULL, error);
}

static kg_status do_step(kg_store *store, int step, const struct step_state *frozen,
                         kg_error *error) {
    kg_store_state state;
    kg_forgotten found;
    if (step == FREEZE)
        return kg__store_freeze(store, &state, error);
    if (step == FORGET)
        return kg__store_forget(store, &found, error);
    if (step != SWITCH)
        return commit_step(store, step, error);
    char *path = kg__store_generation_path(store, 2);
    write_base_model(path, frozen->twin.live);
    kg__free(path);
    return kg__store_switch(store, NULL, error);
}

static bool is_in(kg_store *store, const struct step_state *expected) {
    kg_store_state state = {0};
    kg_error error = {0};
    int64_t offset = -1;
    bool found = false;
    assert_ok(kg__store_read_state(store, &state, &error), &error);
    assert_ok(kg__store_read_offset(store, &offset, &found, "s", &error), &error);
    if (state.generation != expected->generation || offset != expected->offset)
        return false;
    assert_changes(store, &expected->twin);
    return true;
}

/* Does the steps until one fails; returns that one's number, or STEPS + 1. */
static int do_steps(kg_store *store, const struct step_state *states, kg_error *error) {
    for (int i = 1; i <= STEPS; i++) {
        if (do_step(store, i, &states[FREEZE], error) != KG_OK)
            return i;
        shared->done = i;
    }
    return STEPS + 1;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

/* A new store, which has its write-ahead log already. */
static void make_anew(void) {
    kg_error error = {0};
    assert_int_equal(nftw(STORE, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    assert_ok(kg__store_create(STORE, "model", &error), &error);
    kg__store_close(open_store(KG_STORE_WRITE));
    shared->done = 0;
}

static void make_first(struct step_state *first) {
    *first = (struct step_state){.generation = 1, .offset = -1};
    make_store(&first->twin);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
}

/* What the next process finds: all that was acknowledged, and the step after it or not. It can go
 * on: the source is replayed from the beginning. */
static void check_after(const struct step_state *states) {
    kg_error error = {0};
    int done = shared->done;
    kg_store *store = open_store(KG_STORE_WRITE);
    assert_true(is_in(store, &states[done]) || (done < STEPS && is_in(store, &states[done + 1])));
    for (int i = 1; i <= done; i++)
        if (states[i].offset == i)
            assert_ok(commit_step(store, i, &error), &error);
    assert_true(is_in(store, &states[done]) || (done < STEPS && is_in(store, &states[done + 1])));
    kg__store_close(store);
}

/* ---- The power fails ---- */

static int live_until_power_fails(const struct step_state *states, int at, int kept) {
    kg_store *store = NULL;
    kg_error error = {0};
    start_machine(POWER, at, kept);
    if (kg__store_open(&store, STORE, KG_STORE_WRITE, &error) != KG_OK)
        return 1;
    if (do_steps(store, states, &error) != STEPS + 1)
        return 1;
    kg__store_close(store);
    return 0;
}

static int run_next_child(int (*live)(const struct step_state *states, int at, int kind),
                          const struct step_state *states, int at, int kind) {
    int result = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(live(states, at, kind));
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    return WEXITSTATUS(result);
}

static int run_child(int (*live)(const struct step_state *states, int at, int kind),
                     const struct step_state *states, int at, int kind) {
    make_anew();
    return run_next_child(live, states, at, kind);
}

static void test_power(void **state) {
    (void)state;
    struct step_state states[STEPS + 1];
    make_first(&states[0]);
    predict(states);
    for (int kept = 0; kept <= 4; kept += 2) {
        int at = 1;
        for (;; at += IS_SANITIZED ? 11 : 1) {
            int result = run_child(live_until_power_fails, states, at, kept);
            unlink(STORE "/graph.db-shm"); /* memory */
            check_after(states);
            if (result == 0)
                break;
            assert_int_equal(result, POWER_FAILED);
        }

        assert_true(at > 50);
    }
}

/* ---- The disk fails ---- */

/* After a failed write, nothing is written; reading goes on; opening anew does not help. */
static int check_read_only(kg_store *store, const struct step_state *states) {
    static const char expected[] = "read-only until this process ends, since writing it failed: ";
    kg_transaction *transaction = NULL;
    kg_error error = {0};
    int calls = machine_calls();
    if (kg__store_begin(&transaction, store, NULL, 0, &error) != KG_SYSTEM ||
        strncmp(error.message, expected, strlen(expected)) != 0)
        return 2;
    if (!is_in(store, &states[shared->done]))
        return 3;
    kg__store_close(store);
    if (machine_calls() != calls)
        return 4;
    if (kg__store_open(&store, STORE, KG_STORE_WRITE, &error) != KG_SYSTEM)
        return 5;
    if (kg__store_open(&store, STORE, KG_STORE_READ, &error) != KG_OK)
        return 6;
    kg__store_close(store);
    return 0;
}

static int live_with_faults(const struct step_state *states, int at, int kind) {
    kg_store *store = NULL;
    kg_error error = {0};
    start_machine((enum fault)kind, at, 0);
    kg_status status = kg__store_open(&store, STORE, KG_STORE_WRITE, &error);
    if (status != KG_OK)
        return status == KG_SYSTEM && machine_has_failed() ? 0 : 1;
    int failed = do_steps(store, states, &error);
    if (failed <= STEPS)
        return error.status == KG_SYSTEM ? check_read_only(store, states) : 1;
    kg__store_close(store);
    return machine_has_failed() ? 0 : 10; /* a call whose failure does not matter */
}

static void test_faults(void **state) {
    (void)state;
    struct step_state states[STEPS + 1];
    make_first(&states[0]);
    predict(states);
    for (int kind = FULL; kind <= WRITE; kind++)
        for (int at = 1;; at += IS_SANITIZED ? 9 : 2) {
            int result = run_child(live_with_faults, states, at, kind);
            check_after(states);
            if (result == 10)
                break;
            assert_int_equal(result, 0);
        }
}

/* ---- A sync fails, and later the power ---- */

enum { ALONE = 0, BESIDE_A_READER = 10 };

static int live_until_sync_fails(const struct step_state *states, int at, int kind) {
    (void)kind;
    kg_store *store = NULL;
    kg_error error = {0};
    start_machine(SYNC, at, 0);
    if (kg__store_open(&store, STORE, KG_STORE_WRITE, &error) != KG_OK)
        return 1;
    bool is_failed = do_steps(store, states, &error) <= STEPS;
    kg__store_close(store);
    save_disk();
    return is_failed ? 0 : 10;
}

/* Somebody who is in the middle of reading all the time. */
static void start_reading(void) {
    sqlite3 *reader = NULL;
    assert_int_equal(sqlite3_open_v2(STORE "/graph.db", &reader, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM log", NULL, NULL, NULL), SQLITE_OK);
}

/* The power fails at a call, or at the latest when all steps before the one that removes what was
 * forgotten, for which readers have to end, are done. */
static int go_on_until_power_fails(const struct step_state *states, int at, int kind) {
    kg_store *store = NULL;
    kg_error error = {0};
    if (kind >= BESIDE_A_READER)
        start_reading();
    start_machine(POWER, at, kind % 10);
    if (kg__store_open(&store, STORE, KG_STORE_WRITE, &error) != KG_OK)
        return 1;
    if (!is_in(store, &states[shared->done]))
        shared->done++; /* what was not acknowledged: who has it open for writing can rely on it */
    for (int i = shared->done + 1; i < SWITCH; i++) {
        if (do_step(store, i, &states[FREEZE], &error) != KG_OK)
            return 2;
        shared->done = i;
    }
    machine_end();
    return 3;
}

/* Whether a sync failed: the last call that is one may be before `at`. */
static bool fail_twice(const struct step_state *states, int sync, int power, int kind) {
    forget_disk();
    int result = run_child(live_until_sync_fails, states, sync, 0);
    if (result == 10 || shared->done >= SWITCH - 1)
        return false;
    assert_int_equal(result, 0);
    assert_int_equal(run_next_child(go_on_until_power_fails, states, power, kind), POWER_FAILED);
    unlink(STORE "/graph.db-shm"); /* memory */
    check_after(states);
    return true;
}

static void test_sync_then_power(void **state) {
    (void)state;
    static const int kinds[] = {ALONE, ALONE + 2, ALONE + 4, BESIDE_A_READER};
    struct step_state states[STEPS + 1];
    make_first(&states[0]);
    predict(states);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int power = 1; power < 60; power += IS_SANITIZED ? 29 : 19) {
            int sync = 1;
            while (fail_twice(states, sync, power, kinds[i]))
                sync += IS_SANITIZED ? 19 : 6;
            assert_true(sync > 20);
        }
    forget_disk();
}

/* A store that has another path when a sync fails: its folder was moved, or it was opened by a
 * relative path and the working directory is another one. */
enum { MOVED, LEFT };

static int fail_elsewhere(const struct step_state *states, int at, int kind) {
    kg_store *store = NULL;
    kg_transaction *transaction = NULL;
    kg_error error = {0};
    start_machine(NO_FAULT, at, 0);
    if (kg__store_open(&store, STORE, KG_STORE_WRITE, &error) != KG_OK)
        return 1;
    if (kind == MOVED ? rename(STORE, "moved") != 0 : chdir("model") != 0)
        return 2;
    machine_set_fault(SYNC);
    if (commit_step(store, 1, &error) != KG_SYSTEM || !machine_has_failed())
        return 3;
    if (kg__store_begin(&transaction, store, NULL, 0, &error) != KG_SYSTEM)
        return 4;
    if (!is_in(store, &states[0]))
        return 5;
    kg__store_close(store);
    return kg__store_open(&store, kind == MOVED ? "moved" : "../" STORE, KG_STORE_WRITE, &error) ==
                   KG_SYSTEM
               ? 0
               : 6;
}

static void test_fault_elsewhere(void **state) {
    (void)state;
    struct step_state states[STEPS + 1];
    make_first(&states[0]);
    predict(states);
    assert_int_equal(run_child(fail_elsewhere, states, 1, LEFT), 0);
    check_after(states);
    assert_int_equal(run_child(fail_elsewhere, states, 1, MOVED), 0);
    assert_int_equal(rename("moved", STORE), 0);
    check_after(states);
}

/* ---- Killed ---- */

/* Endless steps of a source: what is done is a function of the step's number. */
static void kill_twin(twin_store *twin, int64_t *last, int step) {
    for (int k = 0; k < STEP_CHANGES; k++) {
        size_t i = step_fact(step, k);
        bool adds = step_operation(step, k) == KG_ADD;
        *last += twin->live[i] != adds;
        twin->live[i] = adds;
    }
}

static int live_until_killed(int from) {
    kg_store *store = NULL;
    kg_error error = {0};
    if (kg__store_open(&store, STORE, KG_STORE_WRITE, &error) != KG_OK)
        return 1;
    for (int step = from;; step++) {
        if (commit_step(store, step, &error) != KG_OK)
            return 1;
        if (step > shared->done) /* if not, it is a replay */
            shared->done = step;
    }
}

static void test_killed(void **state) {
    (void)state;
    const char *wanted = getenv("KGRAFT_KILLS");
    int kills = wanted != NULL ? atoi(wanted) : IS_SANITIZED ? 10 : 40;
    struct step_state now;
    int64_t last = 0;
    int step = 0; /* the twin's */
    uint64_t random = 11;
    make_first(&now);
    make_anew();
    for (int n = 0; n < kills; n++) {
        int from = shared->done > 3 ? shared->done - 3 : 1; /* some of it is a replay */
        pid_t child = fork();
        if (child == 0)
            _exit(live_until_killed(from));
        usleep((useconds_t)next_below(&random, 40000));
        assert_int_equal(kill(child, SIGKILL), 0);
        int result = 0;
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_true(WIFSIGNALED(result));
        kg_store *store = open_store(KG_STORE_WRITE);
        kg_store_state found = {0};
        kg_error error = {0};
        int64_t offset = 0;
        bool has_offset = false;
        assert_ok(kg__store_read_offset(store, &offset, &has_offset, "s", &error), &error);
        assert_true(offset == shared->done || offset == shared->done + 1);
        while (step < (int)offset)
            kill_twin(&now.twin, &last, ++step);
        assert_changes(store, &now.twin);
        assert_ok(kg__store_read_state(store, &found, &error), &error);
        assert_int_equal(found.last, last);
        kg__store_close(store);
    }
    assert_true(step > kills / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_power),           test_in_folder(test_faults),
        test_in_folder(test_sync_then_power), test_in_folder(test_fault_elsewhere),
        test_in_folder(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
