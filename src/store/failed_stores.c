/* A table of files by device and inode, so that a store is recognised by any path. The files stay
 * open: no other one gets their inode when they are deleted. (O_PATH, since to close another
 * descriptor of it would release SQLite's locks.) Should it be
 * full, which takes a machine whose disks all fail, every further store counts as failed. */
#define _GNU_SOURCE
#include "store/failed_stores.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#define MOST_FAILED 64

static struct {
    pthread_mutex_t mutex;
    struct {
        dev_t device;
        ino_t inode;
        kg_error reason;
        int kept; /* -1 if that failed, which does no harm */
    } items[MOST_FAILED];
    size_t count;
} failed = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The position of a file, or the number of them. */
static size_t find(const struct stat *file) {
    size_t i = 0;
    while (i < failed.count &&
           (failed.items[i].device != file->st_dev || failed.items[i].inode != file->st_ino))
        i++;
    return i;
}

void kg__failed_stores_add(const char *path, const kg_error *reason) {
    struct stat file = {0};
    if (stat(path, &file) != 0)
        return;
    pthread_mutex_lock(&failed.mutex);
    size_t i = find(&file);
    if (i == failed.count && i < MOST_FAILED) {
        failed.items[i].device = file.st_dev;
        failed.items[i].inode = file.st_ino;
        failed.items[i].reason = *reason;
        failed.items[i].kept = open(path, O_PATH | O_CLOEXEC);
        failed.count++;
    }
    pthread_mutex_unlock(&failed.mutex);
}

bool kg__failed_stores_find(const char *path, kg_error *reason) {
    struct stat file = {0};
    if (stat(path, &file) != 0)
        return false;
    pthread_mutex_lock(&failed.mutex);
    size_t i = find(&file);
    bool is_failed = i < failed.count || failed.count == MOST_FAILED;
    if (is_failed)
        *reason = failed.items[i < failed.count ? i : 0].reason;
    pthread_mutex_unlock(&failed.mutex);
    return is_failed;
}
