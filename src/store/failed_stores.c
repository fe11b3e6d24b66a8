/* A table of files by device and inode, so that a store is recognised by any path. The files stay
 * open: no other one gets their inode when they are deleted. Should it be full, which takes a
 * machine whose disks all fail, every further store counts as failed. */
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

int kg__failed_stores_identify(const char *path) {
    return open(path, O_PATH | O_CLOEXEC);
}

void kg__failed_stores_add(int file, const kg_error *reason) {
    struct stat found = {0};
    if (fstat(file, &found) != 0)
        return;
    pthread_mutex_lock(&failed.mutex);
    size_t i = find(&found);
    if (i == failed.count && i < MOST_FAILED) {
        failed.items[i].device = found.st_dev;
        failed.items[i].inode = found.st_ino;
        failed.items[i].reason = *reason;
        failed.items[i].kept = fcntl(file, F_DUPFD_CLOEXEC, 0);
        failed.count++;
    }
    pthread_mutex_unlock(&failed.mutex);
}

bool kg__failed_stores_find(int file, kg_error *reason) {
    struct stat found = {0};
    if (fstat(file, &found) != 0)
        return false;
    pthread_mutex_lock(&failed.mutex);
    size_t i = find(&found);
    bool is_failed = i < failed.count || failed.count == MOST_FAILED;
    if (is_failed)
        *reason = failed.items[i < failed.count ? i : 0].reason;
    pthread_mutex_unlock(&failed.mutex);
    return is_failed;
}
