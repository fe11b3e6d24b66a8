/* Indexes of a model's names and training facts that are mapped instead of read, so that opening a
 * model takes constant time: no name is read or hashed.
 *
 * names.idx is an image of the kg_names of entities and relations, known.bin of the kg_adjacency of
 * the training facts. Both start with a magic number and the positions of their sections, each of
 * which begins at a multiple of 64 bytes. Opening validates only these; the contents of sections
 * are validated where they are used, so that nothing is read outside of them. */
#ifndef KG_MODEL_MAPPED_INDEX_H
#define KG_MODEL_MAPPED_INDEX_H

#include "base/file_mapping.h"
#include "base/output.h"
#include "graph/adjacency.h"

#define KG_MODEL_NAMES "names.idx"
#define KG_MODEL_KNOWN "known.bin"

/* The first `entity_count` entities and `relation_count` relations, which may be all of them. */
KG_MUST_CHECK kg_status kg__names_index_write(kg_output *output, const kg_names *entities,
                                              size_t entity_count, const kg_names *relations,
                                              size_t relation_count, kg_error *error);
KG_MUST_CHECK kg_status kg__known_facts_write(kg_output *output, const kg_triples *facts,
                                              size_t entity_count, kg_error *error);

/* Training facts in a file, not yet validated. No entities if the model has no such file. What has
 * changed since is in an overlay, if there is one. */
typedef struct kg_known_facts {
    const kg_link *links;
    const uint64_t *starts;
    size_t link_count;
    size_t entity_count;
    size_t relation_count;
    const char *path;
    const kg_overlay *overlay;
} kg_known_facts;

/* Views of a mapping, which has to outlive them; read-only, not to be freed. */
KG_MUST_CHECK kg_status kg__names_index_view(kg_names *entities, kg_names *relations,
                                             const kg_mapping *mapping, kg_error *error);
KG_MUST_CHECK kg_status kg__known_facts_view(kg_known_facts *known, const kg_mapping *mapping,
                                             size_t entity_count, size_t relation_count,
                                             kg_error *error);

/* The links of an entity, validated to be distinct and sorted, in time linear in their number. None
 * if no facts are known. */
KG_MUST_CHECK kg_status kg__known_facts_links(const kg_known_facts *known, kg_id entity,
                                              const kg_link **links, size_t *count,
                                              kg_error *error);

/* A copy of all links but reflexive ones, validated in the same way. */
KG_MUST_CHECK kg_status kg__known_facts_copy(kg_adjacency *out, const kg_known_facts *known,
                                             kg_error *error);

#endif
