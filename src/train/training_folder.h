/* The folder that a training run works in, MODEL.training beside MODEL: its checkpoints are there,
 * it is locked as long as the run goes on, and it is gone when MODEL is there. MODEL itself is not
 * touched until the new one is complete, and then replaced at once. */
#ifndef KG_TRAIN_TRAINING_FOLDER_H
#define KG_TRAIN_TRAINING_FOLDER_H

#include "model/model_folder.h"

/* A model is trained in one run, or in two: one for the terms that are trained together, one for
 * propagation. Each has a checkpoint. */
enum { KG_JOINT_RUN, KG_APART_RUN, KG_RUNS };

typedef struct kg_training_folder {
    char *path;                  /* MODEL.training */
    char *checkpoints[KG_RUNS];  /* in it: where runs are kept, */
    char *last[KG_RUNS];         /* and in MODEL, when all is done */
    const char *starts[KG_RUNS]; /* which of these each goes on from; NULL: it starts anew */
    char *model;                 /* MODEL */
    kg_folder *next;             /* what MODEL is replaced by in the end */
    int lock;
    bool is_open; /* the folder is there, and ours */
} kg_training_folder;

/* Whether any run goes on from a checkpoint; the first that there is, or NULL. */
const char *kg__training_folder_start(const kg_training_folder *run);

/* Finds out what a run to `model` would go on from. Nothing is made or locked; to be closed also
 * when this failed. */
KG_MUST_CHECK kg_status kg__training_folder_find(kg_training_folder *out, const char *model,
                                                 kg_error *error);

/* Makes the folder and locks it, or refuses: where another process trains; where there is an
 * unfinished run or a model, unless `resume` or `force`; where there is what we did not make. */
KG_MUST_CHECK kg_status kg__training_folder_open(kg_training_folder *out, const char *model,
                                                 bool resume, bool force, kg_error *error);

/* Removes what an earlier run left in the folder, unless it is gone on with. */
KG_MUST_CHECK kg_status kg__training_folder_clear(const kg_training_folder *run, kg_error *error);

/* Puts the model in place, with the checkpoints in it, and removes the folder. */
KG_MUST_CHECK kg_status kg__training_folder_finish(kg_training_folder *run,
                                                   const kg_model_parts *parts, kg_error *error);

/* The same for a model that is in place, where a process was killed before it could do the rest. */
KG_MUST_CHECK kg_status kg__training_folder_settle(const char *model, kg_error *error);

/* Unlocks it. It stays if there is something in it. */
void kg__training_folder_close(kg_training_folder *run);

#endif
