/* The sources of a layer: the nodes that it expands, the best by their gates. */
#ifndef KG_TERMS_SOURCE_SELECTION_H
#define KG_TERMS_SOURCE_SELECTION_H

#include "terms/propagation/propagation.h"

/* How many links and messages sources have at most. */
typedef struct kg_expansion {
    size_t links;
    size_t messages;
} kg_expansion;

/* Selects among the nodes before a layer, and gates their vectors; false if memory is short. */
bool kg__sources_select(kg_propagation_pass *pass, size_t layer, kg_propagation_worker *worker,
                        kg_expansion *expansion);

#endif
