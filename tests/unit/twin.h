/* The plain twin of models and aggregators: the formulas of the design as they stand, in double,
 * the slow way, sharing nothing with the library but what a link is. What is fast is compared with
 * it. */
#ifndef KG_TESTS_TWIN_H
#define KG_TESTS_TWIN_H

#include "aggregate/aggregate.h"

typedef struct twin_model {
    const char *model;
    const char *aggregate;
    bool is_weighted; /* ls: rows q_i and targets |q_i| */
    double lambda;
    size_t dim;
    const double *entities;
    const double *relations;
} twin_model;

/* The score of a triple of rows. */
double twin_score(const twin_model *twin, const double *head, const double *relation,
                  const double *tail);

/* N3 of one vector: the cubes of the moduli of its numbers. */
double twin_norm(const twin_model *twin, const double *x);

/* What the aggregator makes its sum or its equations of: a row of `dim` for each link. */
void twin_rows(const twin_model *twin, double *rows, const kg_link *links, size_t count);

/* Equations may be solved for z itself (primal), or for a weight of each row (dual): the result is
 * the same. */
typedef enum twin_way { TWIN_PRIMAL, TWIN_DUAL } twin_way;

/* z of these rows. */
void twin_combine(const twin_model *twin, double *z, const double *rows, size_t count,
                  twin_way way);

/* Equations alone: what the aggregator makes of these rows, A (count x dim) and b (count); and x
 * with (A^T A + lambda I) x = right. */
void twin_equations(const twin_model *twin, double *a, double *b, const double *rows, size_t count);
void twin_back(const twin_model *twin, double *x, const double *right, const double *rows,
               size_t count);

/* ials, M being made of the links' relations as the design has it. The first `entity_count` rows
 * are all entities. What they add to M for a directed relation is made when it is first needed and
 * kept: the model must not change until the caller gives that back. */
#define TWIN_MOST_DIRECTED 64
typedef struct twin_ials {
    double alpha;
    double lambda;
    size_t entity_count;
    long double *implicit[TWIN_MOST_DIRECTED]; /* dim x dim, on and below the diagonal, or NULL */
} twin_ials;

void twin_ials_free(twin_ials *ials);

/* x with M x = right. */
void twin_ials_solve(const twin_model *twin, twin_ials *ials, double *x, const double *right,
                     const kg_link *links, size_t count);

#endif
