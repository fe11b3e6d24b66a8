/* Plain loops that compilers turn into vector code; the pragma allows them to split a sum. */
#include "math/vector.h"

KG_CLONES real kg_dot(const real *x, const real *y, size_t n) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

KG_CLONES void kg_add_scaled(real *restrict y, real a, const real *restrict x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

KG_CLONES void kg_scale(real *x, real a, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] *= a;
}
