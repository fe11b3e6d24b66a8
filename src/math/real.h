/* The type of the numbers in embeddings: float, or double in the build that the tests compare with
 * the golden numbers. The public interface does not depend on it. */
#ifndef KG_MATH_REAL_H
#define KG_MATH_REAL_H

#include <float.h>
#include <stdbool.h>

#ifdef KG_DOUBLE
typedef double real;
#define KG_REAL_EPSILON DBL_EPSILON
#define KG_REAL_MIN DBL_MIN
#define KG_REAL_MAX DBL_MAX
#else
typedef float real;
#define KG_REAL_EPSILON FLT_EPSILON
#define KG_REAL_MIN FLT_MIN
#define KG_REAL_MAX FLT_MAX
#endif

/* Whether a setting is above 0 and finite, and still is when it becomes a real. */
static inline bool kg__is_positive(double x) {
    return x <= (double)KG_REAL_MAX && (real)x > 0;
}

/* Compiles a function for several kinds of processor; the loader chooses the best. Not with
 * sanitizers or clang. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(KG_NO_CLONES)
#define KG_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KG_CLONES
#endif

#endif
