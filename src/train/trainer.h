/* Training: epochs of steps, validation now and then, the best model kept, and checkpoints from
 * which a run goes on to the same bits as if it had never stopped.
 *
 * Psi = 0 is the paper's Algorithm 1, psi > 0 its Algorithm 2. */
#ifndef KG_TRAIN_TRAINER_H
#define KG_TRAIN_TRAINER_H

#include "base/progress.h"
#include "graph/dataset.h"
#include "rank/row_source.h"
#include "train/epoch_history.h"
#include "train/rgcn_training.h"
#include "train/row_exchange.h"
#include "train/settings.h"
#include "train/training_memory.h"

/* Whether there will be validation, which takes facts to ask about. */
bool kg__train_validates(const kg_train_options *options, const kg_dataset *dataset);

/* How many triples a run goes through, unless it stops early. */
uint64_t kg__train_work(const kg_train_options *options, const kg_dataset *dataset);

/* Whether a run is at its end after `epochs`, the last `since_best` validations being no better. */
bool kg__train_is_done(const kg_train_options *options, uint64_t epochs, uint64_t since_best);

/* The state of a run. */
typedef struct kg_trainer {
    kg_train_options options;
    const kg_dataset *dataset;
    const kg_params
        *beside; /* what other terms have learned in a run before; NULL: there is none */
    kg_adjacency candidates; /* the training facts, of all in-sample entities */
    kg_adjacency adjacency;  /* the same, of the entities that have any; borrows its parts */

    kg_param_list list;
    size_t tensors[KG_ENCODER_TENSORS]; /* numbers in the list; SIZE_MAX: there is none */
    kg_term_view terms[KG_MOST_TERMS];  /* without values */

    kg_sampler sampler;
    kg_batch batch;
    kg_rgcn *rgcn; /* computes the entities' rows; NULL if they are learned */
    kg_computed computed;
    kg_step *step;

    /* Of several ranks: how they get each other's rows of entities, for validation. */
    kg_row_exchange own_rows; /* of this run */
    kg_row_exchange *rows; /* these, or those of the run before, which is borrowed; NULL: there is
                            * no other rank, or there are no rows */

    kg_encoder encoder; /* a view of the values */

    uint64_t steps; /* taken so far */
    uint64_t epoch; /* the current one, from 0 */
    size_t next;    /* batch of the epoch */
    double loss;    /* of the epoch so far */
    double seconds;
    kg_epoch *history;
    size_t history_count;
    size_t history_capacity;

    uint64_t best_epoch; /* from 1; 0: there is none */
    double best_mrr;
    uint64_t since_best; /* validations */

    const char *folder; /* a path in the one where the best values are kept: borrowed, set before a
                         * run or checkpoint */
    double next_checkpoint;
    json_t *carried; /* by all checkpoints, for a run that is resumed; NULL: nothing */
} kg_trainer;

/* The data set is borrowed, and so is what was trained before, which this run adds a term to, and
 * which may be NULL; its graph is that of the data set. Bad settings are refused here. */
KG_MUST_CHECK kg_status kg__trainer_open(kg_trainer **out, const kg_train_options *options,
                                         const kg_dataset *dataset, const kg_params *beside,
                                         kg_error *error);
void kg__trainer_close(kg_trainer *trainer);

/* Frees all that is needed for further steps alone, when there will be none. */
void kg__trainer_end(kg_trainer *trainer);

typedef struct kg_train_watcher {
    const kg_progress *progress; /* may be NULL */
    const char *phase;           /* which of several runs this is; NULL: the only one */
    /* These may be NULL. */
    void (*on_start)(void *payload, const kg_memory_needs *needs);
    void (*on_epoch)(void *payload, const char *phase, const kg_epoch *epoch);
    void *payload;
} kg_train_watcher;

/* Trains to the end, writing a checkpoint now and then, when it is done, and when it is cancelled;
 * also at its very start if there is something to carry. In the end values are the best ones, and
 * there is no more training. */
KG_MUST_CHECK kg_status kg__trainer_run(kg_trainer *trainer, const char *checkpoint,
                                        const kg_train_watcher *watcher, kg_error *error);

/* The views of all parameters; and of those that this run trains. */
kg_params kg__trainer_params(kg_trainer *trainer);
kg_params kg__trainer_own_params(kg_trainer *trainer);

/* Of several ranks, where entities have their rows from that others own. */
kg_row_source kg__trainer_rows(kg_trainer *trainer);

/* The best epoch if there was validation, the last one if not. */
uint64_t kg__trainer_best_epoch(const kg_trainer *trainer);

#endif
