/* The time, as the server uses it. */
#ifndef KG_SERVE_CLOCK_H
#define KG_SERVE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Seconds since some moment, for intervals. */
static inline time_t serve_clock_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* Milliseconds since 1970. */
static inline int64_t serve_clock_date(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

#endif
