/* The lock of a store's only writer: an advisory lock on its file `lock`, which ends with the
 * process in any case. The file names its last holder, for messages only. */
#ifndef KG_STORE_WRITER_LOCK_H
#define KG_STORE_WRITER_LOCK_H

#include "base/status.h"

/* Locks the store in the folder `path`: KG_BAD_INPUT, with the process that holds it, if it is
 * locked for so many seconds. */
KG_MUST_CHECK kg_status kg__writer_lock(int *fd, const char *path, double seconds, kg_error *error);

#endif
