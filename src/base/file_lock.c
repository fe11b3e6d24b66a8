/* Locks by flock on the folder or file itself, so that no lock file can be left behind. */
#include "base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether `path` still names what was opened: its last owner may have replaced or removed it. */
static bool is_at(const char *path, int fd) {
    struct stat opened;
    struct stat found;
    return fstat(fd, &opened) == 0 && stat(path, &found) == 0 && opened.st_ino == found.st_ino &&
           opened.st_dev == found.st_dev;
}

static kg_status refuse(const char *path, kg_error *error) {
    return kg_fail_at(error, path, 0, 0,
                      "expected that nobody else is writing it, found that another process has "
                      "locked it");
}

kg_status kg__lock_unless_busy(int *fd, bool *is_busy, const char *path, kg_error *error) {
    *fd = -1;
    *is_busy = false;
    int opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (opened < 0)
        return kg__fail_errno(error, path, "lock it");
    bool is_locked = flock(opened, LOCK_EX | LOCK_NB) == 0;
    if (is_locked && is_at(path, opened)) {
        *fd = opened;
        return KG_OK;
    }
    *is_busy = is_locked || errno == EWOULDBLOCK;
    close(opened);
    return KG_OK;
}

kg_status kg__lock(int *fd, const char *path, kg_error *error) {
    bool is_busy = false;
    KG_TRY(kg__lock_unless_busy(fd, &is_busy, path, error));
    return is_busy ? refuse(path, error) : KG_OK;
}

void kg__unlock(int fd) {
    if (fd >= 0)
        close(fd);
}
