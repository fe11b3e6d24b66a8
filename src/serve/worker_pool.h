/* A pool: threads that run calls of one kind, in the order in which they came, each with a view of
 * its own. So many may wait; more are refused.
 *
 * A pool may have another one for its large calls, which then delay large ones alone. Large
 * questions whose client is gone are not answered, and neither are those that wait when the server
 * stops. Changes are made in any case. */
#ifndef KG_SERVE_WORKER_POOL_H
#define KG_SERVE_WORKER_POOL_H

#include "serve/call.h"

typedef struct serve_pool serve_pool;

typedef struct serve_pool_options {
    unsigned threads;
    size_t most;       /* calls that wait */
    serve_pool *large; /* borrowed: where calls go of which the route says that they are large.
                        * NULL: they stay */
} serve_pool_options;

KG_MUST_CHECK kg_status serve_pool_open(serve_pool **out, const serve_pool_options *options,
                                        kg_error *error);

/* Finishes what waits. NULL is allowed. */
void serve_pool_close(serve_pool *pool);

/* Takes a call whose exchange is deferred, and finishes it; false if too many wait. */
bool serve_pool_submit(serve_pool *pool, serve_call *call);

/* How many wait. */
size_t serve_pool_waiting(serve_pool *pool);

#endif
