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
#include "train/quiz.h"
#include "train/step.h"

/* softplus: of each fact and of corrupted twins; softmax: of each answer among all that might be.
 */
typedef enum kg_loss { KG_SOFTPLUS, KG_SOFTMAX } kg_loss;
extern const char *const kg__loss_names[]; /* ended by NULL */

/* What keeps parameters small. l2: the squares of all of them, in each step; n3: the cubes of those
 * that a question is about (softmax). */
typedef enum kg_regularizer { KG_L2, KG_N3 } kg_regularizer;
extern const char *const kg__regularizer_names[]; /* ended by NULL */

#define KG_N3_WEIGHT 0.05 /* the usual weight */

/* In place of a number of negatives: every entity. */
#define KG_ALL_ENTITIES INT64_MAX

/* So many leave a history that config.json has room for (KG_JSON_MAX). */
#define KG_MOST_EPOCHS 30000

typedef struct kg_train_options {
    const kg_scoring *scoring;
    uint64_t dim;
    bool directed;      /* relations have vectors for each direction */
    bool own_relations; /* and others for aggregation than for questions */
    kg_aggregate_options aggregate;
    kg_exclude exclude;
    double psi;
    double graft_power;      /* graft: N^-power instead of the mean's 1/N; */
    bool graft_weights;      /* weights of pairs of relations are learned, */
    bool graft_echo;         /* and so are bonuses for other ends of facts */
    kg_feature_set evidence; /* features whose worth is learned */
    uint64_t bases;  /* of an encoder's layers; without influence on models that have none */
    bool self_loops; /* likewise */
    kg_loss loss;
    uint64_t negatives; /* softplus: of each fact; softmax: of each batch, or KG_ALL_ENTITIES */
    uint64_t batch;
    uint64_t epochs; /* at most KG_MOST_EPOCHS */
    kg_method method;
    double rate;
    double last_rate;     /* what it falls to, in equal parts, */
    uint64_t rate_epochs; /* over so many epochs; 0: all of them */
    kg_regularizer regularizer;
    double l2; /* adds l2/2 |all parameters|^2 / batches in an epoch to each step's loss */
    double n3; /* adds n3 |factors|^3 to each question's loss: see ask_norms.c */
    double dropout;
    bool shuffle;
    uint64_t seed;
    uint64_t threads;
    uint64_t validate_every; /* epochs, beside the first and the last; 0: never */
    uint64_t patience;       /* validations without a better one before it stops; 0: never stops */
    double hold_out; /* for the record: the share of entities that was held out; 0: none was */
} kg_train_options;

/* Settings that go together: those of the paper, and the recipe of graft. */
typedef enum kg_preset { KG_PAPER, KG_GRAFT } kg_preset;
extern const char *const kg__preset_names[]; /* ended by NULL */

/* The preset of those who choose none: graft, unless it cannot train the model. */
kg_preset kg__preset_usual(const kg_scoring *kind);

/* The usual settings of a model, on one thread. */
kg_train_options kg__train_usual(kg_preset preset, const kg_scoring *kind);

/* What an epoch came to. */
typedef struct kg_epoch {
    uint64_t number; /* from 1 */
    double loss;     /* mean over facts and their corrupted twins, or, of softmax, questions */
    double seconds;  /* of training alone */
    bool is_validated;
    kg_metrics valid;
} kg_epoch;

/* Every setting that has an influence on the result, as an object; NULL if memory is short. */
json_t *kg__train_settings(const kg_train_options *options);

/* An epoch as an object and back: what is missing there becomes 0. */
json_t *kg__epoch_json(const kg_epoch *epoch);
void kg__epoch_read(kg_epoch *epoch, const json_t *from);

/* Whether the settings, each alone and together, are those of a run that can be. */
KG_MUST_CHECK kg_status kg__train_check(const kg_train_options *options, kg_error *error);

/* Whether a run that left its settings and its data set's checksum at `path` is the same run, but
 * for the numbers of epochs and threads. */
KG_MUST_CHECK kg_status kg__train_check_same(const kg_train_options *options,
                                             const kg_dataset *dataset, const json_t *old,
                                             const json_t *checksum, const char *path,
                                             kg_error *error);

/* Epochs over which the rate falls. */
static inline uint64_t kg__train_rate_epochs(const kg_train_options *o) {
    return o->rate_epochs > 0 ? o->rate_epochs : o->epochs;
}

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
kg_params kg__trainer_result(const kg_trainer *trainer);
uint64_t kg__trainer_best_epoch(const kg_trainer *trainer);

/* What the steps of this process have cost. */
kg_step_cost kg__trainer_cost(const kg_trainer *trainer);

/* All epochs so far; lives until the trainer goes on. */
const kg_epoch *kg__trainer_history(const kg_trainer *trainer, size_t *count);

#endif
