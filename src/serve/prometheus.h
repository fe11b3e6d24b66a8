/* What is counted and timed, in Prometheus' text form. Threads count without locks. */
#ifndef KG_SERVE_PROMETHEUS_H
#define KG_SERVE_PROMETHEUS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"

/* A histogram's upper bounds, the last of which is infinity. */
#define SERVE_MOST_BUCKETS 16

typedef struct serve_histogram {
    _Atomic uint64_t buckets[SERVE_MOST_BUCKETS];
    _Atomic uint64_t count;
    _Atomic uint64_t sum; /* in millionths */
} serve_histogram;

typedef enum serve_measure {
    SERVE_REQUEST_TIME,
    SERVE_BATCH_SIZE,
    SERVE_COMMIT_TIME
} serve_measure;

#define SERVE_MOST_ROUTES 40
#define SERVE_STATUS_CLASSES 6 /* 0xx to 5xx */

typedef struct serve_metrics {
    _Atomic uint64_t requests[SERVE_MOST_ROUTES][SERVE_STATUS_CLASSES]; /* by route and class */
    serve_histogram request_times[SERVE_MOST_ROUTES];
    serve_histogram batch_sizes;
    serve_histogram commit_times;
    _Atomic uint64_t refused; /* since too many waited */
    _Atomic uint64_t bytes;   /* of bodies that were sent */
} serve_metrics;

void serve_metrics_count(serve_metrics *metrics, size_t route, int status);

/* `route` matters for SERVE_REQUEST_TIME alone. */
void serve_metrics_observe(serve_metrics *metrics, serve_measure measure, size_t route,
                           double value);

/* A value that is read when it is asked for. */
typedef struct serve_gauge {
    const char *name;
    const char *kind; /* "gauge" or "counter" */
    const char *help;
    double value;
} serve_gauge;

/* Writes everything as text, to be kg_freed; NULL if memory is short. `routes` are the names of
 * routes by index, ended by NULL; gauges are ended by one without name. */
char *serve_metrics_text(const serve_metrics *metrics, const char *const *routes,
                         const serve_gauge *gauges, size_t *size);

#endif
