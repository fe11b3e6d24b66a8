/* Stores that a write to has failed in this process. After a failed sync the system may hold pages
 * for clean that never reached the disk, so neither a second try nor a handle that is opened anew
 * can be trusted; only a process that reads the files again is. */
#ifndef KG_STORE_FAILED_STORES_H
#define KG_STORE_FAILED_STORES_H

#include <stdbool.h>

#include "base/status.h"

/* Opens a file only to recognise it, whatever its name will be by then, or -1 with errno set. To
 * close the descriptor does not release SQLite's locks on the file, as it would another one's. */
int kg__failed_stores_identify(const char *path);

/* Remembers the file of such a descriptor, which stays the caller's, and why. */
void kg__failed_stores_add(int file, const kg_error *reason);

/* Whether it is one of them; then `*reason` is why. */
bool kg__failed_stores_find(int file, kg_error *reason);

#endif
