/* The history of a run: what each epoch came to, in memory, and as JSON in checkpoints, config.json
 * and the output of kgraft train. */
#ifndef KG_TRAIN_EPOCH_HISTORY_H
#define KG_TRAIN_EPOCH_HISTORY_H

#include <stdint.h>

#include "base/json.h"
#include "rank/metrics.h"

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

/* Epochs as a list; NULL if memory is short. */
json_t *kg__history_json(const kg_epoch *epochs, size_t count);

#endif
