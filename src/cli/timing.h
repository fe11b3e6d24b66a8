/* How long it takes to embed one unseen entity, over the number of its facts and over the width of
 * embeddings: the mean of its facts (eravg), least squares as we compute it (ls), and least squares
 * as the paper writes it. Beside each the law that it should follow, fitted by one constant. */
#ifndef KG_CLI_TIMING_H
#define KG_CLI_TIMING_H

#include "base/json.h"
#include "base/progress.h"
#include "model/params.h"

/* Two lines through the plane of facts and widths; none of the numbers is 0. */
typedef struct cli_timing_options {
    const size_t *facts; /* at the width `dim` */
    size_t fact_count;
    size_t dim;
    const size_t *dims; /* of entities with `entity_facts` facts */
    size_t dim_count;
    size_t entity_facts;
    double seconds; /* that a round of a measurement takes at least */
} cli_timing_options;

/* An experiment of a report: a new reference to {"tables": [...], "plots": [...]}, in microseconds.
 * Measured on one thread; embeddings and facts are random, the same in each run. */
KG_MUST_CHECK kg_status cli_measure_embedding(json_t **out, const cli_timing_options *options,
                                              const kg_progress *progress, kg_error *error);

/* Room for least squares as written. */
typedef struct cli_written {
    double *rows;   /* A: facts x dim */
    double *square; /* dim x dim */
    double *right;  /* dim */
    real *row;      /* dim */
} cli_written;

/* z = (A^T A + l I)^-1 A^T b, where the rows of A are the facts' query vectors, normalised, and b
 * is all ones: what ls gives, to rounding. False if the embeddings are not finite. */
KG_MUST_CHECK bool cli_embed_as_written(real *z, cli_written room, const kg_params *tables,
                                        const kg_link *links, size_t count, double ridge);

/* The c for which c times the operations comes closest to the times, all above 0, by least squares
 * of logarithms: being off by a factor counts the same for short times and for long ones. */
double cli_fit_constant(const double *operations, const double *times, size_t count);

#endif
