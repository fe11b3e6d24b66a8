/* The number that embeddings are made of: float, or double in the build that the tests compare with
 * the golden numbers. Nothing outside the library ever sees which. */
#ifndef KG_MATH_REAL_H
#define KG_MATH_REAL_H

#ifdef KG_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* One function, compiled for several kinds of processor; the loader picks the best. Sanitizers and
 * clang do without. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(KG_NO_CLONES)
#define KG_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KG_CLONES
#endif

#endif
