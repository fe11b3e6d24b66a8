/* Losses, each a row of a table. One is of the score of a query's own candidate, so that a query
 * goes forward and back at once; another compares candidates and negatives that all queries of a
 * batch share, so that the whole batch goes forward before any of it goes back. Either way a score
 * is the sum of all terms. The loss of propagation is of a term that is trained apart, so it is not
 * in the table, which is what users choose from. */
#ifndef KG_TRAIN_LOSS_H
#define KG_TRAIN_LOSS_H

#include "terms/query_block.h"
#include "train/batch_sampler.h"
#include "train/param.h"

/* The shards of a batch (grad_tree.h) that are this process's: `from` up to `to`. Shard i has the
 * queries queries[i] up to queries[i + 1]. */
typedef struct kg_shards {
    size_t from;
    size_t to;
    size_t branch_count; /* of the tree, that consist of these */
    size_t queries[KG_SHARDS + 1];
} kg_shards;

/* What a loss of whole batches is opened with. All borrowed. */
typedef struct kg_loss_parts {
    kg_step_context *context; /* gets `negatives` */
    size_t most_queries;
    uint64_t negatives; /* for all queries of a step; all entities if there are no more */
    int threads;
} kg_loss_parts;

typedef struct kg_loss {
    const char *name;
    kg_status (*open_sampler)(kg_sampler *out, const kg_sampler_options *options, kg_error *error);

    size_t parts; /* that each shard of a batch is cut into, at least 1: threads share them */

    /* Of single candidates, which all terms score; or of a term that is trained apart, which takes
     * a block forward and back by itself. NULL if the loss is of whole batches. */
    kg_loss_of_score of_score;
    kg_status (*block)(kg_query_block *block);

    /* Of whole batches. */
    kg_status (*open)(void **state, const kg_loss_parts *parts, kg_error *error);
    void (*close)(void *state);

    /* Before a step, and after it, be it taken or not. */
    void (*begin)(void *state, kg_param_list *params, uint64_t step);
    void (*end)(void *state);

    /* A block, once its queries have vectors; and back, to the gradients on these. */
    kg_status (*forward)(void *state, kg_query_block *block);
    kg_status (*backward)(void *state, kg_query_block *block);

    /* In between, all shards. Masks are those of their blocks, in order; grads are of branches. */
    kg_status (*score_batch)(void *state, const kg_shards *shards, const kg_masks *masks,
                             kg_grads *grads, kg_error *error);
} kg_loss;

extern const kg_loss kg__loss_softplus;
extern const kg_loss kg__loss_softmax;
extern const kg_loss kg__loss_propagation;

extern const kg_loss *const kg__losses[]; /* ended by NULL */

/* Whether it compares candidates, over whole batches. */
static inline bool kg__loss_compares(const kg_loss *loss) {
    return loss->open != NULL;
}

/* Whether the term can be trained by the loss, or needs none, since it is trained apart. */
bool kg__loss_trains(const kg_loss *loss, const kg_term *term);

#endif
