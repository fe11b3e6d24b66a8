/* The limits of the server, in one place: what they bound is what a client can make it hold or do.
 * GET /v1/model reports those that clients should know. */
#ifndef KG_SERVE_LIMITS_H
#define KG_SERVE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define SERVE_MOST_BODY ((size_t)1 << 20)        /* bytes of a request */
#define SERVE_MOST_FACTS_BODY ((size_t)16 << 20) /* the same of POST /v1/facts */
#define SERVE_MOST_HELD ((size_t)256 << 20)      /* bytes of all bodies at the same time */
#define SERVE_MOST_UNREAD ((size_t)256 << 20)    /* bytes of all responses at the same time; */
#define SERVE_SMALL_RESPONSE ((size_t)64 << 10)  /* smaller ones are sent in any case */
#define SERVE_MOST_HEADER ((size_t)32 << 10)     /* bytes of a request's line and headers */
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
#define SERVE_MOST_WAITING 1024       /* requests that wait for a thread, of each kind */
#define SERVE_MOST_EXPLANATIONS 128   /* the same of explanations */
#define SERVE_MOST_LARGE 8            /* the same of large requests, which are: */
#define SERVE_PIECE_WEIGHT 1024       /* predictions of more pairs of a question and a relation, */
#define SERVE_SMALL_EXPLANATION 32    /* explanations of more facts, */
#define SERVE_SMALL_NEIGHBORS 8       /* batches of neighbors with more questions, */
#define SERVE_SMALL_EMBED 32          /* batches of vectors with more questions, */
#define SERVE_SMALL_CHANGE ((size_t)1 << 20) /* changes of more bytes of JSON */
#define SERVE_MOST_EXPLAINED 1000            /* facts of a batch of explanations */
#define SERVE_MOST_CONNECTIONS 4096
#define SERVE_MOST_STREAMS 128    /* of changes, at the same time */
#define SERVE_REQUEST_SECONDS 30  /* for a request to be whole */
#define SERVE_RESPONSE_SECONDS 60 /* for a response to be read */
#define SERVE_IDLE_SECONDS 60     /* of a connection */
#define SERVE_VIEW_SECONDS 2      /* that a thread without work keeps its view of the graph */
#define SERVE_BEAT_SECONDS 15     /* between two signs of life of a stream */
#define SERVE_LEAST_GZIP 1024     /* bytes of an answer that is worth compressing */
#define SERVE_RETRY_SECONDS 1     /* after which an overloaded server may be asked again */

typedef struct serve_limit {
    const char *name;
    uint64_t value;
} serve_limit;

/* Ended by a row without name. */
extern const serve_limit serve_limits[];

/* The one of that name, 0 if there is none. */
uint64_t serve_limit_value(const char *name);

#endif
