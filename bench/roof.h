/* What the machine can do at best, measured in the same run as what is compared with it. */
#ifndef KG_BENCH_ROOF_H
#define KG_BENCH_ROOF_H

#include <stddef.h>

double roof_best(double a, double b);

/* Seconds of a clock: of one thread, those that it has a processor, which other processes do not
 * count in. */
double roof_seconds(int threads);

/* Bytes a second from main memory: a triad over arrays of 256 MB. */
double roof_bytes(int threads);

/* Bytes a second that a plain sum over these numbers reads, once. */
double roof_read(const float *values, size_t count, int threads);

/* Floating-point operations a second in sgemm. */
double roof_flops(int threads);

#endif
