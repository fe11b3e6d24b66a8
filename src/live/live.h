/* The live graph: the graph of a model, and what has changed since.
 *
 *     live = base + added - withdrawn
 *
 * Facts are truth, and everything else is computed from them: each answer is a function of the
 * model and the set of live facts, never of the order in which they came. So a fact that is
 * withdrawn leaves no trace.
 *
 * Entities. The model's ids come first, then those of entities that came later. These exist as long
 * as they have facts; the model's own do for ever. Ids are dense: where an entity goes, the next
 * new one gets its id, or the last one moves there. So an id holds for one snapshot, and whatever
 * could depend on ids does not: links are in an order of their own (kg_entity_facts), ties go by
 * name (kg__names_before), and rows are made in levels (live/later_rows.h).
 *
 * Snapshots. A snapshot is a model (kg_model), so whatever works with a model works with it. It
 * shares with the model what has not changed: an overlay (graph/adjacency.h) has the facts of
 * entities whose facts have, which are looked up behind kg__adjacency_links, kg__known_facts_links,
 * kg__names_get and kg__entity_row. All of it is made of objects in versions (base/snapshots.h). A
 * commit copies the pages that it changes, which is a few for each fact, and the arrays of pages,
 * which is a byte for every 8 entities; then it publishes the next version. Readers acquire the
 * current one without waiting, and keep it as long as they want.
 *
 * Generations. On a store, the model that was trained last takes the place of the one before
 * (live/compaction.h). A generation is a model and its versions; generations are versions of a live
 * graph, in the same way. So a snapshot is acquired in two steps, neither of which waits: the
 * generation, then its newest version. It holds both.
 *
 * Where the facts of one of the model's entities are the same again as in the base graph, the
 * overlay has nothing about it; where no entity came later and nothing else changed, a snapshot
 * answers as the model does, to the bit. */
#ifndef KG_LIVE_LIVE_H
#define KG_LIVE_LIVE_H

#include <stdatomic.h>

#include "aggregate/embedder.h"
#include "base/snapshots.h"
#include "graph/change_list.h"
#include "infer/row_fit.h"
#include "model/model.h"
#include "store/store.h"

/* A version of a generation. */
typedef struct kg_live_version {
    kg_model model; /* borrows from the base model, and from what follows */
    kg_snapshot *snapshot;
    struct kg_generation *generation;
    int64_t last;   /* entry of the store's log that it shows */
    uint64_t facts; /* that are live */
    kg_overlay overlay;
    kg_later_names names;
    kg_later_rows rows;
} kg_live_version;

/* A model, and the graph since it was trained. */
typedef struct kg_generation {
    kg_live *live;
    kg_snapshot *snapshot; /* among the generations of the live graph */
    int64_t number;        /* in the store; 0: there is none */
    const kg_model *base;
    kg_model *own;        /* the base; NULL if it is borrowed */
    double *gram;         /* of the embedder's params */
    kg_embedder embedder; /* for rows; the writer's, like */
    kg_row_fit row_fit;
    size_t asking_read;      /* facts that were read to find what entities ask: the work of rows */
    atomic_bool has_dormant; /* facts of relations that the model does not know, or had some */
    kg_snapshots versions;
} kg_generation;

struct kg_live {
    kg_live_options options;
    kg_snapshots generations;

    /* Of one that was opened on a store (live/live_store.h): */
    char *path;      /* NULL if it is in memory alone */
    kg_store *store; /* NULL if it is in memory alone, was opened for reading, or is closed */
    bool is_model;   /* it is closed with its only snapshot (kg__live_open_model) */
};

/* Functions of the public interface, without its checks of arguments. */
KG_MUST_CHECK kg_status kg__live_open(kg_live **out, const kg_model *model,
                                      const kg_live_options *options, kg_error *error);
void kg__live_close(kg_live *live);
kg_model *kg__live_snapshot(kg_live *live);

/* kg_model_close of a snapshot. */
void kg__live_release(kg_model *snapshot);

/* The version that a snapshot is. */
const kg_live_version *kg__live_version_of(const kg_model *snapshot);

/* Facts to be added and removed, all at once. */
struct kg_changes {
    kg_live *live;
    kg_change_list list;
    uint64_t unknown; /* additions that were left out */
    char *source;     /* NULL: none */
    int64_t offset;
};

KG_MUST_CHECK kg_status kg__changes_open(kg_changes **out, kg_live *live, kg_error *error);
void kg__changes_close(kg_changes *changes);
KG_MUST_CHECK kg_status kg__changes_add(kg_changes *changes, kg_text head, kg_text relation,
                                        kg_text tail, kg_error *error);
KG_MUST_CHECK kg_status kg__changes_remove(kg_changes *changes, kg_text head, kg_text relation,
                                           kg_text tail, kg_error *error);
KG_MUST_CHECK kg_status kg__changes_set_source(kg_changes *changes, const char *source,
                                               int64_t offset, kg_error *error);
KG_MUST_CHECK kg_status kg__changes_commit(kg_commit *out, kg_changes *changes, kg_error *error);

/* Keeps only the last change of each fact, which is the one that counts. */
KG_MUST_CHECK kg_status kg__changes_keep_last(kg_changes *changes, kg_error *error);

/* Frees what it holds; a new one, and what is left, is all zeroes but for its live graph. */
void kg__changes_free(kg_changes *changes);

/* Changes a generation in memory, but not the transaction: what that knows no relation of is left
 * out, and counted. The version shows the log up to `last`. */
KG_MUST_CHECK kg_status kg__changes_publish(kg_commit *out, const kg_changes *changes,
                                            kg_generation *generation, int64_t last,
                                            kg_error *error);

/* ---- Generations ---- */

/* One on a model, without changes. */
KG_MUST_CHECK kg_status kg__generation_open(kg_generation **out, kg_live *live,
                                            const kg_model *model, kg_error *error);
void kg__generation_close(kg_generation *generation);

/* A live graph without a generation, and making one its current one: that does not fail after
 * kg__snapshots_reserve. One thread at a time. */
KG_MUST_CHECK kg_status kg__live_make(kg_live **out, const kg_live_options *options,
                                      kg_error *error);
KG_MUST_CHECK kg_status kg__live_set_generation(kg_live *live, kg_generation *generation,
                                                kg_error *error);

/* For the writer: the current generation, and the newest version of one. */
kg_generation *kg__live_generation(const kg_live *live);
const kg_live_version *kg__generation_newest(const kg_generation *generation);

/* ---- Inside ---- */

/* A change of a fact: entities are ids of the version before, and new ones by ids behind these. */
typedef struct kg_fact_change {
    kg_triple fact;
    bool is_added;
} kg_fact_change;

/* Entities that get an id: new ones, and those that move to the id of one that goes. Sorted. */
typedef struct kg_new_id {
    kg_id before;
    kg_id after;
} kg_new_id;

/* A commit at work. */
typedef struct kg_live_commit {
    kg_generation *generation;
    const kg_live_version *before;
    kg_live_version *after;
    int64_t last;     /* entry of the store's log that it leads to */
    kg_arena memory;  /* until it is done */
    kg_arena scratch; /* for one list at a time */

    kg_fact_change *changes; /* that make a difference */
    size_t change_count;
    kg_names unknown;         /* names that the version before does not have */
    const kg_name *new_names; /* of these, of the ids behind those of the version before */
    size_t new_count;
    kg_new_id *new_ids;
    size_t new_id_count;
    kg_id *gone; /* ids of entities that go, sorted */
    size_t gone_count;
    kg_id *changed; /* entities with new lists, by the new ids */
    size_t changed_count;
} kg_live_commit;

/* Makes and publishes the next version, by its first members up to the names. If that fails,
 * nothing has changed. */
KG_MUST_CHECK kg_status kg__live_publish(kg_live_commit *commit, kg_error *error);

/* live/live_facts.c: which entities come and go, and the lists of all that changes. */
KG_MUST_CHECK kg_status kg__live_change_facts(kg_live_commit *commit, kg_error *error);

/* live/live_names.c: the names of those that come, go and move. */
KG_MUST_CHECK kg_status kg__live_change_names(kg_live_commit *commit, kg_error *error);

/* Whether the next version does not have an entity any more, and the id there if it does. */
bool kg__live_is_gone(const kg_live_commit *commit, kg_id before);
kg_id kg__live_new_id(const kg_live_commit *commit, kg_id before);

/* All facts of an entity in a version, by id. */
KG_MUST_CHECK kg_status kg__live_known(const kg_link **out, size_t *count, const kg_model *model,
                                       kg_id entity, kg_error *error);

#endif
