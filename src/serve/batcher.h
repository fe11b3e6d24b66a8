/* Waiting predictions are answered together: a thread that becomes free takes all that wait, up to
 * the weight of a piece, and answers them with one call of the library. A thread
 * does not wait for a batch to fill: under little load it is one request, under much load many.
 *
 * A request that weighs more than a piece is left to a pool of its own, where it is answered piece
 * by piece, so that it delays others only by the processor that it takes. Few of these wait, with
 * the text of their bodies. */
#ifndef KG_SERVE_BATCHER_H
#define KG_SERVE_BATCHER_H

#include "serve/worker_pool.h"

typedef struct serve_batcher serve_batcher;

struct serve_server;

KG_MUST_CHECK kg_status serve_batcher_open(serve_batcher **out, struct serve_server *server,
                                           unsigned threads, kg_error *error);

/* Finishes what waits. NULL is allowed. */
void serve_batcher_close(serve_batcher *batcher);

/* Takes a call whose exchange is deferred, and finishes it; false if too many wait. */
bool serve_batcher_submit(serve_batcher *batcher, serve_call *call);

/* How many wait. */
size_t serve_batcher_waiting(serve_batcher *batcher);

#endif
