/* What queries of one entity share: which nodes the first layers reach, and by which messages. As
 * long as all nodes are sources that does not depend on what is queried, so it is kept for the next
 * query about the same links. The numbers of a layer do: they begin with a row of the queried
 * relation, and are computed for each. */
#ifndef KG_TERMS_KEPT_LAYERS_H
#define KG_TERMS_KEPT_LAYERS_H

#include "terms/propagation/propagation.h"

/* Keeps what is there if it is of the query's links, and forgets it otherwise; false if memory is
 * short. */
bool kg__kept_layers_start(kg_propagation_worker *worker, const kg_propagation_query *query);

/* Forgets all of it. */
void kg__kept_layers_clear(kg_propagation_worker *worker);

/* Whether this layer, whose sources are selected, can be kept. */
bool kg__kept_layers_can_add(const kg_propagation_worker *worker, const kg_propagation_pass *pass,
                             size_t layer);

/* Keeps this layer, which is in `worker->kept.arena`, for the next queries. */
void kg__kept_layers_add(kg_propagation_worker *worker, const kg_propagation_pass *pass,
                         size_t layer);

/* Takes this layer, whose sources are selected, from what is kept; false if it is not. */
bool kg__kept_layers_take(kg_propagation_pass *pass, const kg_propagation_worker *worker,
                          size_t layer);

#endif
