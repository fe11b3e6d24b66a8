/* An unseen entity is the set of its facts, and so a set of rows: the query vectors of its facts
 * (for eavg, the other ends themselves). An aggregator makes one vector z of them.
 *
 * An entity is loaded once and then used any number of times, with some facts left out each time:
 * one after the other for evaluation, whatever a training query must not know for learning. The
 * gradients of all uses are summed and come out as gradients on the rows. The scoring function is
 * known only through its kernels.
 *
 * An aggregator is a row of a table. What it computes lives in an arena, so that loading is all
 * that can run out of memory, and many entities can be loaded at a time. */
#ifndef KG_AGGREGATE_AGGREGATE_H
#define KG_AGGREGATE_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregate/ridge_solver.h"
#include "base/arena.h"
#include "model/sparse_grads.h"
#include "model/term.h"

/* How least squares weighs its equations z . q_i = target: rows q_i/|q_i| and targets 1, or rows
 * q_i and targets |q_i|. */
typedef enum kg_ls_rows { KG_LS_NORMALIZED, KG_LS_WEIGHTED } kg_ls_rows;
extern const char *const kg__ls_rows_names[]; /* ended by NULL */

typedef struct kg_aggregate_options {
    const struct kg_aggregator *aggregator;
    double ls_lambda; /* the ridge, above 0 */
    kg_ls_rows ls_rows;
    double ials_alpha;  /* the weight of implicit negatives, above 0 */
    double ials_lambda; /* the ridge, in units of the facts' mean |q|^2; above 0 */
    double graft_power; /* in training: the sum over N facts is divided by N^power, */
    bool graft_weights; /* and weights of pairs of relations are learned */
    bool is_exact;      /* z has the same bits whether a fact is left out or was never there, where
                         * that would otherwise cost time for each of the facts */
} kg_aggregate_options;

/* In place of the position of a fact: none is left out. */
#define KG_NOTHING SIZE_MAX

/* A loaded entity. */
typedef struct kg_aggregate {
    const kg_aggregate_options *options; /* borrowed */
    const kg_params *params;             /* borrowed */
    kg_arena *arena;                     /* borrowed; holds all that follows but the links */
    const kg_link *links;                /* borrowed */
    size_t count;
    uint32_t *groups; /* group_count + 1: where the links of each directed relation start */
    size_t group_count;
    const kg_directed *queries; /* borrowed: directed relations that z is queried with */
    size_t query_count;
    size_t query; /* the one at hand: its number */
    void *state;  /* the aggregator's own */

    /* Gradients on rows, after kg__aggregate_finish. Those of a group share one, that of group g
     * being group_gradients[g * group_stride]; NULL: they share none. `own` is what a row has on
     * top of that; NULL: nothing. */
    const real *group_gradients;
    size_t group_stride;
    const real *group_sums; /* groups x dim: the other ends' rows, summed */
    real **own;
} kg_aggregate;

typedef struct kg_aggregator {
    const char *name;
    bool is_encoder;                  /* applies the encoder of a model that has one */
    bool rows_are_entities;           /* rows are the other ends, not query vectors */
    bool needs_gram;                  /* reads the parameters' gram */
    bool backward_needs_last_forward; /* there is a way back from the last use alone */
    unsigned settings;                /* that it goes by: bits of kg_aggregate_setting */

    /* Parameters of its own, which are those of the embedding's view: as `count` and `open` of a
     * term. NULL: it has none. */
    kg_status (*count)(kg_term_view *out, const kg_term_source *source, kg_error *error);
    kg_status (*open)(kg_term_view *out, struct kg_model *model, const char *path, kg_error *error);

    /* False: no memory. */
    bool (*load)(kg_aggregate *aggregate, size_t most_left_out);

    /* One of the queries has become another one; NULL if z does not depend on it. */
    void (*set_query)(kg_aggregate *aggregate, size_t query);

    /* z of the links that are not left out, at least one. */
    void (*forward)(kg_aggregate *aggregate, real *z, kg_left_out left);

    /* The next two are NULL if nothing can be learned through it. Adds the gradient g on the z
     * that a use gave which left out the same, for the query at hand. False: no memory. */
    bool (*backward)(kg_aggregate *aggregate, const real *g, kg_left_out left);

    /* Makes gradients on rows of it, and adds those on parameters of the aggregator's own; NULL if
     * `own` has all. */
    kg_status (*finish)(kg_aggregate *aggregate, kg_grads *grads, kg_error *error);

    /* The weight that a fact which is not left out has in the last z, where options are exact, and
     * its part of the score z . vector; NULL if z is no sum over facts. */
    double (*weight)(const kg_aggregate *aggregate, size_t i);
    double (*part)(kg_aggregate *aggregate, size_t i, const real *vector);
} kg_aggregator;

typedef enum kg_aggregate_setting {
    KG_BY_LS_LAMBDA = 1,
    KG_BY_LS_ROWS = 2,
    KG_BY_IALS = 4,
    KG_BY_GRAFT = 8, /* of training alone: a model has them among its parameters */
} kg_aggregate_setting;

extern const kg_aggregator *const kg__aggregators[]; /* ended by NULL */
const kg_aggregator *kg__aggregator_find(const char *name);

/* Names of those of an encoder; of all others; of these, those that have no parameters. */
typedef enum kg_aggregator_set { KG_OF_ENCODER, KG_OF_FACTS, KG_WITHOUT_PARAMS } kg_aggregator_set;
typedef struct kg_aggregator_names {
    char text[128];
} kg_aggregator_names;
kg_aggregator_names kg__aggregators_list(kg_aggregator_set set);

/* What a use of an aggregate is about. */
typedef struct kg_aggregate_use {
    const kg_link *links; /* each another one, sorted; they have to outlive it */
    size_t count;
    const kg_directed *queries; /* each once; they have to outlive it */
    size_t query_count;
    size_t most_left_out; /* in one use */
} kg_aggregate_use;

/* Loads an entity. What options and params point to has to outlive it. */
KG_MUST_CHECK kg_status kg__aggregate_load(kg_aggregate *out, const kg_aggregate_options *options,
                                           const kg_params *params, kg_arena *arena,
                                           const kg_aggregate_use *use, kg_error *error);

/* The query at hand, by its number. */
void kg__aggregate_set_query(kg_aggregate *aggregate, size_t query);

/* The first query has become another one, which is at hand; there is no way back from it. */
void kg__aggregate_renew_query(kg_aggregate *aggregate);

/* z of the links that are not left out; the zero vector if there are none. */
void kg__aggregate_forward(kg_aggregate *aggregate, real *z, kg_left_out left);

/* Adds the gradient g on the z that a use gave which left out the same, for the query at hand: the
 * last use, if there is a way back from that alone. */
KG_MUST_CHECK kg_status kg__aggregate_backward(kg_aggregate *aggregate, const real *g,
                                               kg_left_out left, kg_error *error);

/* After the last use: adds the gradients on all that the entity was made of. */
KG_MUST_CHECK kg_status kg__aggregate_finish(kg_aggregate *aggregate, kg_grads *grads,
                                             kg_error *error);

/* ---- For aggregators ---- */

/* The row of a fact with these other ends, or of several of the same relation with their sum. */
void kg__aggregate_make_row(const kg_aggregate *aggregate, real *row, kg_directed directed,
                            const real *other);

/* The row of link i. */
void kg__aggregate_row(const kg_aggregate *aggregate, real *row, size_t i);

/* The linear map u -> q(rho, u) of one directed relation, in double precision. A query vector's
 * numbers depend on those of u at the same place of the parts (model/scoring.h): number k of it is
 * the sum over parts p of factors[p][k] times u's number of part p at the same place. */
typedef struct kg_fact_map {
    double *factors; /* parts x dim */
    real *ones;      /* 2 x dim: scratch memory */
} kg_fact_map;

/* Makes it that of `directed`. */
void kg__fact_map_set(kg_fact_map *map, const kg_params *params, kg_directed directed);

/* The query vectors (count x dim) of all links, and a map. Where those of many facts are nearly
 * collinear, what solves equations with them magnifies the rounding of a row by the number of
 * facts; so they are not rounded to a real in between. False: no memory. */
bool kg__aggregate_wide_rows(const kg_aggregate *aggregate, double **rows, kg_fact_map *map);

/* The group of link i. */
size_t kg__aggregate_group(const kg_aggregate *aggregate, size_t i);

/* Row i's own gradient, zero the first time; NULL if memory is short. */
real *kg__aggregate_own(kg_aggregate *aggregate, size_t i);

#endif
