/* Ridge regression in double precision: what ls is made of. With rows A, right sides b and g, and
 * ridge l it solves
 *
 *     y = H^-1 (A^T b + g),   H = A^T A + l I
 *
 * With the targets as b and no g, y is z; with a gradient on z as g and no b, y is what the
 * gradients on A and b are made of. Any equations can be left out of it.
 *
 * Accuracy: solutions of normal equations lose a factor of the condition of H, which is at most
 * 1 + (sum of |a_i|^2) / l, times what sums over the rows lose. Where that may be seen after
 * rounding to a real, they are improved by iterative refinement with residuals that are made of A
 * itself, not of H (Bjorck 1987): then what is left is what rounding each row would change. */
#ifndef KG_AGGREGATE_RIDGE_SOLVER_H
#define KG_AGGREGATE_RIDGE_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Links that are left out, as positions among the entity's, ascending. */
typedef struct kg_left_out {
    const size_t *positions;
    size_t count;
} kg_left_out;

/* Whether position i is left out, for a loop over all positions; `*skipped` starts as 0. */
static inline bool kg__is_left_out(kg_left_out left, size_t *skipped, size_t i) {
    bool is_it = *skipped < left.count && left.positions[*skipped] == i;
    *skipped += is_it;
    return is_it;
}

/* Up to so many equations, the system of those that are kept is solved as if there were no others,
 * from products that do not depend on what is left out: and so neither do the bits. */
#define KG_RIDGE_FEW 48

typedef struct kg_ridge {
    size_t dim;
    double lambda;

    const double *rows;    /* count x dim; borrowed */
    const double *targets; /* count; borrowed */
    size_t count;
    kg_left_out left; /* borrowed */
    bool has_inverse; /* where they are not few */
    bool is_broken;   /* the rows that are kept are not finite, so neither are solutions */
    double error;     /* a bound of that of solutions, as a share; where they are not few */
    bool is_rough;    /* it may be seen, if they are not refined */

    double *products; /* few: of rows with each other */
    double *inverse;  /* few: the factor of what is kept; else (A A^T + l I)^-1, or H^-1 */
    double *sum;      /* dim. H^-1: A^T targets */
    double *columns;  /* of the inverse, times the rows left out if it is H^-1: left x dim */
    double *small;    /* left x left: the factor of the system that leaves them out */
    double *right;    /* left */
    double *links[3]; /* count, each */
    double *dims[3];  /* dim, each */
} kg_ridge;

/* Takes a matrix of an arena. False: no memory. */
bool kg__take_wide(kg_arena *arena, double **out, size_t rows, size_t columns);

/* Takes memory for `count` equations, of which up to `left_out` are left out at a time. False: no
 * memory. */
bool kg__ridge_open(kg_ridge *ridge, kg_arena *arena, size_t dim, size_t count, size_t left_out);

/* Loads equations. Then comes kg__ridge_leave_out, before any solution. */
void kg__ridge_load(kg_ridge *ridge, double lambda, const double *rows, const double *targets,
                    size_t count);

/* What the solutions that follow are without: not all equations. Positions must outlive them. */
void kg__ridge_leave_out(kg_ridge *ridge, kg_left_out left);

/* z (dim) by the targets, */
void kg__ridge_fit(kg_ridge *ridge, double *z);

/* and the weights (count) with which it is the sum of the rows: residuals over the ridge, and 0 for
 * what is left out. */
void kg__ridge_weigh(const kg_ridge *ridge, double *weights, const double *z);

/* h = H^-1 g (dim). */
void kg__ridge_back(kg_ridge *ridge, double *h, const double *g);

#endif
