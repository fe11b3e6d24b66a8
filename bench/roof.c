/* Measurements of the machine: the best of a few rounds. */
#include "roof.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/progress.h"
#include "math/linalg.h"

#define STREAM ((size_t)1 << 26) /* numbers in an array */
#define GEMM 768

double roof_best(double a, double b) {
    return a > b ? a : b;
}

double roof_seconds(int threads) {
    struct timespec now;
    if (threads > 1)
        return kg__seconds();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double roof_bytes(int threads) {
    float *a = malloc(STREAM * sizeof *a);
    float *b = malloc(STREAM * sizeof *b);
    float *c = malloc(STREAM * sizeof *c);
    double best = 0;
    if (a == NULL || b == NULL || c == NULL)
        exit(1);
#pragma omp parallel for num_threads(threads)
    for (size_t i = 0; i < STREAM; i++)
        a[i] = b[i] = c[i] = 1;
    for (int round = 0; round < 5; round++) {
        double started = roof_seconds(threads);
#pragma omp parallel for simd num_threads(threads)
        for (size_t i = 0; i < STREAM; i++)
            a[i] = b[i] + 3 * c[i];
        best = roof_best(best, 3.0 * STREAM * sizeof *a / (roof_seconds(threads) - started));
    }
    free(a);
    free(b);
    free(c);
    return best;
}

double roof_read(const float *values, size_t count, int threads) {
    float sum = 0;
    double started = roof_seconds(threads);
#pragma omp parallel for simd num_threads(threads) reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    double rate = (double)(count * sizeof *values) / (roof_seconds(threads) - started);
    return sum == sum ? rate : 0; /* or a compiler sees that nobody wants the sum */
}

double roof_flops(int threads) {
    double best = 0;
    if (kg__linear_set_up(threads, NULL) != KG_OK)
        exit(1);
    for (int round = 0; round < 5; round++) {
        double started = 0;
#pragma omp parallel num_threads(threads)
        {
            float *a = malloc((size_t)3 * GEMM * GEMM * sizeof *a);
            if (a == NULL)
                exit(1);
            memset(a, 0, (size_t)3 * GEMM * GEMM * sizeof *a);
#pragma omp barrier
#pragma omp master
            started = roof_seconds(threads);
#pragma omp barrier
            kg__multiply(a, GEMM, GEMM, GEMM, 1, a + GEMM * GEMM, KG_AS_IS, a + 2 * GEMM * GEMM,
                         KG_AS_IS, 0);
#pragma omp barrier
#pragma omp master
            best = roof_best(best, threads * 2.0 * GEMM * GEMM * GEMM /
                                       (roof_seconds(threads) - started));
            free(a);
        }
    }
    return best;
}
