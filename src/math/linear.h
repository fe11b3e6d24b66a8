/* Matrix products and small symmetric systems: the only place that calls BLAS and LAPACK. Matrices
 * are dense and stored by rows without gaps, unless said. Dimensions must fit into an int, which
 * callers see to: they are numbers of columns or of facts of one entity. */
#ifndef KG_MATH_LINEAR_H
#define KG_MATH_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "math/real.h"

/* BLAS must not start threads of its own: call this once before anything else here. */
void kg_linear_set_up(void);

/* The BLAS and the kind of processor that it has found: what bits may depend on. */
const char *kg_linear_blas(void);
const char *kg_linear_processor(void);

typedef enum kg_transpose { KG_AS_IS, KG_TRANSPOSED } kg_transpose;

/* c (m x n) = alpha a' b' + beta c, where a' is a or its transpose, of m x k, and b' of k x n. */
void kg_multiply(real *c, size_t m, size_t n, size_t k, real alpha, const real *a,
                 kg_transpose a_is, const real *b, kg_transpose b_is, real beta);

/* y (m) = alpha a' x + beta y, for a stored as rows x columns. */
void kg_multiply_vector(real *y, const real *a, size_t rows, size_t columns, kg_transpose a_is,
                        const real *x, real alpha, real beta);

/* Replaces the symmetric positive definite a (n x n) by its inverse, both halves filled in. False
 * if it is not positive definite (or not finite); then a is undefined. */
bool kg_invert(real *a, size_t n);

/* Solves a x = b for symmetric positive definite a (n x n), which is destroyed; x replaces b. False
 * as above. */
bool kg_solve(real *a, real *b, size_t n);

/* In double precision, whatever a real is; nothing is allocated. */

/* The products of the rows (of count x dim) with each other: all pairs of rows, count x count, or
 * all pairs of columns, dim x dim. Only the half on and below the diagonal is filled in. */
void kg_gram_wide(double *c, const double *rows, size_t count, size_t dim, bool of_rows);

/* As kg_invert and kg_solve; they read only the half on and below the diagonal. */
bool kg_invert_wide(double *a, size_t n);
bool kg_solve_wide(double *a, double *b, size_t n);

/* Solves for another b with what kg_solve_wide has left in a. */
void kg_solve_again_wide(const double *a, double *b, size_t n);

#endif
