/* Terms: a score is their sum. Each is one file of terms/ and one row of the table kg__terms, which
 * evaluation, answering, explanation and files go through, and training: those that are trained
 * together, on the same sum, in one run, and propagation, which is trained apart, with a loss of
 * its own (train/propagation_loss.c), in another.
 *
 * The term of embeddings gives every candidate a score, by a vector; the others give one to a few
 * candidates, as score offsets. */
#ifndef KG_MODEL_TERM_H
#define KG_MODEL_TERM_H

#include "base/arena.h"
#include "base/json.h"
#include "model/params.h"
#include "model/safetensors.h"

struct kg_aggregate_options;
struct kg_explain_use;
struct kg_model;
struct kg_propagation_options;
struct kg_query_block;
struct kg_score_offsets;
struct kg_scorer;

/* The graph that a training run counts on, and settings of the aggregator and of terms. */
typedef struct kg_term_source {
    const kg_adjacency *graph; /* has to outlive what is counted */
    size_t directed_count;
    const struct kg_aggregate_options *aggregate;
    const struct kg_propagation_options *propagation;
} kg_term_source;

/* A parameter: rows x columns. Numbers start uniform within `bound` of 0, or, if that is 0, as
 * `value`. */
typedef struct kg_term_param {
    const char *name; /* in files */
    size_t rows;
    size_t columns;
    double value;
    double bound;
    double rate; /* times the run's; 0: 1 */
} kg_term_param;

/* What can be done with that which a term, or the embedding's aggregator, has counted and learned.
 * NULL: nothing to do. */
typedef struct kg_learned {
    size_t (*params)(kg_term_param *out, const kg_term_view *view);
    void (*close)(kg_term_view *view);

    /* Sets values of its parameters to those that were learned on another graph, where relation r
     * is relations[r], or KG_NO_ID; NULL: they start as usual. */
    void (*copy_from)(real *const *values, const kg_term_view *view, const kg_term_view *learned,
                      const kg_id *relations);

    /* To a model's folder: its parameters as tensors, in memory of the arena; NULL: they are
     * written as they are. */
    kg_status (*pack)(kg_tensor *out, const kg_term_view *view, kg_arena *arena, kg_error *error);
} kg_learned;

/* `number` is that of the term in kg__terms. NULL: nothing to do. */
typedef struct kg_term {
    const char *name;
    const char *title;                      /* in explanations */
    bool is_trained_apart;                  /* in a run of its own, after that of the others */
    bool has_paths;                         /* explains its part by paths over the graph */
    bool (*is_on)(const kg_params *params); /* NULL: if it has counted something */

    /* ---- What it counts and learns ---- */

    /* For a training run that trains the term, and from a model's folder. What is `counted` after
     * these, or after `move`, is `learned`, and to be closed. */
    kg_status (*count)(kg_term_view *out, const kg_term_source *source, kg_error *error);
    kg_status (*open)(kg_term_view *out, struct kg_model *model, const char *path, kg_error *error);

    /* The same on another graph, of the same relations; NULL: it knows the entities of its own. */
    kg_status (*move)(kg_term_view *out, const kg_term_view *view, const kg_adjacency *graph,
                      kg_error *error);

    /* The same on its own graph under an overlay, in an object of a version; NULL: as it is. */
    kg_status (*overlay)(kg_term_view *out, const kg_term_view *view, const kg_adjacency *graph,
                         kg_snapshots *versions, kg_error *error);

    /* What config.json has under the term's name; NULL if memory is short. */
    json_t *(*describe)(const kg_term_view *view);

    /* ---- Training: blocks of queries (terms/query_block.h) ---- */

    kg_status (*open_worker)(void **out, const kg_term_view *view, kg_error *error);
    void (*close_worker)(void *worker);

    /* Losses that compare candidates: adds to the scores of all; then from gradients on scores to
     * those on parameters. */
    kg_status (*forward)(struct kg_query_block *block, size_t number);
    kg_status (*backward)(struct kg_query_block *block, size_t number);

    /* Losses of single candidates: likewise for query i, of run `run`, and its own one. Queries go
     * forward and back one after the other, from the first to the last. */
    kg_status (*forward_one)(struct kg_query_block *block, size_t number, size_t run, size_t i);
    kg_status (*backward_one)(struct kg_query_block *block, size_t number, size_t run, size_t i);

    /* ---- Answering: one entity at a time (terms/scorer.h) ---- */

    kg_status (*open_state)(void **out, const kg_term_view *view, kg_error *error);
    void (*close_state)(void *state);

    /* To the view on another overlay of the same graph, the last one of which is still there. */
    kg_status (*move_state)(void *state, const kg_term_view *view, kg_error *error);

    /* Adds those of the query; and how many it adds at most for an entity with so many links. */
    kg_status (*offsets)(struct kg_scorer *scorer, size_t number, struct kg_score_offsets *out,
                         size_t left_out, kg_error *error);
    size_t (*most_offsets)(size_t links);
    double cost; /* of these for a query: as many products of a candidate with a vector */

    /* What every entity's score gets, by the class of how many facts of the queried relation it has
     * (model/degree_classes.h). */
    real (*prior)(const kg_term_view *view, kg_directed query, size_t class);

    /* ---- Explanation ---- */

    /* The parts of a score that it accounts for, without values. `out` may be NULL. */
    size_t (*parts)(kg_score_term *out, const kg_term_view *view);
    kg_status (*explain)(struct kg_explain_use *use, size_t number, kg_error *error);
} kg_term;

extern const kg_term *const kg__terms[]; /* ended by NULL; at most KG_MOST_TERMS */

extern const char *const kg__term_names[]; /* of each, likewise */

bool kg__term_is_on(const kg_params *params, size_t number);

/* The parameters of a view, none if nothing was counted; at most KG_MOST_TERM_PARAMS. */
size_t kg__term_params(kg_term_param *out, const kg_term_view *view);

/* Closes all views of the params. */
void kg__terms_close(kg_params *params);

/* The cost of all of them. */
double kg__term_cost(const kg_params *params);

/* The params on another graph, which is borrowed: those terms that know no entity of their own, and
 * the others not. Fails if there are none. To be closed. */
KG_MUST_CHECK kg_status kg__params_on_graph(kg_params *out, const kg_params *params,
                                            const kg_adjacency *graph, kg_error *error);
void kg__params_close_moved(kg_params *moved);

/* Whether none of their terms would be lost. */
bool kg__params_all_move(const kg_params *params);

/* The number of one of them; and the one of that name, or NULL. */
size_t kg__term_number(const kg_term *term);
const kg_term *kg__term_find(const char *name);

/* The parts of all terms, without values. Returns how many they are; `out` may be NULL. */
size_t kg__term_parts(kg_score_term *out, const kg_params *params);

#endif
