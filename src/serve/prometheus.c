/* Counters, histograms, and their text. */
#include "serve/prometheus.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

/* Ended by infinity. */
static const double seconds[] = {.0005, .001, .0025, .005, .01, .025, .05, .1,
                                 .25,   .5,   1,     2.5,  5,   10,   30,  INFINITY};
static const double sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, INFINITY};

static const double *bounds_of(serve_measure measure) {
    return measure == SERVE_BATCH_SIZE ? sizes : seconds;
}

static serve_histogram *histogram_of(serve_metrics *metrics, serve_measure measure, size_t route) {
    if (measure == SERVE_BATCH_SIZE)
        return &metrics->batch_sizes;
    return measure == SERVE_COMMIT_TIME ? &metrics->commit_times : &metrics->request_times[route];
}

void serve_metrics_count(serve_metrics *metrics, size_t route, int status) {
    atomic_fetch_add_explicit(&metrics->requests[route][status / 100 % SERVE_STATUS_CLASSES], 1,
                              memory_order_relaxed);
}

void serve_metrics_observe(serve_metrics *metrics, serve_measure measure, size_t route,
                           double value) {
    serve_histogram *histogram = histogram_of(metrics, measure, route);
    const double *bounds = bounds_of(measure);
    size_t bucket = 0;
    while (value > bounds[bucket])
        bucket++;
    atomic_fetch_add_explicit(&histogram->buckets[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum, (uint64_t)(1e6 * value), memory_order_relaxed);
}

/* ---- Text ---- */

struct text {
    char *bytes;
    size_t size;
    size_t capacity;
    bool is_short; /* of memory */
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *text, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    char *bytes = kg__grow(text->bytes, &text->capacity, text->size + (size_t)length + 1, 1);
    if (bytes == NULL) {
        text->is_short = true;
        return;
    }
    text->bytes = bytes;
    snprintf(bytes + text->size, (size_t)length + 1, "%s", line);
    text->size += (size_t)length;
}

static void put_head(struct text *text, const char *name, const char *kind, const char *help) {
    put(text, "# HELP kgraft_%s %s\n# TYPE kgraft_%s %s\n", name, help, name, kind);
}

/* `label` is empty, or a label and its value. */
static void put_histogram(struct text *text, const char *name, const char *label,
                          const serve_histogram *histogram, const double *bounds) {
    const char *comma = label[0] == '\0' ? "" : ",";
    uint64_t below = 0;
    for (size_t i = 0;; i++) {
        below += atomic_load_explicit(&histogram->buckets[i], memory_order_relaxed);
        if (isinf(bounds[i]))
            break;
        put(text, "kgraft_%s_bucket{%s%sle=\"%g\"} %ju\n", name, label, comma, bounds[i],
            (uintmax_t)below);
    }
    put(text, "kgraft_%s_bucket{%s%sle=\"+Inf\"} %ju\n", name, label, comma, (uintmax_t)below);
    const char *open = label[0] == '\0' ? "" : "{";
    const char *close = label[0] == '\0' ? "" : "}";
    put(text, "kgraft_%s_sum%s%s%s %.6f\n", name, open, label, close,
        1e-6 * (double)atomic_load_explicit(&histogram->sum, memory_order_relaxed));
    put(text, "kgraft_%s_count%s%s%s %ju\n", name, open, label, close, (uintmax_t)below);
}

static void put_requests(struct text *text, const serve_metrics *metrics,
                         const char *const *routes) {
    put_head(text, "http_requests_total", "counter", "Requests by operation and class of status.");
    for (size_t i = 0; routes[i] != NULL; i++)
        for (int class = 1; class < SERVE_STATUS_CLASSES; class ++) {
            uint64_t count = atomic_load(&metrics->requests[i][class]);
            if (count > 0)
                put(text, "kgraft_http_requests_total{operation=\"%s\",status=\"%dxx\"} %ju\n",
                    routes[i], class, (uintmax_t)count);
        }
    put_head(text, "http_request_duration_seconds", "histogram",
             "Time from a request's first line to its last byte, by operation.");
    for (size_t i = 0; routes[i] != NULL; i++) {
        char label[96];
        snprintf(label, sizeof label, "operation=\"%s\"", routes[i]);
        if (atomic_load(&metrics->request_times[i].count) > 0)
            put_histogram(text, "http_request_duration_seconds", label, &metrics->request_times[i],
                          seconds);
    }
}

char *serve_metrics_text(const serve_metrics *metrics, const char *const *routes,
                         const serve_gauge *gauges, size_t *size) {
    struct text text = {0};
    put_requests(&text, metrics, routes);
    put_head(&text, "prediction_batch_size", "histogram", "Questions answered by one call.");
    put_histogram(&text, "prediction_batch_size", "", &metrics->batch_sizes, sizes);
    put_head(&text, "commit_duration_seconds", "histogram",
             "Time of a commit, the sync to disk included.");
    put_histogram(&text, "commit_duration_seconds", "", &metrics->commit_times, seconds);
    put_head(&text, "http_refused_total", "counter", "Requests refused since too many waited.");
    put(&text, "kgraft_http_refused_total %ju\n", (uintmax_t)atomic_load(&metrics->refused));
    put_head(&text, "http_sent_bytes_total", "counter", "Bytes of bodies that were sent.");
    put(&text, "kgraft_http_sent_bytes_total %ju\n", (uintmax_t)atomic_load(&metrics->bytes));
    for (; gauges->name != NULL; gauges++) {
        put_head(&text, gauges->name, gauges->kind, gauges->help);
        put(&text, "kgraft_%s %.15g\n", gauges->name, gauges->value);
    }
    *size = text.size;
    if (!text.is_short)
        return text.bytes;
    kg__free(text.bytes);
    return NULL;
}
