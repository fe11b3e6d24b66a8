/* A lane: threads that run calls of one kind, in the order in which they came, each with a view of
 * its own. So many may wait; more are refused.
 *
 * A lane may have another one for its large calls, which then delay large ones alone. Large calls
 * whose client is gone are not run, and neither are those that wait when the server stops. */
#ifndef KG_SERVE_WORKER_POOL_H
#define KG_SERVE_WORKER_POOL_H

#include "serve/call.h"

typedef struct serve_lane serve_lane;

typedef struct serve_lane_options {
    unsigned threads;
    size_t most;       /* calls that wait */
    serve_lane *large; /* borrowed: where calls go of which the route says that they are large.
                        * NULL: they stay */
} serve_lane_options;

KG_MUST_CHECK kg_status serve_lane_open(serve_lane **out, const serve_lane_options *options,
                                        kg_error *error);

/* Finishes what waits. NULL is allowed. */
void serve_lane_close(serve_lane *lane);

/* Takes a call whose exchange is deferred, and finishes it; false if too many wait. */
bool serve_lane_submit(serve_lane *lane, serve_call *call);

/* How many wait. */
size_t serve_lane_waiting(serve_lane *lane);

#endif
