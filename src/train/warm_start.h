/* Warm start: a run that begins with what a model has learned on an earlier state of the graph.
 *
 * Rows of entities and relations that the model has start as they are there; a snapshot of a live
 * graph has rows of entities that came later, too. The others start at random. Optimisers start
 * anew. */
#ifndef KG_TRAIN_WARM_START_H
#define KG_TRAIN_WARM_START_H

#include "model/model.h"
#include "train/trainer.h"

/* The settings of such a run, by those of a run from the start: it takes half as many epochs,
 * unless `epochs` says how many. */
kg_train_options kg__warm_options(const kg_train_options *options, uint64_t epochs);

/* Sets the parameters of a trainer that has just been opened. Refuses a model of another shape. */
KG_MUST_CHECK kg_status kg__warm_start(kg_trainer *trainer, const kg_model *model, kg_error *error);

/* Whether propagation, which has no rows of entities, can be taken over without training: the
 * relations are the same. */
bool kg__warm_propagation(const kg_model *model, const kg_dataset *dataset);

#endif
