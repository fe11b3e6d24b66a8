/* A copy of a store at one moment, made while others write to it. */
#ifndef KG_STORE_BACKUP_H
#define KG_STORE_BACKUP_H

#include "base/status.h"

/* Makes `path`, which must not exist, a store with what the one at `store` has now. Model files are
 * linked where the file system allows it, since they never change. Refused while the store is
 * compacted. What fails or is killed leaves a folder that is not a store, or nothing. */
KG_MUST_CHECK kg_status kg__store_backup(const char *store, const char *path, kg_error *error);

#endif
