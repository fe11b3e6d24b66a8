/* GET /v1/changes: the log of the store as server-sent events, as it grows.
 *
 * One thread reads the log for all clients, from the last entry that each has got, into a buffer of
 * bounded size: a client that reads slowly gets its events later, and costs no more. Every
 * SERVE_BEAT_SECONDS a comment shows that the connection lives. A client that closes it, or its end
 * of it, is noticed within a second or so; over TLS by the next event or comment. */
#ifndef KG_SERVE_CHANGE_STREAM_H
#define KG_SERVE_CHANGE_STREAM_H

#include "serve/graph_service.h"

typedef struct serve_changes serve_changes;

/* For `most` streams at the same time. */
KG_MUST_CHECK kg_status serve_changes_open(serve_changes **out, serve_graph *graph, size_t most,
                                           kg_error *error);

/* Ends all streams, which then close by themselves; those that come are refused. */
void serve_changes_end(serve_changes *changes);

/* When all streams are closed. NULL is allowed. */
void serve_changes_close(serve_changes *changes);

/* The log has grown, or there is a new generation. */
void serve_changes_notify(serve_changes *changes);

/* How many listen. */
size_t serve_changes_listeners(serve_changes *changes);

#endif
