/* The time to embed one unseen entity, over the number of its facts and over the dimension of
 * embeddings: the mean of its facts (eravg), least squares as implemented here (ls), and least
 * squares as the paper writes it. Beside each its theoretical complexity, fitted by one constant.
 */
#ifndef KG_EXPERIMENT_EMBED_TIMING_H
#define KG_EXPERIMENT_EMBED_TIMING_H

#include "base/json.h"
#include "base/progress.h"
#include "model/params.h"

/* Two series of points: over facts and over dimensions. None of the numbers is 0. */
typedef struct experiment_timing_options {
    const size_t *facts; /* at dimension `dim` */
    size_t fact_count;
    size_t dim;
    const size_t *dims; /* of entities with `entity_facts` facts */
    size_t dim_count;
    size_t entity_facts;
    double seconds; /* least duration of a round of a measurement */
} experiment_timing_options;

/* An experiment of a report: a new reference to {"tables": [...], "plots": [...]}, in microseconds.
 * Measured on one thread; embeddings and facts are random, the same in each run. */
KG_MUST_CHECK kg_status experiment_measure_embedding(json_t **out,
                                                     const experiment_timing_options *options,
                                                     const kg_progress *progress, kg_error *error);

/* Scratch memory for least squares as the paper writes it. */
typedef struct experiment_written {
    double *rows;   /* A: facts x dim */
    double *square; /* dim x dim */
    double *right;  /* dim */
    real *row;      /* dim */
} experiment_written;

/* z = (A^T A + l I)^-1 A^T b, where the rows of A are the facts' query vectors, normalised, and b
 * is all ones: what ls gives, to rounding. False if the embeddings are not finite. */
KG_MUST_CHECK bool experiment_embed_as_written(real *z, experiment_written scratch,
                                               const kg_params *params, const kg_link *links,
                                               size_t count, double ridge);

/* The c for which c times the operations is closest to the times, all above 0, by least squares of
 * logarithms: relative errors count the same for short and long times. */
double experiment_fit_constant(const double *operations, const double *times, size_t count);

#endif
