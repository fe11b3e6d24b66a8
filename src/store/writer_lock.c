/* Locks by flock, as base/file_lock.h, on a file with the holder's name. */
#define _GNU_SOURCE
#include "store/writer_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
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

static kg_status lock_file(int *fd, const char *path, const char *file, kg_error *error) {
    int opened = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (opened < 0)
        return kg__fail_errno(error, file, "open it");
    if (flock(opened, LOCK_EX | LOCK_NB) == 0) {
        note_holder(opened);
        *fd = opened;
        return KG_OK;
    }
    kg_status status =
        errno == EWOULDBLOCK ? refuse(opened, path, error) : kg__fail_errno(error, file, "lock it");
    close(opened);
    return status;
}

kg_status kg__writer_lock(int *fd, const char *path, kg_error *error) {
    char *file = kg__path_join(path, LOCK_FILE);
    if (file == NULL)
        return kg__fail_memory(error);
    kg_status status = lock_file(fd, path, file, error);
    kg__free(file);
    return status;
}
