/* Matrix products and small symmetric systems: the only place that calls BLAS and LAPACK. Matrices
 * are dense and stored by rows without gaps, unless said. Dimensions must fit into an int, which
 * callers ensure: they are numbers of columns or of facts of one entity. */
#ifndef KG_MATH_LINALG_H
#define KG_MATH_LINALG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "math/real.h"

/* The address space that BLAS reserves for each concurrent call; most of it is never used. */
#define KG_LINEAR_BUFFER ((size_t)128 << 20)

/* To be called before anything else here that `threads` threads may call at once; calling it again
 * costs next to nothing. Keeps BLAS from starting threads of its own, and allocates its scratch
 * memory, since BLAS would wait for ever for memory that it cannot get. */
KG_MUST_CHECK kg_status kg__linear_set_up(int threads, kg_error *error);

/* The BLAS, and the kernels that it uses here, by the name of the processor that they were written
 * for ("Haswell", "SkylakeX"): what bits and speed may depend on. */
const char *kg__linear_blas(void);
const char *kg__linear_kernels(void);

/* The name of kernels that are better for this processor, by its features, or NULL if those in use
 * are as good. OpenBLAS chooses by the processor's model when it is loaded, so that a model newer
 * than OpenBLAS gets the oldest kernels; OPENBLAS_CORETYPE in the environment, set before that,
 * chooses others. */
const char *kg__linear_better_kernels(void);

typedef enum kg_transpose { KG_AS_IS, KG_TRANSPOSED } kg_transpose;

/* c (m x n) = alpha a' b' + beta c, where a' is a or its transpose, of m x k, and b' of k x n. */
void kg__multiply(real *c, size_t m, size_t n, size_t k, real alpha, const real *a,
                  kg_transpose a_is, const real *b, kg_transpose b_is, real beta);

/* y (m) = alpha a' x + beta y, for a stored as rows x columns. */
void kg__multiply_vector(real *y, const real *a, size_t rows, size_t columns, kg_transpose a_is,
                         const real *x, real alpha, real beta);

/* In double precision, whatever a real is; nothing is allocated. Of a symmetric matrix only the
 * half on and below the diagonal is read. */

/* The products of the rows (of count x dim) with each other: all pairs of rows, count x count, or
 * all pairs of columns, dim x dim. Only the half on and below the diagonal is filled in. */
void kg__gram_wide(double *c, const double *rows, size_t count, size_t dim, bool of_rows);

/* Replaces the symmetric positive definite a (n x n) by its inverse, both halves filled in. False
 * if it is not positive definite (or not finite); then a is undefined. */
bool kg__invert_wide(double *a, size_t n);

/* Replaces it by its Cholesky factor; false as above. */
bool kg__factor_wide(double *a, size_t n);

/* Solves a x = b by the factor of a; x replaces b. */
void kg__solve_wide(const double *factor, double *b, size_t n);

#endif
