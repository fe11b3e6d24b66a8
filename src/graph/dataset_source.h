/* From a source to a data set: recognises what a source is and reads it.
 *
 * A source is a file ("-" is standard input), several files of facts, a directory in one of the
 * published layouts, a pair of directories X and X_ind (both are given, or X with X_ind beside it),
 * or "wordnet" or "wordnet:PATH". With a format in the options it is a path, whatever its name. */
#ifndef KG_GRAPH_DATASET_SOURCE_H
#define KG_GRAPH_DATASET_SOURCE_H

#include "graph/reader.h"

/* Reads the sources into an empty, opened data set, and finishes it. `reader` holds the options and
 * receives the counts; its data set is set here. */
KG_MUST_CHECK kg_status kg__source_read(kg_dataset *dataset, kg_reader *reader,
                                        const char *const *sources, size_t count, kg_error *error);

/* Whether a file is RDF by its extension, ignoring .gz, and in which syntax. */
bool kg__source_is_rdf(kg_rdf_syntax *out, const char *path);

/* Names of the formats that kg_read_options accepts, ended by NULL. */
extern const char *const kg__formats[];

#endif
