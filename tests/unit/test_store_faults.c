/* Stores on machines that fail. A layer below SQLite counts the calls that change files, and at one
 * of them the power fails, the disk is full or a sync fails; other processes are killed at random
 * moments. Whatever happens: what was acknowledged is there, what was not is there as a whole or
 * not at all, a replayed source counts once; and after a failed write nothing is written any more,
 * while reading goes on. */
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
#include "some_store.h"

/* ---- The machine ---- */

enum fault { NO_FAULT, POWER, FULL, SYNC, WRITE };

/* When the power fails, what was not synced is on the disk or not, by sectors. */
#define SECTOR 512

/* A sync writes the pages that were written to since the last one, whether or not that failed:
 * after a failure, the system holds pages for clean that are not on the disk. */
#define PAGE 4096
#define MOST_PAGES 1024

#define MOST_FILES 16
#define POWER_FAILED 42

static struct {
    enum fault fault;
    int at;    /* the call at which it happens, from 1 */
    int calls; /* that change files */
    bool has_happened;
    int kept;        /* of 4 sectors that were not synced */
    uint64_t random; /* for which ones */
    struct synced {
        char path[256];
        char *bytes; /* as they were synced; NULL: the file may not be there */
        size_t size;
        bool dirty[MOST_PAGES]; /* what the next sync writes; */
    } files[MOST_FILES];
    size_t file_count;
} machine;

static sqlite3_vfs *below;

struct file {
    sqlite3_file base;
    struct synced *synced; /* NULL: a file that nobody cares about */
    sqlite3_file *real;
};

static char *read_all(const char *path, size_t *size) {
    *size = 0;
    return file_exists(path) ? read_file(path, size) : NULL;
}

/* What is on the disk when a process ends, for the next one. */
static void saved_name(char *out, size_t size, const char *path) {
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "disk-%s", slash == NULL ? path : slash + 1);
}

static void save_disk(void) {
    for (size_t i = 0; i < machine.file_count; i++) {
        char saved[300];
        saved_name(saved, sizeof saved, machine.files[i].path);
        if (machine.files[i].bytes != NULL)
            write_file(saved, (text){machine.files[i].bytes, machine.files[i].size});
    }
}

static struct synced *find_synced(const char *path) {
    size_t i = 0;
    while (i < machine.file_count && strcmp(machine.files[i].path, path) != 0)
        i++;
    assert_true(i < MOST_FILES);
    if (i == machine.file_count) {
        machine.file_count++;
        snprintf(machine.files[i].path, sizeof machine.files[i].path, "%s", path);
        char saved[300];
        saved_name(saved, sizeof saved, path);
        machine.files[i].bytes =
            read_all(file_exists(saved) ? saved : path, &machine.files[i].size);
    }
    return &machine.files[i];
}

static void lose_unsynced(const struct synced *file) {
    size_t size = 0;
    char *now = read_all(file->path, &size);
    if (now == NULL)
        return;
    if (file->bytes == NULL && machine.kept == 0) {
        unlink(file->path);
    } else {
        size_t larger = size > file->size ? size : file->size;
        char *mixed = must_allocate(larger + 1, 1);
        size_t end = machine.kept == 0 ? file->size : size;
        for (size_t at = 0; at < larger; at += SECTOR) {
            bool is_kept =
                file->dirty[at / PAGE] && next_below(&machine.random, 4) < (uint64_t)machine.kept;
            const char *from = is_kept ? now : file->bytes;
            size_t available = is_kept ? size : file->size;
            for (size_t k = at; k < at + SECTOR && k < larger; k++)
                mixed[k] = k < available ? from[k] : 0;
        }
        write_file(file->path, (text){mixed, end});
        free(mixed);
    }
    free(now);
}

/* Counts a call; what it has to return if it is the one that fails, or SQLITE_OK. */
static int count_call(enum fault kind, int code) {
    bool is_due = ++machine.calls >= machine.at && machine.at > 0 && !machine.has_happened;
    if (!is_due || machine.fault == NO_FAULT)
        return SQLITE_OK;
    if (machine.fault == POWER) {
        for (size_t i = 0; i < machine.file_count; i++)
            lose_unsynced(&machine.files[i]);
        _exit(POWER_FAILED);
    }
    if (machine.fault != kind && !(machine.fault == FULL && kind == WRITE))
        return SQLITE_OK;
    machine.has_happened = true;
    return machine.fault == FULL ? SQLITE_FULL : code;
}

static sqlite3_file *real_of(sqlite3_file *file) {
    return ((struct file *)file)->real;
}

static int on_close(sqlite3_file *file) {
    return real_of(file)->pMethods->xClose(real_of(file));
}
static int on_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at) {
    return real_of(file)->pMethods->xRead(real_of(file), bytes, size, at);
}
static int on_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at) {
    struct synced *synced = ((struct file *)file)->synced;
    int code = count_call(WRITE, SQLITE_IOERR_WRITE);
    assert_true(at + size <= PAGE * MOST_PAGES);
    for (sqlite3_int64 page = at / PAGE; page <= (at + size - 1) / PAGE; page++)
        if (synced != NULL)
            synced->dirty[page] = true;
    return code != SQLITE_OK ? code
                             : real_of(file)->pMethods->xWrite(real_of(file), bytes, size, at);
}
static int on_truncate(sqlite3_file *file, sqlite3_int64 size) {
    int code = count_call(WRITE, SQLITE_IOERR_TRUNCATE);
    return code != SQLITE_OK ? code : real_of(file)->pMethods->xTruncate(real_of(file), size);
}
static void write_dirty(struct synced *file) {
    size_t size = 0;
    char *now = read_all(file->path, &size);
    for (size_t at = 0; at < size; at += PAGE)
        if (!file->dirty[at / PAGE])
            for (size_t k = at; k < at + PAGE && k < size; k++)
                now[k] = k < file->size ? file->bytes[k] : 0;
    free(file->bytes);
    file->bytes = now;
    file->size = size;
}
static int on_sync(sqlite3_file *file, int flags) {
    struct synced *synced = ((struct file *)file)->synced;
    int code = count_call(SYNC, SQLITE_IOERR_FSYNC);
    if (synced != NULL) {
        if (code == SQLITE_OK)
            write_dirty(synced);
        memset(synced->dirty, 0, sizeof synced->dirty);
    }
    if (code != SQLITE_OK)
        return code;
    return real_of(file)->pMethods->xSync(real_of(file), flags);
}
static int on_size(sqlite3_file *file, sqlite3_int64 *size) {
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}
static int on_lock(sqlite3_file *file, int lock) {
    return real_of(file)->pMethods->xLock(real_of(file), lock);
}
static int on_unlock(sqlite3_file *file, int lock) {
    return real_of(file)->pMethods->xUnlock(real_of(file), lock);
}
static int on_check_lock(sqlite3_file *file, int *out) {
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}
static int on_control(sqlite3_file *file, int operation, void *value) {
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, value);
}
static int on_sector_size(sqlite3_file *file) {
    (void)file;
    return SECTOR;
}
static int on_characteristics(sqlite3_file *file) {
    (void)file;
    return 0; /* nothing is promised */
}
static int on_map(sqlite3_file *file, int page, int size, int extend, void volatile **out) {
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}
static int on_map_lock(sqlite3_file *file, int offset, int count, int flags) {
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}
static void on_barrier(sqlite3_file *file) {
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}
static int on_unmap(sqlite3_file *file, int delete) {
    return real_of(file)->pMethods->xShmUnmap(real_of(file), delete);
}

static int on_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *opened, int flags, int *out) {
    static const sqlite3_io_methods methods = {2,
                                               on_close,
                                               on_read,
                                               on_write,
                                               on_truncate,
                                               on_sync,
                                               on_size,
                                               on_lock,
                                               on_unlock,
                                               on_check_lock,
                                               on_control,
                                               on_sector_size,
                                               on_characteristics,
                                               on_map,
                                               on_map_lock,
                                               on_barrier,
                                               on_unmap,
                                               NULL,
                                               NULL};
    (void)vfs;
    struct file *file = (struct file *)opened;
    file->real = (sqlite3_file *)(file + 1);
    file->synced = path == NULL ? NULL : find_synced(path);
    int code = below->xOpen(below, path, file->real, flags, out);
    file->base.pMethods = file->real->pMethods == NULL ? NULL : &methods;
    return code;
}

static int on_delete(sqlite3_vfs *vfs, const char *path, int sync) {
    (void)vfs;
    int code = count_call(WRITE, SQLITE_IOERR_DELETE);
    return code != SQLITE_OK ? code : below->xDelete(below, path, sync);
}

/* For the rest of the process. */
static void start_machine(enum fault fault, int at, int kept) {
    static sqlite3_vfs vfs;
    below = sqlite3_vfs_find(NULL);
    vfs = *below;
    vfs.zName = "failing";
    vfs.szOsFile = (int)sizeof(struct file) + below->szOsFile;
    vfs.xOpen = on_open;
    vfs.xDelete = on_delete;
    assert_int_equal(sqlite3_vfs_register(&vfs, 1), SQLITE_OK);
    machine.fault = fault;
    machine.at = at;
    machine.kept = kept;
    machine.random = (uint64_t)at;
}

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
    int calls = machine.calls;
    if (kg__store_begin(&transaction, store, NULL, 0, &error) != KG_SYSTEM ||
        strncmp(error.message, expected, strlen(expected)) != 0)
        return 2;
    if (!is_in(store, &states[shared->done]))
        return 3;
    kg__store_close(store);
    if (machine.calls != calls)
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
        return status == KG_SYSTEM && machine.has_happened ? 0 : 1;
    int failed = do_steps(store, states, &error);
    if (failed <= STEPS)
        return error.status == KG_SYSTEM ? check_read_only(store, states) : 1;
    kg__store_close(store);
    return machine.has_happened ? 0 : 10; /* a call whose failure does not matter */
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
    machine.at = machine.calls + 1;
    machine.has_happened = false;
    count_call(POWER, 0);
    return 3;
}

static void forget_disk(void) {
    static const char *const files[] = {"disk-graph.db", "disk-graph.db-wal", "disk-graph.db-shm"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
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
    machine.fault = SYNC;
    if (commit_step(store, 1, &error) != KG_SYSTEM || !machine.has_happened)
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
