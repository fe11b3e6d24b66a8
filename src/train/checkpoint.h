/* A run on disk: all parameters with what the optimiser knows of them, the best ones so far, and in
 * the header where the run stands and what it was started with. */
#ifndef KG_TRAIN_CHECKPOINT_H
#define KG_TRAIN_CHECKPOINT_H

#include "train/trainer.h"

/* All rows must have caught up. Of several ranks, the first gets what the others have, and writes.
 */
KG_MUST_CHECK kg_status kg__checkpoint_write(const kg_trainer *trainer, const char *path,
                                             kg_error *error);

/* Whether a run that left its settings and its data set's checksum at `path` is the same run, but
 * for the numbers of epochs and threads. */
KG_MUST_CHECK kg_status kg__train_check_same(const kg_train_options *options,
                                             const kg_dataset *dataset, json_t *old,
                                             const json_t *checksum, const char *path,
                                             kg_error *error);

/* Whether it is a checkpoint of a run with these settings and data, and how many epochs it is into
 * it. */
KG_MUST_CHECK kg_status kg__checkpoint_check(const kg_train_options *options,
                                             const kg_dataset *dataset, const char *path,
                                             uint64_t *epochs, kg_error *error);

/* What the run has its checkpoints carry, a new reference; NULL if nothing. */
KG_MUST_CHECK kg_status kg__checkpoint_carried(json_t **out, const char *path, kg_error *error);

/* Sets a trainer that has just been opened to where the checkpoint stands. */
KG_MUST_CHECK kg_status kg__checkpoint_read(kg_trainer *trainer, const char *path, kg_error *error);

#endif
