/* Training: epochs of steps, validation now and then, the best model kept, and checkpoints from
 * which a run goes on to the same bits as if it had never stopped.
 *
 * Psi = 0 is the paper's Algorithm 1, psi > 0 its Algorithm 2. */
#ifndef KG_TRAIN_TRAIN_H
#define KG_TRAIN_TRAIN_H

#include "base/json.h"
#include "base/progress.h"
#include "graph/dataset.h"
#include "rank/metrics.h"
#include "train/settings.h"
#include "train/step.h"

/* What an epoch came to. */
typedef struct kg_epoch {
    uint64_t number; /* from 1 */
    double loss;     /* mean over facts and their corrupted twins, or, of softmax, questions */
    double seconds;  /* of training alone */
    bool is_validated;
    kg_metrics valid;
} kg_epoch;

/* An epoch as an object and back: what is missing there becomes 0. */
json_t *kg__epoch_json(const kg_epoch *epoch);
void kg__epoch_read(kg_epoch *epoch, const json_t *from);

/* Whether a run that left its settings and its data set's checksum at `path` is the same run, but
 * for the numbers of epochs and threads. */
KG_MUST_CHECK kg_status kg__train_check_same(const kg_train_options *options,
                                             const kg_dataset *dataset, const json_t *old,
                                             const json_t *checksum, const char *path,
                                             kg_error *error);

/* Whether there will be validation, which takes facts to ask about. */
bool kg__train_validates(const kg_train_options *options, const kg_dataset *dataset);

/* How many triples a run goes through, unless it stops early. */
uint64_t kg__train_work(const kg_train_options *options, const kg_dataset *dataset);

/* Whether a run is at its end after `epochs`, the last `since_best` validations being no better. */
bool kg__train_is_done(const kg_train_options *options, uint64_t epochs, uint64_t since_best);

typedef struct kg_trainer kg_trainer;

/* The data set is borrowed. Bad settings are refused here. Evidence is counted here, too, which may
 * take a while: so there is progress, which may be NULL. */
KG_MUST_CHECK kg_status kg__trainer_open(kg_trainer **out, const kg_train_options *options,
                                         const kg_dataset *dataset, const kg_progress *progress,
                                         kg_error *error);
void kg__trainer_close(kg_trainer *trainer);

typedef struct kg_train_watcher {
    const kg_progress *progress; /* may be NULL */
    const char *phase;           /* which of several runs this is; NULL: the only one */
    void (*on_epoch)(void *payload, const char *phase, const kg_epoch *epoch); /* may be NULL */
    void *payload;
} kg_train_watcher;

/* Has all checkpoints carry an object that is not the run's own, for whoever goes on with it. Takes
 * over the reference. */
void kg__trainer_carry(kg_trainer *trainer, json_t *object);

/* Trains to the end, writing a checkpoint now and then, when it is done, and when it is cancelled;
 * also at its very start if there is something to carry. */
KG_MUST_CHECK kg_status kg__trainer_run(kg_trainer *trainer, const char *checkpoint,
                                        const kg_train_watcher *watcher, kg_error *error);

/* After a run: the best parameters if there was validation, the last ones if not. */
kg_params kg__trainer_result(kg_trainer *trainer);
uint64_t kg__trainer_best_epoch(const kg_trainer *trainer);

/* What the steps of this process have cost. */
kg_step_cost kg__trainer_cost(const kg_trainer *trainer);

/* All epochs so far; lives until the trainer goes on. */
const kg_epoch *kg__trainer_history(const kg_trainer *trainer, size_t *count);

#endif
