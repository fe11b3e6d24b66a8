/* Compaction: the next generation of a store is trained on its live facts.
 *
 * Facts are frozen in one moment, the model is trained beside the store, and it takes the place of
 * the last one in another moment. Only in these two the store is held, so that it can be written to
 * meanwhile; what is changed is live in the next generation, too. A process that has the store open
 * for writing compacts it by that live graph, which goes over to the next generation by itself;
 * another one opens it twice, for a moment. The folder of the current generation is locked all the
 * time, so that there is one compaction.
 *
 * What is killed or fails leaves the store as it was, with checkpoints from which the next
 * compaction goes on to the same bytes. The next generation is a function of the last one and the
 * set of facts that were frozen. */
#ifndef KG_LIVE_COMPACTION_H
#define KG_LIVE_COMPACTION_H

#include "train/training_run.h"

typedef struct kg_compact_options {
    const char *store;
    kg_live *live;   /* that has the store open for writing; NULL: none has */
    uint64_t epochs; /* 0: as many as suit */
    uint64_t threads;
    bool from_scratch; /* at random, not with the values of the last generation */
    bool restart;      /* an unfinished one is given up, and facts are frozen anew */
    const kg_train_watcher *watcher;
} kg_compact_options;

typedef struct kg_compact_result {
    int64_t generation; /* the one that is current now */
    bool is_new;        /* if not, nothing has changed since it was trained */
    uint64_t added;     /* facts, since the last one */
    uint64_t removed;
    uint64_t facts; /* that it was trained on, */
    uint64_t entities;
    uint64_t relations;
    uint64_t new_entities; /* and those that came since */
    uint64_t new_relations;
    uint64_t gone_entities; /* that are left without a fact */
    kg_training_run_result fit;
} kg_compact_result;

KG_MUST_CHECK kg_status kg__compact(kg_compact_result *out, const kg_compact_options *options,
                                    kg_error *error);

#endif
