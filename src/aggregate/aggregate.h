/* An unseen entity is the set of its links, and so a set of rows: the query vectors of its facts
 * (for eavg, the other ends themselves). An aggregator makes one vector z of them.
 *
 * An entity is loaded once and then used any number of times, with some links left out each time:
 * one after the other for evaluation, whatever a training triple must not know for learning. The
 * gradients of all uses are gathered and come out as gradients on the rows: one that all rows
 * share, and others that single rows have on top. The model is known only through its kernels. */
#ifndef KG_AGGREGATE_AGGREGATE_H
#define KG_AGGREGATE_AGGREGATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "aggregate/fact_rows.h"
#include "aggregate/ridge.h"
#include "model/model.h"

/* How least squares weighs its equations z . q_i = target: rows q_i/|q_i| and targets 1, or rows
 * q_i and targets |q_i|. */
typedef enum kg_ls_rows { KG_LS_NORMALIZED, KG_LS_WEIGHTED } kg_ls_rows;
extern const char *const kg__ls_rows_names[]; /* ended by NULL */

/* What is usual. */
#define KG_LS_LAMBDA 0.1
#define KG_IALS_ALPHA 0.001
#define KG_IALS_LAMBDA 0.1

/* A query vector shorter than this has no direction that training could follow: the gradient of a
 * direction grows as the length falls, and L2 makes rows that no triple touches as short as the
 * number format allows. Normalized, it is the zero vector. */
#define KG_LEAST_NORM 1e-6

typedef struct kg_aggregate_options {
    const struct kg_aggregator *aggregator;
    double ls_lambda; /* the ridge, above 0 */
    kg_ls_rows ls_rows;
    double ials_alpha;  /* the weight of implicit negatives, above 0 */
    double ials_lambda; /* the ridge, in units of the facts' mean |q|^2; above 0 */
} kg_aggregate_options;

/* An aggregator with what is usual. */
kg_aggregate_options kg__aggregate_usual(const struct kg_aggregator *aggregator);

/* Refuses a ridge or a weight that is none, and an encoder's aggregator for a model that has none,
 * or another one for a model that has. */
KG_MUST_CHECK kg_status kg__aggregate_check(const kg_aggregate_options *options,
                                            const kg_scoring *kind, kg_error *error);

/* What a user may ask for; what is not asked for is as the model was trained. */
typedef struct kg_aggregate_overrides {
    const char *aggregate; /* NULL: not asked for */
    const char *ls_rows;   /* NULL */
    double ls_lambda;      /* NAN, and so the following */
    double ials_alpha;
    double ials_lambda;
} kg_aggregate_overrides;

#define KG_NO_OVERRIDES \
    { .ls_lambda = (double)NAN, .ials_alpha = (double)NAN, .ials_lambda = (double)NAN }

/* Makes one of numbers as the public interface has them: 0 is not asked for, NaN is refused. */
KG_MUST_CHECK kg_status kg__overrides_take(kg_aggregate_overrides *wish, kg_error *error);

/* The options for a model, checked. */
KG_MUST_CHECK kg_status kg__aggregate_choose(kg_aggregate_options *out,
                                             const kg_aggregate_overrides *wish,
                                             const kg_model *model, kg_error *error);

/* The aggregator and the settings that it goes by, under the names that a model's settings have;
 * NULL if memory is short. A new reference. */
json_t *kg__aggregate_json(const kg_aggregate_options *options);

/* Whether the probabilities that the model's calibration gives are those of entities that are
 * embedded so. A calibration that does not say what it is for is for what the model was trained
 * with. */
bool kg__aggregate_is_calibrated(const kg_aggregate_options *options, const kg_model *model);

/* In place of the position of a link: none is left out. */
#define KG_NOTHING SIZE_MAX

/* A loaded entity, and room to work in: one for each thread, used again and again. The arrays are
 * its own; what a load leaves in them stays valid until the next. */
typedef struct kg_aggregate {
    kg_aggregate_options options;
    kg_params params;     /* borrows the embeddings */
    const kg_link *links; /* borrowed */
    size_t count;
    size_t capacity;      /* links that there is room for */
    size_t left_capacity; /* that there is room for in one use */

    const real **others; /* count: the other ends' rows, where an aggregator wants them together */

    real *sum;     /* dim. mean: the sum of all rows */
    real *rows;    /* count x dim. mean: see mean.c */
    real *scratch; /* mean: dim */
    kg_link *kept; /* count. rgcn-d: the links that are not left out */

    /* ls, in double precision: equations . z = targets, and what the last use made of them. */
    kg_fact_map map;
    kg_ridge ridge;
    double *equations; /* count x dim */
    double *targets;   /* count */
    double *norms;     /* count: |q_i| */
    double *z;         /* dim */
    double *h;         /* dim */
    double *wide;      /* dim: scratch memory */

    real *shared;        /* dim: gradient that all rows share */
    real *own;           /* count x dim: gradients on top of it, of the rows that have one */
    double *own_targets; /* count. ls: gradients on the targets */
    bool *has_own;       /* count */
} kg_aggregate;

typedef struct kg_aggregator {
    const char *name;
    bool uses_queries; /* rows are query vectors; if not, the other ends themselves */
    bool is_shared;    /* gradients are mostly the same for all rows */
    bool is_plain;     /* ls: equations are neither normalised nor weighted */
    bool is_encoder;   /* applies the params' encoder; there is no way back */
    bool is_implicit;  /* ials: needs the params' gram; answers only (ials.h) */
    bool is_asked; /* graft: weights depend on what is asked; learned by questions (learn/ask.h) */
    void (*load)(kg_aggregate *aggregate);
    void (*forward)(kg_aggregate *aggregate, real *z, kg_left_out left);
    void (*backward)(kg_aggregate *aggregate, const real *g, kg_left_out left);
    void (*finish)(kg_aggregate *aggregate); /* turns what was gathered into gradients on rows */
} kg_aggregator;

/* eavg, eravg, ls, ls-u, rgcn-d, graft, ials; ended by a row without name. */
extern const kg_aggregator kg__aggregators[];
extern const char *const kg__aggregator_names[]; /* ended by NULL */
const kg_aggregator *kg__aggregator_find(const char *name);

void kg__aggregate_open(kg_aggregate *aggregate, kg_aggregate_options options, kg_params params);
void kg__aggregate_close(kg_aggregate *aggregate);

/* Loads an entity by its links, which must differ from each other; no use of it will leave out more
 * than `most_left_out`. */
KG_MUST_CHECK kg_status kg__aggregate_load(kg_aggregate *aggregate, const kg_link *links,
                                           size_t count, size_t most_left_out, kg_error *error);

/* z of the links that are not left out; the zero vector if there are none. */
void kg__aggregate_forward(kg_aggregate *aggregate, real *z, kg_left_out left);

/* Gathers the gradient g on the z that the last use gave, which left out the same. */
void kg__aggregate_backward(kg_aggregate *aggregate, const real *g, kg_left_out left);

/* After the last use: `shared`, `own` and `has_own` hold the gradients on the rows. */
void kg__aggregate_finish(kg_aggregate *aggregate);

/* The row of link i of the entity that is being loaded, as the aggregator wants it. */
void kg__aggregate_row(const kg_aggregate *aggregate, real *row, size_t i);

/* Row i's own gradient, zeroed when it is asked for the first time. */
real *kg__aggregate_own(kg_aggregate *aggregate, size_t i);

#endif
