/* A training run from a data set to a model directory: trains, calibrates, writes.
 *
 * Data with a validation part are trained on once: validation chooses the epoch, and calibrates.
 * Others hold out some entities and their facts (hold_out.h) and are trained on twice: without
 * these, to choose the epoch and to calibrate by them; then on everything, from the start and by
 * the same falling rate, for as many epochs as were chosen (the refit). Propagation has vectors of
 * relations only and is trained once: what was held out is added to its graph.
 *
 * A run with a warm start (warm_start.h) holds nothing out: there is no fact that the model it
 * starts with has not seen. It takes over propagation, on the new graph, unless there are new
 * relations; and the calibration, since scores keep their scale more or less. */
#ifndef KG_TRAIN_TRAINING_RUN_H
#define KG_TRAIN_TRAINING_RUN_H

#include "train/warm_start.h"

typedef struct kg_training_run_options {
    const kg_train_options *options;
    const kg_dataset *dataset;
    const char *path;      /* that becomes a model directory */
    const kg_model *start; /* of a warm start, for data without a validation part; or NULL */
    uint64_t warm_epochs;  /* of a warm start; 0: as usual */
    double hold_out;       /* a share, or KG_DEFAULT_HOLD_OUT; 0: nothing is held out */
    bool refit;            /* if something was; if not, the model is the one without */
    bool resume;
    bool force;
    bool is_beside_others; /* in this process, so that what that takes is not what this run takes */
    const kg_train_watcher *watcher;
} kg_training_run_options;

/* The model that came out. */
typedef struct kg_training_run_result {
    size_t epochs;          /* that there were to choose from, */
    kg_epoch best;          /* and the one that was chosen */
    double share;           /* of entities that were held out; 0: none were */
    uint64_t held_entities; /* how many they are */
    uint64_t held_facts;
    bool is_refit;
    uint64_t facts; /* times epochs, that this process went through */
} kg_training_run_result;

/* Trains to the end and writes the model. KG_DIVERGED, KG_CANCELLED: there is no model, but perhaps
 * a checkpoint. */
KG_MUST_CHECK kg_status kg__training_run(kg_training_run_result *out,
                                         const kg_training_run_options *run, kg_error *error);

/* What was held out and what came of it, as config.json has it; NULL if memory is short. */
json_t *kg__training_run_hold_out_json(const kg_training_run_result *result);

#endif
