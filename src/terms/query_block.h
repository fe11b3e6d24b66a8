/* What a training step learns from: queries about an entity, each with a candidate for its answer,
 * in blocks of one entity, since they share what the entity is made of.
 *
 * A block goes forward through the terms, from facts to scores, to the loss, and the same way back,
 * from gradients on scores to gradients on parameters. One thread has a block at a time, and what
 * it computes lives in an arena of that thread. */
#ifndef KG_TERMS_QUERY_BLOCK_H
#define KG_TERMS_QUERY_BLOCK_H

#include "aggregate/aggregate.h"
#include "graph/adjacency.h"
#include "model/term.h"

typedef struct kg_train_query {
    kg_link target;  /* the directed relation, and the candidate */
    int8_t label;    /* 1: it is the answer; -1: it is not */
    bool by_facts;   /* the entity is embedded from its facts; if not, it has its row */
    uint32_t number; /* its own in the batch, for random numbers */
} kg_train_query;

/* Queries `from` up to `to` of a batch. */
typedef struct kg_query_range {
    kg_id entity;
    uint32_t from;
    uint32_t to;
} kg_query_range;

/* What the aggregate of an entity leaves out: the triple at hand, or every fact between its two
 * entities. */
typedef enum kg_exclude { KG_EXCLUDE_TRIPLE, KG_EXCLUDE_PAIR } kg_exclude;

/* What all blocks of a step share. */
typedef struct kg_step_context {
    const kg_params *params;
    const kg_adjacency *graph;
    bool has_links_by_other; /* terms or the loss look for links by their other end */
    const kg_aggregate_options *aggregate;
    kg_exclude exclude;
    double psi;     /* how often entities are embedded from their facts */
    double dropout; /* on what queries are scored with */
    double n3;      /* weight of the norms of what a query is made of and about; 0: none */
    uint64_t seed;
    uint64_t step;
    const uint32_t *negatives; /* of each entity: its place among the negatives, or UINT32_MAX */

    double *scores; /* of the query's own candidate, by its number: softplus */

    /* Of all queries of the step, as in a block; NULL if the loss is of single candidates. */
    real *vectors;
    real *z;
    real *gradients;
    bool *is_kept;
} kg_step_context;

/* Queries with the same directed relation. */
typedef struct kg_query_run {
    kg_directed query;
    size_t from;
    size_t to;
} kg_query_run;

/* A candidate that a block scores for all its queries. */
typedef struct kg_block_candidate {
    kg_id entity;
    uint32_t from; /* the entity's links with it, by other end; none to itself */
    uint32_t to;
    bool is_negative; /* if not, it is only there to answer */
    real log_weight;  /* of how many candidates it stands for */
} kg_block_candidate;

/* Memory of a thread, between blocks. */
typedef struct kg_block_worker {
    kg_arena arena;   /* what blocks keep until they have gone back */
    kg_arena scratch; /* what a block needs for a moment */
    real *row;        /* dim: likewise */
    void *states[KG_MOST_TERMS];
} kg_block_worker;

/* Queries `from` up to `to` that a negative does not count for. */
typedef struct kg_mask {
    uint32_t from;
    uint32_t to;
    uint32_t negative;
} kg_mask;

/* An empty list is all zeroes. */
typedef struct kg_masks {
    kg_mask *list;
    size_t count;
    size_t capacity;
} kg_masks;

typedef struct kg_query_block {
    const kg_step_context *context;
    const kg_params *params;
    kg_grads *grads;
    kg_block_worker *worker; /* of this phase, */
    kg_arena *arena;         /* and its memory for what the phase computes */
    kg_error *error;
    size_t dim;
    kg_query_range range;
    const kg_train_query *queries;
    size_t count;
    size_t first;            /* their place in the arrays of the step */
    const kg_link *links;    /* of the entity, or a sample of them (block_links.c) */
    const kg_link *by_other; /* the same by other end, then directed relation; or NULL */
    size_t link_count;
    kg_query_run *runs;
    size_t run_count;
    double loss;

    /* Rows of the queries, x dim. */
    real *vectors;   /* what a candidate's row is multiplied with */
    real *z;         /* the entity */
    real *gradients; /* on vectors, then on z */
    bool *is_kept;   /* numbers of vectors that are not dropped; without dropout, nothing */

    /* The embedding. */
    kg_aggregate aggregate;
    bool is_loaded;
    size_t last_use;  /* of the aggregate: a query */
    size_t *left_out; /* positions among the links, */
    size_t left_count;
    size_t left_query;  /* of which query, from 1; 0: none yet */
    real *row_gradient; /* dim: on the entity's row; NULL if no query has used it */

    /* Candidates, where the loss compares them. */
    kg_block_candidate *candidates;
    size_t candidate_count;
    uint32_t *answers; /* queries: the answer's place among the candidates */
    real *scores;      /* queries x candidates; then the gradients on them */
    kg_masks *masks;   /* of the part */

    /* The query at hand, where the loss is of single candidates. */
    double score;
    double slope; /* the gradient on it */

    void *kept[KG_MOST_TERMS]; /* what terms keep for the way back */
} kg_query_block;

KG_MUST_CHECK kg_status kg__query_block_worker_open(kg_block_worker *worker,
                                                    const kg_step_context *context,
                                                    kg_error *error);
void kg__query_block_worker_close(kg_block_worker *worker);

/* Opens a block for queries that are sorted by directed relation. */
KG_MUST_CHECK kg_status kg__query_block_open(kg_query_block *out, const kg_step_context *context,
                                             kg_block_worker *worker, kg_grads *grads,
                                             const kg_train_query *queries, kg_query_range range,
                                             kg_error *error);

/* The embedding loads the entity, unless all queries go by its row: parameters are read from here
 * on. */
KG_MUST_CHECK kg_status kg__query_block_load(kg_query_block *block);

/* A loss of one score: returns its value, and the gradient on the score as `*slope`. */
typedef double (*kg_loss_of_score)(double score, double label, double *slope);

/* A number of its own for a query, in all steps; the same for query i of a block. */
static inline uint64_t kg__query_position(const kg_step_context *context,
                                          const kg_train_query *query) {
    return context->step << 32 | query->number;
}
static inline uint64_t kg__query_block_position(const kg_query_block *block, size_t i) {
    return kg__query_position(block->context, &block->queries[i]);
}

/* Finds the candidates and scores them by all terms; then the same way back from gradients on
 * these scores, and those on vectors that are there already. */
KG_MUST_CHECK kg_status kg__query_block_forward(kg_query_block *block);
KG_MUST_CHECK kg_status kg__query_block_backward(kg_query_block *block);

/* Instead of these: scores the own candidate of each query by all terms, goes to the loss and back,
 * query by query. */
KG_MUST_CHECK kg_status kg__query_block_each(kg_query_block *block, kg_loss_of_score loss);

/* ---- Links (block_links.c) ---- */

/* A block learns from about so many links of its entity at most, and from all that are queried.
 * Entities of FB15k-237 have up to 7,614. */
#define KG_MOST_LINKS 8192

/* Which of its entity's `degree` links a block has beside the queried ones: of a hub every so many
 * from one on that is drawn for the block's first query, of others all. */
typedef struct kg_link_sample {
    size_t first;
    size_t every;
} kg_link_sample;
kg_link_sample kg__link_sample(const kg_step_context *context, size_t degree,
                               const kg_train_query *query);

/* Takes the links of the block's entity, of a hub a sample. False if memory is short. */
bool kg__block_links_find(kg_query_block *block);

/* ---- Candidates (block_candidates.c) ---- */

/* Finds the candidates, masks the negatives among them, and takes memory for their scores. */
KG_MUST_CHECK kg_status kg__candidates_find(kg_query_block *block);

/* Scores them by their rows. */
KG_MUST_CHECK kg_status kg__candidates_multiply(kg_query_block *block);

/* Leaves out those that do not compete, after all terms have added to scores. */
void kg__candidates_finish(kg_query_block *block);

/* From gradients on scores to those on vectors, which are added, and on the candidates' rows. */
KG_MUST_CHECK kg_status kg__candidates_backward(kg_query_block *block);

#endif
