/* The limits of the server, in one place: what they bound is what a client can make it hold or do.
 * GET /v1/model reports those that clients should know. Those of a request's content are constants;
 * those of what the server holds, and for how long, depend on its machine, and can be set. */
#ifndef KG_SERVE_LIMITS_H
#define KG_SERVE_LIMITS_H

#include "base/status.h"

#define SERVE_MOST_BODY ((size_t)1 << 20)        /* bytes of a request */
#define SERVE_MOST_FACTS_BODY ((size_t)16 << 20) /* the same of POST /v1/facts */
#define SERVE_SMALL_RESPONSE ((size_t)64 << 10)  /* bytes that are sent in any case */
#define SERVE_MOST_HEADER ((size_t)32 << 10)     /* bytes of a request's line and headers */
#define SERVE_MOST_HEADER_COUNT 200              /* headers and cookies of a request */
#define SERVE_MOST_DEPTH 16                      /* levels of JSON */
#define SERVE_MOST_BATCH 256                     /* questions of a request */
#define SERVE_MOST_SUGGESTED 8        /* questions of a batch that are told similar names */
#define SERVE_MOST_K 1000             /* answers to a question */
#define SERVE_MOST_ANSWERS 20000      /* the sum of k of a batch */
#define SERVE_MOST_SUBJECT_FACTS 1000 /* of a new entity that is asked about */
#define SERVE_MOST_CHANGES 100000     /* facts added and removed by a request */
#define SERVE_MOST_NAME 4096          /* bytes of a name, a source or a key */
#define SERVE_MOST_PAGE 1000          /* links of an entity in an answer */
#define SERVE_MOST_COMPLETIONS 100    /* entities of a prefix */
#define SERVE_MOST_EXPLAINED 1000     /* facts of a batch of explanations */

/* Large requests wait apart from others. These are: */
#define SERVE_PIECE_WEIGHT 1024    /* predictions of more pairs of a question and a relation, */
#define SERVE_SMALL_EXPLANATION 32 /* explanations of more facts, */
#define SERVE_SMALL_NEIGHBORS 8    /* batches of neighbors with more questions, */
#define SERVE_SMALL_EMBED 32       /* batches of vectors with more questions, */
#define SERVE_SMALL_CHANGE ((size_t)1 << 20) /* changes of more bytes of JSON */

#define SERVE_VIEW_SECONDS 2  /* that a thread without work keeps its view of the graph */
#define SERVE_BEAT_SECONDS 15 /* between two signs of life of a stream */
#define SERVE_LEAST_GZIP 1024 /* bytes of an answer that is worth compressing */
#define SERVE_RETRY_SECONDS 1 /* after which an overloaded server may be asked again */

/* Those that can be set. */
typedef struct serve_capacity {
    uint64_t held_body_bytes;      /* of all requests at the same time */
    uint64_t held_response_bytes;  /* of all responses */
    uint64_t waiting;              /* requests that wait for a thread, of each kind */
    uint64_t waiting_explanations; /* the same of explanations */
    uint64_t waiting_large;        /* the same of large requests */
    uint64_t connections;
    uint64_t streams;          /* of changes, at the same time */
    uint64_t request_seconds;  /* for a request to be whole */
    uint64_t response_seconds; /* for a response to be read */
    uint64_t idle_seconds;     /* of a connection */
    uint64_t stop_seconds;     /* for a request to be whole when the server stops */
} serve_capacity;

typedef struct serve_limit {
    const char *name;
    uint64_t value; /* by default */
    uint64_t least; /* that it can be set to */
    uint64_t most;  /* likewise; 0: it is a constant */
    size_t offset;  /* in serve_capacity */
} serve_limit;

/* Ended by a row without name. */
extern const serve_limit serve_limits[];

/* The constant of that name, 0 if there is none. */
uint64_t serve_limit_value(const char *name);

serve_capacity serve_capacity_default(void);

/* Sets one, as NAME=N. */
KG_MUST_CHECK kg_status serve_capacity_set(serve_capacity *capacity, const char *text,
                                           kg_error *error);

/* What a limit is, with these. */
uint64_t serve_capacity_get(const serve_capacity *capacity, const serve_limit *limit);

#endif
