/* Which nodes a layer expands, which it reaches, and which of them it computes: all but the numbers
 * of a layer of propagation.h. */
#ifndef KG_TERMS_FRONTIER_H
#define KG_TERMS_FRONTIER_H

#include "terms/propagation/propagation.h"

/* Starts with the queried entity as the only node. */
KG_MUST_CHECK kg_status kg__frontier_start(kg_propagation_pass *pass, kg_propagation_worker *worker,
                                           kg_error *error);

/* Selects the sources of a layer (source_selection.h), follows their links, and lists messages,
 * rows and edges. */
KG_MUST_CHECK kg_status kg__frontier_expand(kg_propagation_pass *pass, size_t layer,
                                            kg_propagation_worker *worker, kg_error *error);

/* A number of an entity, uniform in [0, 1). */
double kg__frontier_draw(uint64_t random, kg_id entity);

/* Forgets the nodes. */
void kg__frontier_finish(const kg_propagation_pass *pass, kg_propagation_worker *worker);

#endif
