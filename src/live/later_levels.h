/* Levels of entities that came later (live/later_rows.h), and whose rows a commit makes again:
 * those that are made of other facts than before, or of facts with entities that are or that ask by
 * others. A hub that gets one more fact with an entity of a higher level is the same for all that
 * hang on it, so that these are left alone. */
#ifndef KG_LIVE_LATER_LEVELS_H
#define KG_LIVE_LATER_LEVELS_H

#include "live/live.h"

/* Finds the levels in the next version, and the entities whose rows it needs, in the commit's
 * memory. Linear in the facts of entities whose lists, levels or rows change. */
KG_MUST_CHECK kg_status kg__later_levels_change(kg_id **out, size_t *count, kg_live_commit *commit,
                                                kg_error *error);

#endif
