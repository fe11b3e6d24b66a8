/* Stores that a write to has failed in this process. After a failed sync the system may hold pages
 * for clean that never reached the disk, so neither a second try nor a handle that is opened anew
 * can be trusted; only a process that reads the files again is. */
#ifndef KG_STORE_FAILED_STORES_H
#define KG_STORE_FAILED_STORES_H

#include <stdbool.h>

#include "base/status.h"

/* Remembers the file `path` and why. */
void kg__failed_stores_add(const char *path, const kg_error *reason);

/* Whether it is one of them; then `*reason` is why. */
bool kg__failed_stores_find(const char *path, kg_error *reason);

#endif
