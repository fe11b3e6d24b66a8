/* The sources of a layer: the nodes that it expands, the best by their gates. */
#ifndef KG_TERMS_SOURCE_SELECTION_H
#define KG_TERMS_SOURCE_SELECTION_H

#include "terms/propagation/propagation.h"

/* The links of a source. */
typedef struct kg_source_links {
    const kg_link *items;
    size_t count;
} kg_source_links;

/* What sources lead to: the links of each, in scratch memory, and how many there are. */
typedef struct kg_expansion {
    kg_source_links *sources;
    size_t links;
} kg_expansion;

/* Selects among the nodes before a layer, and gates their vectors; false if memory is short. */
bool kg__sources_select(kg_propagation_pass *pass, size_t layer, kg_propagation_worker *worker,
                        kg_expansion *expansion);

#endif
