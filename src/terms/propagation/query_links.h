/* The links that the queried entity has in the graph. They are left out of all that is counted of
 * the entities at their other ends: as a fact that is asked for is not known, so its trace there
 * must not be. */
#ifndef KG_TERMS_QUERY_LINKS_H
#define KG_TERMS_QUERY_LINKS_H

#include "terms/propagation/propagation.h"

/* Once the neighbours are known; false if memory is short. */
bool kg__query_links_list(kg_propagation_pass *pass, kg_propagation_worker *worker);

/* Those of a node: the directed relations, seen from the node. */
kg_own_facts kg__query_links_of(const kg_propagation_pass *pass, uint32_t node, kg_id entity);

/* The links of a node with others than the queried entity. */
size_t kg__query_links_other_degree(const kg_propagation_pass *pass, uint32_t node, kg_id entity);

#endif
