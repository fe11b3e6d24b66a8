/* A live graph on a store: what is committed is on disk before snapshots show it and before the
 * commit returns.
 *
 * Transactions of a group are published by the leader of the group (store/group_commit.c), in the
 * order of the log, so that the graph in memory is that of the store whatever threads do. With too
 * many snapshots held, a transaction is refused before it is on disk. If publishing fails (memory
 * is short), it is on disk and not shown. Whatever is committed next, and be it the same once more,
 * is preceded by what the log has beyond the last entry that is shown. */
#ifndef KG_LIVE_LIVE_STORE_H
#define KG_LIVE_LIVE_STORE_H

#include "live/live.h"

/* kg_live_open_store, without its checks of arguments. */
KG_MUST_CHECK kg_status kg__live_open_store(kg_live **out, const char *path,
                                            const kg_live_options *options, kg_error *error);

/* A store as a model: what it has now. To be closed by kg_model_close. */
KG_MUST_CHECK kg_status kg__live_open_model(kg_model **out, const char *path, kg_error *error);

/* Whether an entity that the snapshot does not know has facts in its store, which must then be of
 * relations that the model does not know. False where that cannot be found out. */
bool kg__live_is_dormant(const kg_model *snapshot, kg_text entity);

/* The facts of an entity with such relations, of a live graph on a store that is open for writing.
 * The callback must not use the store. Linear in the changes since the snapshot's model was
 * trained, if there are such facts at all. KG_SYSTEM if its generation is not the current one. */
KG_MUST_CHECK kg_status kg__live_read_dormant(const kg_model *snapshot, kg_text entity,
                                              kg_on_change on_fact, void *payload, kg_error *error);

/* kg_live_close_store, likewise. */
void kg__live_close_store(kg_live *live);

/* Refuses a live graph without a store that is open for writing. */
KG_MUST_CHECK kg_status kg__live_check_store(const kg_live *live, kg_error *error);

/* The same, and one whose store takes no changes any more, since a write to it failed. */
KG_MUST_CHECK kg_status kg__live_check_writable(const kg_live *live, kg_error *error);

/* kg_live_log, likewise. */
KG_MUST_CHECK kg_status kg__live_log(kg_live *live, int64_t since, const char *source,
                                     kg_on_logged on_logged, void *payload, kg_error *error);

/* kg_live_offset, likewise. */
KG_MUST_CHECK kg_status kg__live_offset(int64_t *out, kg_live *live, const char *source,
                                        kg_error *error);

/* kg__changes_commit on a store, but that the transaction is not emptied. */
KG_MUST_CHECK kg_status kg__live_store_commit(kg_commit *out, kg_changes *changes, kg_error *error);

/* Goes over to the next generation of the store, whose model directory is in place: new snapshots
 * are of that one, others stay as they are. Commits wait only while what was committed since it was
 * opened is added to it. If it fails, nothing has changed. */
KG_MUST_CHECK kg_status kg__live_switch(kg_live *live, kg_error *error);

#endif
