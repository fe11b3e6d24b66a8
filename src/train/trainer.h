/* Training: epochs of steps, validation now and then, the best model kept, and checkpoints from
 * which a run goes on to the same bits as if it had never stopped.
 *
 * Psi = 0 is the paper's Algorithm 1, psi > 0 its Algorithm 2. */
#ifndef KG_TRAIN_TRAINER_H
#define KG_TRAIN_TRAINER_H

#include "base/progress.h"
#include "graph/dataset.h"
#include "rank/metrics.h"
#include "train/rgcn_training.h"
#include "train/settings.h"
#include "train/training_memory.h"

/* What an epoch came to. */
typedef struct kg_epoch {
    uint64_t number; /* from 1 */
    double loss;     /* mean over facts and their corruptions or, for softmax, queries */
    double seconds;  /* of training alone */
    bool is_validated;
    kg_metrics valid;
} kg_epoch;

/* An epoch as an object and back: what is missing there becomes 0. */
json_t *kg__epoch_json(const kg_epoch *epoch);
void kg__epoch_read(kg_epoch *epoch, json_t *from);

/* config.json has the epochs of propagation here, if other terms have epochs, too. */
#define KG_APART_HISTORY "propagation_history"

/* The epoch `number` (from 1) of a history. A model to which propagation was added after it has the
 * metrics that it had then: those of the best of `apart`, unless that is NULL. */
void kg__history_best(kg_epoch *out, const json_t *history, uint64_t number, const json_t *apart);

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

/* The best epoch if there was validation, the last one if not. */
uint64_t kg__trainer_best_epoch(const kg_trainer *trainer);

/* All epochs so far, as a list; NULL if memory is short. */
json_t *kg__history_json(const kg_trainer *trainer);

#endif
