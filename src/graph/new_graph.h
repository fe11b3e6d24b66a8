/* A graph that a model was not trained on, read from anything that holds facts. */
#ifndef KG_GRAPH_NEW_GRAPH_H
#define KG_GRAPH_NEW_GRAPH_H

#include "graph/reader.h"

/* Reads a source, as kg__source_read does: the new graph of a data set that has one, with all its
 * entities, or else its training facts. `out` gets copies of the relations, with the same ids, and
 * facts in KG_GRAPH alone, about out->graph_entities. A relation that is none of these is refused,
 * unless the reader's `skip_unknown` is set; out->unknown_relations has their names either way. The
 * caller closes `out`, also after a failure. */
KG_MUST_CHECK kg_status kg__new_graph_read(kg_dataset *out, kg_reader *reader, const char *source,
                                           const kg_names *relations, kg_error *error);

#endif
