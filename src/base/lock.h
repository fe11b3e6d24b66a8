/* A lock on a folder, for whoever is going to replace it or change what is in it. It is the
 * system's (flock): it ends with the process, however that ends, and binds only those who ask for
 * it. */
#ifndef KG_BASE_LOCK_H
#define KG_BASE_LOCK_H

#include "base/status.h"

/* Locks what is at `path` without waiting: KG_BAD_INPUT if someone else has locked it. `*fd` is
 * -1 where the file system has no locks. */
KG_MUST_CHECK kg_status kg__lock(int *fd, const char *path, kg_error *error);

/* `fd` may be -1. */
void kg__unlock(int fd);

#endif
