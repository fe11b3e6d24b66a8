/* Systems that cannot do what we like best, and those that fail: this program has system calls of
 * its own, which can lack nameless files, /proc and the flags of renameat2, work in small pieces,
 * and fail at any one call. Whatever happens, a file or folder is the old one or the new one, and
 * nothing else is left behind. */
#define _GNU_SOURCE
#include "../read_all.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output_folder.h"
#include "model/model.h"
#include "model/model_folder.h"

/* What the system lacks. */
enum { NO_NAMELESS = 1, NO_PROC = 2, NO_RENAME_FLAGS = 4, LACKS = 8 };

static struct {
    bool on;
    int lacks;
    bool pieces; /* reads and writes move a few bytes, and are interrupted in between */
    int calls;
    int failing;    /* the call that fails, from 1; 0: none */
    bool dies;      /* and so do all that follow: as if the program had been killed */
    int exchanging; /* the opening of a file before which "model" and "other" are exchanged, from 1
                     */
    int opened;
    ino_t synced[16];
    size_t synced_count;
    bool is_moved;      /* a name, and nothing was synced since */
    bool removed_early; /* a file of a folder, while that was so */
} machine;

/* Counts the call; true if it is the one that fails. */
static bool breaks(void) {
    if (!machine.on)
        return false;
    int call = ++machine.calls;
    if (call != machine.failing && !(machine.dies && machine.failing > 0 && call > machine.failing))
        return false;
    errno = EIO;
    return true;
}

static bool lacks(int what) {
    if (!machine.on || (machine.lacks & what) == 0)
        return false;
    errno = what == NO_NAMELESS ? EOPNOTSUPP : what == NO_PROC ? ENOENT : EINVAL;
    return true;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = va_arg(arguments, unsigned);
    va_end(arguments);
    if (machine.on && ++machine.opened == machine.exchanging)
        syscall(SYS_renameat2, AT_FDCWD, "model", AT_FDCWD, "other", RENAME_EXCHANGE);
    if (breaks() || ((flags & O_TMPFILE) == O_TMPFILE && lacks(NO_NAMELESS)))
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int access(const char *path, int mode) {
    if (strcmp(path, "/proc/self/fd") == 0 && lacks(NO_PROC))
        return -1;
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

/* Every other call is interrupted, the others do a little. */
static bool is_interrupted(size_t *size) {
    static int turn;
    if (!machine.on || !machine.pieces)
        return false;
    *size = *size < 7 ? *size : 7;
    errno = EINTR;
    return ++turn % 2 == 0;
}

ssize_t write(int fd, const void *bytes, size_t size) {
    if (breaks() || is_interrupted(&size))
        return -1;
    return syscall(SYS_write, fd, bytes, size);
}

ssize_t read(int fd, void *bytes, size_t size) {
    if (breaks() || is_interrupted(&size))
        return -1;
    return syscall(SYS_read, fd, bytes, size);
}

/* Only noted: nothing here is worth waiting for a disk. */
int fsync(int fd) {
    struct stat info;
    if (breaks())
        return -1;
    if (machine.on && machine.synced_count < COUNT_OF(machine.synced) && fstat(fd, &info) == 0)
        machine.synced[machine.synced_count++] = info.st_ino;
    machine.is_moved = false;
    return 0;
}

int mkdir(const char *path, mode_t mode) {
    return breaks() ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    return breaks() ? -1 : (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int rename(const char *from, const char *to) {
    machine.is_moved = machine.on;
    return breaks() ? -1 : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    if (breaks() || lacks(NO_RENAME_FLAGS))
        return -1;
    machine.is_moved = machine.on;
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

/* The dead do not clean up. */
static bool is_dead(void) {
    errno = EIO;
    return machine.on && machine.dies && machine.failing > 0 && machine.calls >= machine.failing;
}

int unlinkat(int folder, const char *path, int flags) {
    machine.removed_early |= machine.is_moved && folder != AT_FDCWD;
    return is_dead() ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags);
}

int unlink(const char *path) {
    return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path) {
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

static const char *const own_files[] = {"a", "b", NULL};

/* Writes a file, or a folder of two. */
static kg_status put(bool folder, const char *content, kg_error *error) {
    kg_output *output = NULL;
    kg_folder *whole = NULL;
    kg_status status = KG_OK;
    if (!folder) {
        KG_CHECK(kg__output_open(&output, "out", "out", error));
        KG_CHECK(kg__output_write(output, content, strlen(content), error));
        KG_CHECK(kg__output_commit(output, error));
    } else {
        KG_CHECK(kg__folder_start(&whole, "out", true, own_files, error));
        for (size_t i = 0; own_files[i] != NULL; i++) {
            kg_output *file = NULL;
            KG_CHECK(kg__folder_add(whole, &file, own_files[i], error));
            KG_CHECK(kg__output_write(file, content, strlen(content), error));
        }
        KG_CHECK(kg__folder_commit(whole, error));
    }
done:
    if (!folder)
        kg__output_close(output);
    kg__folder_close(whole);
    return status;
}

static bool holds(const char *const paths[2], const char *content) {
    for (size_t i = 0; i < 2; i++) {
        char found[32] = "";
        FILE *stream = fopen(paths[i], "r");
        if (stream == NULL)
            return false;
        size_t length = fread(found, 1, sizeof found - 1, stream);
        fclose(stream);
        if (length != strlen(content) || strcmp(found, content) != 0)
            return false;
    }
    return true;
}

static bool folder_holds(const char *content) {
    static const char *const paths[] = {"out/a", "out/b"};
    return file_exists("out") && count_entries("out") == 2 && holds(paths, content);
}

/* There is this content and nothing else. NULL: there is nothing. */
static bool stands(bool folder, const char *content) {
    static const char *const paths[] = {"out", "out"};
    if (content == NULL || count_entries(".") != 1)
        return content == NULL && count_entries(".") == 0;
    return folder ? folder_holds(content) : holds(paths, content);
}

static void clean(void) {
    unlink("out/a");
    unlink("out/b");
    if (rmdir("out") != 0)
        unlink("out");
}

/* Whatever the system lacks: what is new appears, what was there is replaced. */
static void test_old_systems(void **state) {
    (void)state;
    for (int what = 0; what < 2 * LACKS; what++) {
        bool folder = what >= LACKS;
        static const char *const contents[] = {"first", "second"};
        for (size_t i = 0; i < COUNT_OF(contents); i++) {
            kg_error error = {0};
            memset(&machine, 0, sizeof machine);
            machine.lacks = what % LACKS;
            machine.on = true;
            kg_status status = put(folder, contents[i], &error);
            machine.on = false;
            assert_status(status, KG_OK, &error);
            assert_true(stands(folder, contents[i]));
        }
        clean();
    }
}

static void assert_synced(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    bool found = false;
    for (size_t i = 0; i < machine.synced_count; i++)
        found = found || machine.synced[i] == info.st_ino;
    if (!found)
        fail_msg("%s is in place, but would not outlive a power cut", path);
}

/* Files, their folder and the folder that holds it: all are on disk when we say so. What is
 * replaced goes only when the other is there for good. */
static void test_everything_is_synced(void **state) {
    (void)state;
    static const char *const paths[] = {".", "out", "out/a", "out/b"};
    for (int what = 0; what < 4 * LACKS; what++) {
        bool folder = what % 2 == 0;
        kg_error error = {0};
        if (what >= 2 * LACKS)
            assert_ok(put(folder, "old", &error), &error);
        memset(&machine, 0, sizeof machine);
        machine.lacks = what / 2 % LACKS;
        machine.on = true;
        kg_status status = put(folder, "new", &error);
        machine.on = false;
        assert_status(status, KG_OK, &error);
        assert_false(machine.removed_early);
        for (size_t i = 0; i < (folder ? 4 : 2); i++)
            assert_synced(paths[i]);
        clean();
    }
}

/* Fails every call in turn until one run gets by without. */
static void fail_each_call(bool folder, int what, const char *before) {
    for (int failing = 1;; failing++) {
        kg_error error = {0};
        if (before != NULL)
            assert_ok(put(folder, before, &error), &error);
        memset(&machine, 0, sizeof machine);
        machine.lacks = what;
        machine.failing = failing;
        machine.on = true;
        kg_status status = put(folder, "new", &error);
        machine.on = false;
        bool is_new = stands(folder, "new");
        bool is_old = stands(folder, before);
        if (!is_new && (!is_old || status == KG_OK))
            fail_msg("%s, lacks %d, call %d fails: status %d, neither old nor new (%zu entries)",
                     folder ? "folder" : "file", what, failing, (int)status, count_entries("."));
        if (status != KG_OK)
            assert_status(status, KG_SYSTEM, &error);
        clean();
        if (machine.calls < failing)
            break;
        assert_true(failing < 100);
    }
}

static void test_failing_calls_on_files(void **state) {
    (void)state;
    for (int what = 0; what < LACKS; what++) {
        fail_each_call(false, what, NULL);
        fail_each_call(false, what, "old");
    }
}

static void test_failing_calls_on_new_folders(void **state) {
    (void)state;
    for (int what = 0; what < LACKS; what++)
        fail_each_call(true, what, NULL);
}

static void test_failing_calls_on_replaced_folders(void **state) {
    (void)state;
    for (int what = 0; what < NO_RENAME_FLAGS; what++)
        fail_each_call(true, what, "old");
}

/* Where two names cannot be exchanged there are two renames, and the second can fail. */
static void test_failing_calls_without_exchange(void **state) {
    (void)state;
    for (int what = NO_RENAME_FLAGS; what < LACKS; what++)
        fail_each_call(true, what, "old");
}

/* Dies at every call in turn: the old folder is in place, or the new one; or, where they cannot be
 * exchanged, none for a moment. Whoever comes next removes what was left behind. */
static void test_dying_while_a_folder_is_replaced(void **state) {
    (void)state;
    for (int what = 0; what < LACKS; what++)
        for (int failing = 1; failing < 100; failing++) {
            kg_error error = {0};
            assert_ok(put(true, "old", &error), &error);
            assert_true(stands(true, "old"));
            memset(&machine, 0, sizeof machine);
            machine.lacks = what;
            machine.failing = failing;
            machine.dies = true;
            machine.on = true;
            kg_status status = put(true, "new", &error);
            machine.on = false;
            bool is_done = machine.calls < failing;
            assert_true(is_done == (status == KG_OK));
            bool stays = folder_holds("old") || folder_holds("new");
            if (!stays && ((what & NO_RENAME_FLAGS) == 0 || file_exists("out")))
                fail_msg("lacks %d, dead at call %d: neither old nor new", what, failing);
            kg_folder *next = NULL;
            assert_status(kg__folder_start(&next, "out", false, own_files, &error), KG_BAD_INPUT,
                          &error);
            if (!stands(true, "old") && !stands(true, "new"))
                fail_msg("lacks %d, dead at call %d: something is left", what, failing);
            clean();
            if (is_done)
                break;
        }
}

static void test_small_pieces(void **state) {
    (void)state;
    char content[1000];
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (char)('a' + i % 26);
    kg_error error = {0};
    kg_output *output = NULL;
    kg_input *input = NULL;
    char *found = NULL;
    size_t size = 0;
    memset(&machine, 0, sizeof machine);
    machine.pieces = true;
    machine.on = true;
    kg_status opened = kg__output_open(&output, "out", "out", &error);
    kg_status written = kg__output_write(output, content, sizeof content, &error);
    kg_status committed = kg__output_commit(output, &error);
    kg_status reopened = kg__input_open(&input, "out", KG_PLAIN, &error);
    kg_status read_back = read_all(input, &found, &size, &error);
    machine.on = false;
    const kg_status statuses[] = {opened, written, committed, reopened, read_back};
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        assert_status(statuses[i], KG_OK, &error);
    assert_text(found, size, ((text){content, sizeof content}));
    free(found);
    kg__input_close(input);
    kg__output_close(output);
}

/* A failing read is told, from the first on. */
static void test_failing_reads(void **state) {
    (void)state;
    static const kg_coding codings[] = {KG_PLAIN, KG_ANY_CODING};
    for (size_t i = 0; i < COUNT_OF(codings); i++)
        for (int failing = 1; failing <= 3; failing++) {
            kg_error error = {0};
            kg_input *input = open_text_as(TEXT("content"), "in", codings[i]);
            char *found = NULL;
            size_t size = 0;
            memset(&machine, 0, sizeof machine);
            machine.failing = failing;
            machine.on = true;
            kg_status status = read_all(input, &found, &size, &error);
            machine.on = false;
            bool failed = machine.calls >= failing;
            assert_status(status, failed ? KG_SYSTEM : KG_OK, &error);
            assert_true(failed || failing == 3);
            if (failed)
                assert_error_text(&error, "in: cannot read it: Input/output error");
            else
                assert_text(found, size, TEXT("content"));
            free(found);
            kg__input_close(input);
        }
}

#define RELATIONS 2

static void write_model(const real *calibration) {
    kg_dataset dataset;
    static const real rows[4 * 2] = {1, 2, 3, 4, 5, 6, 7, 8};
    kg_params params = {
        .scoring = kg__scoring_find("distmult"), .entities = rows, .relations = rows, .dim = 2};
    json_t *config = json_pack("{si si s{ss si}}", "entities", 4, "relations", RELATIONS,
                               "settings", "model", "distmult", "dim", 2);
    make_dataset(&dataset, "a r b\nc s d\n");
    kg_model_parts parts = {&params, &dataset, calibration, config, NULL};
    write_model_folder("model", &parts);
    json_decref(config);
    kg__dataset_close(&dataset);
}

static void write_other(void) {
    kg_dataset dataset;
    static const real rows[4 * 2] = {9, 9, 9, 9, 9, 9, 9, 9};
    kg_params params = {
        .scoring = kg__scoring_find("distmult"), .entities = rows, .relations = rows, .dim = 2};
    json_t *config = json_pack("{si si s{ss si}}", "entities", 4, "relations", RELATIONS,
                               "settings", "model", "distmult", "dim", 2);
    make_dataset(&dataset, "w r x\ny s z\n");
    kg_model_parts parts = {&params, &dataset, NULL, config, NULL};
    write_model_folder("other", &parts);
    json_decref(config);
    kg__dataset_close(&dataset);
}

/* Replaced before any of its files is opened, a model is still one of the two. */
static void test_replaced_while_it_is_opened(void **state) {
    (void)state;
    enum { FILES = 4 };
    for (int exchanging = 1; exchanging <= FILES + 1; exchanging++) {
        kg_error error = {0};
        kg_model model;
        write_model(NULL);
        write_other();
        memset(&machine, 0, sizeof machine);
        machine.exchanging = exchanging;
        machine.on = true;
        kg_status status = kg__model_open(&model, "model", &error);
        machine.on = false;
        assert_status(status, KG_OK, &error);
        bool is_old = model.params.entities[0] == 1;
        bool has_old_names = kg__names_find(&model.entities, kg__name_of("a", 1)) != KG_NO_ID;
        kg__model_close(&model);
        if (is_old != has_old_names)
            fail_msg("file %d: numbers of one model, names of another", exchanging);
        assert_true(is_old == (exchanging > FILES));
    }
}

/* The first number of the model's calibration, which has them all or none; 0 if there is none. */
static double look_at_calibration(void) {
    kg_error error = {0};
    kg_model model;
    assert_ok(kg__model_open(&model, "model", &error), &error);
    double first = model.calibration == NULL ? 0 : (double)model.calibration[0];
    for (size_t i = 0; i < 4 * RELATIONS && model.calibration != NULL; i++)
        assert_true((double)model.calibration[i] == first);
    kg__model_close(&model);
    return first;
}

/* Fails every call in turn, or dies at it: the model has the old calibration or the new one. */
static void fail_calibration(const real *before, bool dies, int what) {
    static const real new[4 * RELATIONS] = {3, 3, 3, 3, 3, 3, 3, 3};
    for (int failing = 1;; failing++) {
        kg_error error = {0};
        write_model(before); /* in place of one with what the dead left */
        assert_int_equal(count_entries("model"), before == NULL ? 6 : 7);
        assert_int_equal(count_entries("."), 1);
        memset(&machine, 0, sizeof machine);
        machine.lacks = what;
        machine.failing = failing;
        machine.dies = dies;
        machine.on = true;
        kg_status status = kg__model_write_calibration("model", new, RELATIONS, NULL, &error);
        machine.on = false;
        double found = look_at_calibration();
        double old = before == NULL ? 0 : (double)before[0];
        if (found != 3 && (found != old || status == KG_OK))
            fail_msg("lacks %d, call %d fails: calibration %g", what, failing, found);
        if (status != KG_OK)
            assert_status(status, KG_SYSTEM, &error);
        if (!dies)
            assert_true(count_entries("model") <= 8); /* two calibrations */
        assert_ok(kg__model_write_calibration("model", new, RELATIONS, NULL, &error), &error);
        assert_true(look_at_calibration() == 3);
        assert_true(file_exists("model/" KG_MODEL_CALIBRATION));
        assert_false(file_exists("model/" KG_MODEL_OTHER_CALIBRATION));
        if (machine.calls < failing)
            break;
        assert_true(failing < 100);
    }
}

static void test_failing_calls_on_calibrations(void **state) {
    (void)state;
    static const real old[4 * RELATIONS] = {2, 2, 2, 2, 2, 2, 2, 2};
    for (int what = 0; what < NO_RENAME_FLAGS; what++)
        for (int dies = 0; dies < 2; dies++) {
            fail_calibration(NULL, dies == 1, what);
            fail_calibration(old, dies == 1, what);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_old_systems),
        test_in_folder(test_everything_is_synced),
        test_in_folder(test_failing_calls_on_files),
        test_in_folder(test_failing_calls_on_new_folders),
        test_in_folder(test_failing_calls_on_replaced_folders),
        test_in_folder(test_failing_calls_without_exchange),
        test_in_folder(test_dying_while_a_folder_is_replaced),
        test_in_folder(test_failing_calls_on_calibrations),
        test_in_folder(test_replaced_while_it_is_opened),
        test_in_folder(test_small_pieces),
        test_in_folder(test_failing_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
