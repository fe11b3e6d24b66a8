/* A lock on a folder, or file, that is about to be replaced or changed. It is the system's advisory
 * lock (flock): it ends with the process in any case, and binds only processes that ask for it. */
#ifndef KG_BASE_FILE_LOCK_H
#define KG_BASE_FILE_LOCK_H

#include <stdbool.h>

#include "base/status.h"

/* Locks what is at `path` without waiting: KG_BAD_INPUT if another process holds the lock. `*fd` is
 * -1 where the file system has no locks. */
KG_MUST_CHECK kg_status kg__lock(int *fd, const char *path, kg_error *error);

/* The same where another holder is no mistake: then it is KG_OK, and `*is_busy`. */
KG_MUST_CHECK kg_status kg__lock_unless_busy(int *fd, bool *is_busy, const char *path,
                                             kg_error *error);

/* `fd` may be -1. */
void kg__unlock(int fd);

#endif
