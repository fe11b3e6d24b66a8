/* Locks by flock, as base/file_lock.h, on a file with the holder's name. */
#define _GNU_SOURCE
#include "store/writer_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/text.h"

#define LOCK_FILE "lock"
#define HOLDER_MAX 64

static kg_status refuse(int fd, const char *path, kg_error *error) {
    char holder[HOLDER_MAX];
    ssize_t size = pread(fd, holder, sizeof holder, 0);
    while (size > 0 && holder[size - 1] == '\n')
        size--;
    if (size <= 0)
        return kg_fail_at(error, path, 0, 0, "another process is writing it");
    return kg_fail_at(error, path, 0, 0, "another process is writing it: %s",
                      kg__quote(holder, (size_t)size).text);
}

/* Failing to note the holder does no harm. */
static void note_holder(int fd) {
    char holder[HOLDER_MAX];
    int size = snprintf(holder, sizeof holder, "process %jd (%.32s)\n", (intmax_t)getpid(),
                        program_invocation_short_name);
    if (ftruncate(fd, 0) == 0 && pwrite(fd, holder, (size_t)size, 0) != size)
        errno = 0;
}

/* Locks it as soon as it can be: it is tried every few milliseconds. */
static bool try_lock(int fd, double seconds) {
    const struct timespec pause = {.tv_nsec = 5000000};
    double end = kg__seconds() + seconds;
    bool is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    while (!is_locked && errno == EWOULDBLOCK && kg__seconds() < end) {
        nanosleep(&pause, NULL);
        is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    }
    return is_locked;
}

/* Whether it is the one that has this name now: who fails to make a store removes it. */
static bool is_in_place(int fd, const char *file) {
    struct stat locked;
    struct stat named;
    return fstat(fd, &locked) == 0 && stat(file, &named) == 0 && locked.st_dev == named.st_dev &&
           locked.st_ino == named.st_ino;
}

static kg_status lock_file(int *fd, const char *path, const char *file, double seconds,
                           kg_error *error) {
    int opened = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (opened < 0)
        return kg__fail_errno(error, file, "open it");
    bool is_locked = try_lock(opened, seconds);
    if (is_locked && is_in_place(opened, file)) {
        note_holder(opened);
        *fd = opened;
        return KG_OK;
    }
    kg_status status = is_locked || errno == EWOULDBLOCK ? refuse(opened, path, error)
                                                         : kg__fail_errno(error, file, "lock it");
    close(opened);
    return status;
}

kg_status kg__writer_lock(int *fd, const char *path, double seconds, kg_error *error) {
    char *file = kg__path_join(path, LOCK_FILE);
    if (file == NULL)
        return kg__fail_memory(error);
    kg_status status = lock_file(fd, path, file, seconds, error);
    kg__free(file);
    return status;
}
