/* Facts about the rows of matrices, in the formats of other tools. The format is detected:
 *
 *  - head, relation and tail, separated by tabs, by name (published data sets) or by id (LibKGE,
 *    DGL-KE);
 *  - the same below a header such as `head<TAB>relation<TAB>tail` (PyKEEN);
 *  - a line with the number of facts, then the ids of head, tail and relation, in that order,
 *    separated by a tab or spaces (OpenKE).
 *
 * Names may be numbers, too: the interpretation that fits all lines is used. */
#ifndef KG_EXCHANGE_TRIPLES_FILE_H
#define KG_EXCHANGE_TRIPLES_FILE_H

#include "graph/reader.h"

/* Adds the facts to the reader's data set, which has the names of the rows. */
KG_MUST_CHECK kg_status kg__triples_file_read(kg_reader *reader, kg_input *input, kg_error *error);

#endif
