/* Parameters: every tensor that is learned is one row of a list, which drives the optimiser, the
 * steps that rows have missed, checkpoints and the best values. A model directory is written from
 * views of these (model/model_folder.h), since models that were adopted have no such list, and some
 * tensors have another form there.
 *
 * A step touches the rows that it reads, which first take the steps that they have missed; then its
 * gradients (model/sparse_grads.h) are added up row by row, and these rows take the step. On all
 * threads, each row by one of them, so with the same bits for any number. */
#ifndef KG_TRAIN_PARAM_H
#define KG_TRAIN_PARAM_H

#include "base/file_mapping.h"
#include "base/output.h"
#include "base/ranks.h"
#include "model/sparse_grads.h"
#include "train/grad_tree.h"
#include "train/optimizer.h"

#define KG_MOST_PARAMS 24
#define KG_PARAM_NAME 32 /* bytes of a name at most */

/* How a parameter starts: uniform within a bound, or all the same. */
typedef struct kg_param_start {
    double bound; /* 0: all are `value` */
    double value;
    unsigned stream;   /* of random numbers: a kg_stream */
    uint64_t position; /* of the first of these in the stream */
} kg_param_start;

/* The rows that a step reads or changes, and the gradient vectors that go to each, in an order that
 * does not depend on threads. Of `rows` and `starts` only as much is ever touched as steps have
 * rows, and what is not touched takes no memory. */
typedef struct kg_row_set {
    uint32_t *slots; /* row -> its place in `rows`; UINT32_MAX if it is not in the set */
    uint32_t *rows;
    size_t count;
    size_t *starts; /* count + 1: row i's vectors are vectors[starts[i]] up to starts[i + 1] */
    const real **vectors;
    uint8_t *nodes; /* of each vector: what it is part of (grad_tree.h) */
    size_t vector_capacity;
    size_t node_capacity;
} kg_row_set;

static inline void kg__row_set_add(kg_row_set *set, uint32_t row) {
    if (set->slots[row] != UINT32_MAX)
        return;
    set->slots[row] = (uint32_t)set->count;
    set->rows[set->count++] = row;
}

typedef struct kg_param {
    const char *name; /* in files */
    size_t rows;
    size_t columns;
    size_t trained_rows; /* rows that steps may change: the first */
    double rate;         /* times the run's */
    bool has_l2;         /* the run's L2 is on it */
    bool is_computed;    /* made of others: no optimiser, no step */
    bool is_read_whole;  /* every step may read any row */
    size_t owners;       /* ranks that share the steps of its rows; 0: each rank takes them all */
    size_t self;         /* which of them this process is */

    real *values;
    kg_mapping pages; /* what they are in, of a sharded parameter: there is memory for rows that
                       * this process owns, and for those that were fetched lately */
    size_t fetched;   /* how many these are */

    /* Of the rows that this process owns, at kg__param_place. */
    size_t kept;      /* how many these are */
    size_t state;     /* numbers of `first` for each row: kg__optimizer_state */
    real *first;      /* the optimiser's: see kg_param_row */
    real *second;     /* like values */
    uint64_t *steps;  /* that each row has taken; NULL if rows move by gradients alone */
    const real *best; /* values of the best epoch, in a file; NULL if there is none yet */

    kg_optimizer optimizer;
    kg_row_set touched;
    real *sums; /* threads x KG_TREE_DEPTH x columns: gradients of rows */
} kg_param;

typedef struct kg_param_list {
    kg_param items[KG_MOST_PARAMS];
    size_t count;
    kg_method method;
    int threads;
    uint64_t seed;

    /* The best values are seldom looked at, and would take as much memory as the values: they are
     * in a file without a name. */
    kg_output *best_file;
    kg_mapping best;
} kg_param_list;

/* Adds a parameter by its first members, up to `is_read_whole`, and fills it. Its number is the
 * next one. */
KG_MUST_CHECK kg_status kg__param_list_add(kg_param_list *list, const kg_param *about,
                                           kg_param_start start, kg_error *error);
void kg__param_list_close(kg_param_list *list);

/* Frees all but the values. */
void kg__param_list_end(kg_param_list *list);

/* Opens the optimisers, when it is known how many steps there will be at most. */
KG_MUST_CHECK kg_status kg__param_list_open_optimizers(kg_param_list *list, kg_rates rates,
                                                       double l2, uint64_t steps, kg_error *error);

/* Gives a part of a step the shapes of all parameters. */
KG_MUST_CHECK kg_status kg__param_list_open_grads(const kg_param_list *list, kg_grads *grads,
                                                  kg_error *error);

/* Forgets the rows of the last step. */
void kg__row_set_clear(kg_row_set *set);
void kg__param_list_clear(kg_param_list *list);

static inline bool kg__param_is_sharded(const kg_param *param) {
    return param->owners > 0;
}

/* The rank that lets a row of a sharded parameter take steps. */
static inline size_t kg__param_owner(const kg_param *param, size_t row) {
    return kg__ranks_owner(param->owners, row);
}

/* Whether this process lets the row take steps. */
static inline bool kg__param_owns(const kg_param *param, size_t row) {
    return !kg__param_is_sharded(param) || kg__param_owner(param, row) == param->self;
}

/* How many consecutive rows, from this one on, are of the same rank. */
static inline size_t kg__param_run(const kg_param *param, size_t row) {
    size_t left = param->rows - row;
    size_t run = kg__param_is_sharded(param) ? KG_OWNED_ROWS - row % KG_OWNED_ROWS : left;
    return run < left ? run : left;
}

/* Where this process keeps what only the owner of a row has, which it must be: blocks of its rows
 * follow each other. */
static inline size_t kg__param_place(const kg_param *param, size_t row) {
    if (!kg__param_is_sharded(param))
        return row;
    return row / KG_OWNED_ROWS / param->owners * KG_OWNED_ROWS + row % KG_OWNED_ROWS;
}

/* Gives back the memory of rows that others own: all that was fetched of a sharded parameter. */
void kg__param_forget_fetched(kg_param *param);

/* Whether rows move without a gradient, so that those that a step reads must be touched. */
bool kg__param_list_catches_up(const kg_param_list *list);

/* The next step reads this row. */
static inline void kg__param_list_touch(kg_param_list *list, size_t param, size_t row) {
    kg__row_set_add(&list->items[param].touched, (uint32_t)row);
}

/* Lets the touched rows that this process owns take the steps that they missed, up to and with
 * `step`; returns how many these were. */
uint64_t kg__param_list_catch_up(kg_param_list *list, uint64_t step);

/* Lets these rows do so, all different. */
void kg__param_catch_up_rows(kg_param *param, const uint32_t *rows, size_t count, uint64_t step,
                             int threads);

/* Lets all rows that it owns do so. */
void kg__param_list_catch_up_all(kg_param_list *list, uint64_t step);

/* Groups the gradients on parameter `number` by row, touching the rows that they go to. The nodes
 * of the parts are in the order of the tree. */
KG_MUST_CHECK kg_status kg__param_group(kg_param *param, size_t number, const kg_grads *parts,
                                        size_t part_count, kg_error *error);

/* Lets the touched rows, and those that gradients go to, take `step` with their sums: of a sharded
 * parameter, these must be rows that this process owns. Computed parameters are passed over. */
KG_MUST_CHECK kg_status kg__param_list_step(kg_param_list *list, const kg_grads *parts,
                                            size_t part_count, uint64_t step, kg_error *error);

/* Writes the sums to the rows of `out` instead, which has the shape of the parameter. */
KG_MUST_CHECK kg_status kg__param_sum(kg_param *param, size_t number, const kg_grads *parts,
                                      size_t part_count, int threads, real *out, kg_error *error);

/* Lets the first `trained_rows` take `step` with these gradients, a row for each. */
void kg__param_step_dense(kg_param *param, const real *gradients, int threads, uint64_t step);

/* Keeps the values of rows that this process owns as the best ones, or, if `values` is not NULL,
 * those there, an array of all rows for each parameter; in the file system of the path `beside`. */
KG_MUST_CHECK kg_status kg__param_list_keep_best(kg_param_list *list, const real *const *values,
                                                 const char *beside, kg_error *error);

/* Makes the best values, if there are any, the values: there are no others then. */
void kg__param_list_take_best(kg_param_list *list);

#endif
