/* The facts by which an entity asks the questions that rows are fitted to (infer/row_fit.h): one of
 * the model's own by training facts that are still live, one that came later by those that its row
 * is made of. A training fact that is withdrawn and added again is one as before; other facts that
 * one of the model's own gets do not count, so that rows do not depend on what others get. */
#ifndef KG_LIVE_LATER_ASKING_H
#define KG_LIVE_LATER_ASKING_H

#include "live/live.h"

/* Whether a row of an entity that came later is made of its facts with one of such a level, if that
 * came later, too. */
static inline bool kg__later_is_lower(uint8_t other, uint8_t level) {
    return other > 0 && other < level;
}

/* Whether a row of an entity of that level is made of the fact behind a link. */
static inline bool kg__later_is_made_of(const kg_overlay *overlay, uint8_t level, kg_link link) {
    return link.other < overlay->first ||
           kg__later_is_lower(kg__overlay_find(overlay, link.other)->level, level);
}

/* At most KG_MOST_ASKING of them, at equal distances. Levels must have been found. O(F log F) for
 * the F facts of the entity; how many were read is added to `*read`. */
KG_MUST_CHECK kg_status kg__later_asking(kg_link out[KG_MOST_ASKING], size_t *count,
                                         const kg_live_version *version, kg_id entity, size_t *read,
                                         kg_error *error);

#endif
