/* Holding out: a data set that has nothing to validate by gives up some of its entities. They
 * become the unseen entities of another data set, which is for choosing the epoch and for
 * calibrating; the model that is meant for use is trained on everything afterwards (see
 * training_run.h). */
#ifndef KG_TRAIN_HOLD_OUT_H
#define KG_TRAIN_HOLD_OUT_H

#include "graph/dataset.h"

/* In place of a share: 5 %, but up to a fifth of graphs with fewer than 2000 entities, and less of
 * those with more than 60,000. */
#define KG_DEFAULT_HOLD_OUT (-1.0)

typedef struct kg_held_out {
    double share;       /* of the entities that can be held out; 0: none were */
    uint64_t entities;  /* how many they are, */
    uint64_t facts;     /* and their facts */
    kg_dataset dataset; /* the other training facts, and these as unseen-valid */
} kg_held_out;

/* Facts that are held out: of fewer than the first, the epoch would be chosen by chance, so that
 * none are; with fewer than the second, probabilities are rough. */
#define KG_FEWEST_HELD_OUT 30
#define KG_FEW_HELD_OUT 200

/* Whether there is something to validate by: then nothing is held out. */
bool kg__has_validation(const kg_dataset *dataset);

/* Holds out entities of the training part with at least two facts, but no hubs: those with more
 * than ten times the mean number of facts, or than 2 % of all facts and three times the mean. Each
 * relation keeps training facts. They are a function of the data, the share and the seed.
 * In small graphs there may be too few: `out->share` is 0 then, as it is where `share` is. A share
 * that was chosen is refused for data that have a validation part. */
KG_MUST_CHECK kg_status kg__hold_out(kg_held_out *out, const kg_dataset *dataset, double share,
                                     uint64_t seed, kg_error *error);

/* Also one that is all zeroes. */
void kg__held_out_close(kg_held_out *held);

#endif
