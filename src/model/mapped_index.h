/* Twins of a model's names and training facts, made to be mapped: opening a model of millions of
 * entities then costs a glance at them instead of reading and hashing every name.
 *
 * names.idx holds the names of entities and relations as kg_names has them in memory, known.bin the
 * training facts as a kg_adjacency. Both start with a magic word and the places of their sections,
 * each of which begins at a multiple of 64 bytes. When they are opened only these are looked at;
 * what stands in the sections is checked where it is used, so that nothing is ever read outside of
 * them.
 */
#ifndef KG_MODEL_MAPPED_INDEX_H
#define KG_MODEL_MAPPED_INDEX_H

#include "base/mapping.h"
#include "base/output.h"
#include "graph/adjacency.h"

#define KG_MODEL_NAMES "names.idx"
#define KG_MODEL_KNOWN "known.bin"

/* The first `entity_count` entities and `relation_count` relations, which must be all that there
 * are in the params of names, or the first of them. */
KG_MUST_CHECK kg_status kg__names_index_write(kg_output *output, const kg_names *entities,
                                              size_t entity_count, const kg_names *relations,
                                              size_t relation_count, kg_error *error);
KG_MUST_CHECK kg_status kg__known_facts_write(kg_output *output, const kg_triples *facts,
                                              size_t entity_count, kg_error *error);

/* Training facts in a file, none of which has been looked at yet. Without entities if nobody wrote
 * them down. */
typedef struct kg_known_facts {
    const kg_link *links;
    const uint64_t *starts;
    size_t link_count;
    size_t entity_count;
    size_t relation_count;
    const char *path;
} kg_known_facts;

/* Views of a mapping, which has to outlive them; they are not to be freed, nor added to. */
KG_MUST_CHECK kg_status kg__names_index_view(kg_names *entities, kg_names *relations,
                                             const kg_mapping *mapping, kg_error *error);
KG_MUST_CHECK kg_status kg__known_facts_view(kg_known_facts *known, const kg_mapping *mapping,
                                             size_t entity_count, size_t relation_count,
                                             kg_error *error);

/* The links of an entity of the model, each another one and sorted, which costs a look at each of
 * them. There are none where no facts are known. */
KG_MUST_CHECK kg_status kg__known_facts_links(const kg_known_facts *known, kg_id entity,
                                              const kg_link **links, size_t *count,
                                              kg_error *error);

/* All links of all entities but those with themselves, checked in the same way: a copy. */
KG_MUST_CHECK kg_status kg__known_facts_copy(kg_adjacency *out, const kg_known_facts *known,
                                             kg_error *error);

#endif
