/* Calls are counted and go through to the layer below; what was synced is remembered. */
#include "failing_machine.h"

#include "support.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* When the power fails, what was not synced is on the disk or not, by sectors. */
#define SECTOR 512

/* A sync writes the pages that were written to since the last one, whether or not that failed:
 * after a failure, the system holds pages for clean that are not on the disk. */
#define PAGE 4096
#define MOST_PAGES 1024

#define MOST_FILES 16

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

void save_disk(void) {
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

void start_machine(enum fault fault, int at, int kept) {
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

void machine_set_fault(enum fault fault) {
    machine.fault = fault;
}

void machine_end(void) {
    machine.fault = POWER;
    machine.at = 1;
    machine.has_happened = false;
    count_call(POWER, 0);
}

int machine_calls(void) {
    return machine.calls;
}

bool machine_has_failed(void) {
    return machine.has_happened;
}

void forget_disk(void) {
    static const char *const files[] = {"disk-graph.db", "disk-graph.db-wal", "disk-graph.db-shm"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
}
