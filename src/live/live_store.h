/* A live graph on a store: what is committed is on disk before snapshots show it and before the
 * commit returns.
 *
 * Transactions of a group are published by the leader of the group (store/group_commit.c), in the
 * order of the log, so that the graph in memory is that of the store whatever threads do. If
 * publishing fails (memory is short, or too many snapshots are held), the transaction is on disk
 * and not shown. Whatever is committed next, and be it the same once more, is preceded by what the
 * log has beyond the last entry that is shown. */
#ifndef KG_LIVE_LIVE_STORE_H
#define KG_LIVE_LIVE_STORE_H

#include "live/live.h"

/* kg_live_open_store, without its checks of arguments. */
KG_MUST_CHECK kg_status kg__live_open_store(kg_live **out, const char *path,
                                            const kg_live_options *options, kg_error *error);

/* A store as a model: what it has now. To be closed by kg_model_close. */
KG_MUST_CHECK kg_status kg__live_open_model(kg_model **out, const char *path, kg_error *error);

/* kg_live_close_store, likewise. */
void kg__live_close_store(kg_live *live);

/* Refuses a live graph that has no offsets of sources. */
KG_MUST_CHECK kg_status kg__live_check_store(const kg_live *live, kg_error *error);

/* kg_live_offset, likewise. */
KG_MUST_CHECK kg_status kg__live_offset(int64_t *out, kg_live *live, const char *source,
                                        kg_error *error);

/* kg__changes_commit on a store, but that the transaction is not emptied. */
KG_MUST_CHECK kg_status kg__live_store_commit(kg_commit *out, kg_changes *changes, kg_error *error);

#endif
