/* The base of a generation: the facts that its model was trained on, by name. Names and facts are
 * mapped from the model directory, and nothing else of the model is opened. */
#ifndef KG_STORE_BASE_FACTS_H
#define KG_STORE_BASE_FACTS_H

#include "base/json.h"
#include "model/mapped_index.h"

typedef struct kg_base_facts {
    json_t *config;
    kg_mapping names;
    kg_mapping facts;
    kg_names entities;
    kg_names relations;
    kg_known_facts known;
} kg_base_facts;

/* Opens the base in the model directory `path`. A closed one is all zeroes. */
KG_MUST_CHECK kg_status kg__base_facts_open(kg_base_facts *base, const char *path, kg_error *error);
void kg__base_facts_close(kg_base_facts *base);

/* Whether head, relation and tail are one of them. Fails only if a file is damaged. Costs time
 * linear in the number of facts of the end that has fewer of them. */
KG_MUST_CHECK kg_status kg__base_facts_have(const kg_base_facts *base, bool *out,
                                            const kg_text fact[3], kg_error *error);

#endif
