/* What takes longer than a request: compactions and backups, one at a time, each in a thread of its
 * own. The last ones are remembered as long as the server runs. */
#ifndef KG_SERVE_JOBS_H
#define KG_SERVE_JOBS_H

#include "base/json.h"

typedef struct serve_jobs serve_jobs;

struct serve_server;

KG_MUST_CHECK kg_status serve_jobs_open(serve_jobs **out, struct serve_server *server,
                                        kg_error *error);

/* Cancels what runs, and waits for it. NULL is allowed. */
void serve_jobs_close(serve_jobs *jobs);

/* Whether a compaction runs. */
bool serve_jobs_is_compacting(serve_jobs *jobs);

#endif
