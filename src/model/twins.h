/* Twins of a model's names and training facts, made to be mapped: opening a model of millions of
 * entities then costs a glance at them instead of reading and hashing every name.
 *
 * names.idx holds the names of entities and relations as kg_names has them in memory, known.bin the
 * training facts as a kg_adjacency. Both start with a magic word and the places of their sections,
 * each of which begins at a multiple of 64 bytes. Everything in them is checked when they are
 * opened, so that nothing is ever read outside of them. */
#ifndef KG_MODEL_TWINS_H
#define KG_MODEL_TWINS_H

#include "base/mapping.h"
#include "base/output.h"
#include "graph/adjacency.h"

#define KG_MODEL_NAMES "names.idx"
#define KG_MODEL_KNOWN "known.bin"

/* The first `entity_count` entities and `relation_count` relations, which must be all that there
 * are in the tables of names, or the first of them. */
KG_MUST_CHECK kg_status kg_names_twin_write(kg_output *output, const kg_names *entities,
                                            size_t entity_count, const kg_names *relations,
                                            size_t relation_count, kg_error *error);
KG_MUST_CHECK kg_status kg_known_twin_write(kg_output *output, const kg_triples *facts,
                                            size_t entity_count, kg_error *error);

/* Views of a mapping, which has to outlive them; they are not to be freed, nor added to. */
KG_MUST_CHECK kg_status kg_names_twin_view(kg_names *entities, kg_names *relations,
                                           const kg_mapping *mapping, const char *path,
                                           kg_error *error);
KG_MUST_CHECK kg_status kg_known_twin_view(kg_adjacency *known, const kg_mapping *mapping,
                                           size_t entity_count, size_t relation_count,
                                           const char *path, kg_error *error);

#endif
