/* Rows of entities that came later, so that the embedding gives them scores as answers.
 *
 * A row is fitted to the questions that the entity's facts answer (infer/row_fit.h). These are
 * facts with entities of a lower level: the model's own entities have level 0; an entity that came
 * later is of level 1 if it has a fact with one of these, of level k + 1 if it has one with an
 * entity of level k. Beyond KG_MOST_LEVELS there is no row: it is 0. So it does not matter in which
 * order entities came, nor whether there are cycles. */
#ifndef KG_LIVE_LATER_ROWS_H
#define KG_LIVE_LATER_ROWS_H

#include "live/live.h"

#define KG_MOST_LEVELS 3

/* Makes the rows of all entities that the changed ones matter to. */
KG_MUST_CHECK kg_status kg__later_rows_change(kg_live_commit *commit, kg_error *error);

#endif
