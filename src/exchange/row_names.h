/* Names of the rows of a matrix, in the formats of other tools. The format is detected:
 *
 *  - a name on each line, in the order of the rows;
 *  - an id and a name, or a name and an id, separated by a tab: ids from 0, each once, in any order
 *    (DGL-KE, LibKGE);
 *  - the same below a line `id<TAB>label` (PyKEEN), ids first, quoted where pandas has to;
 *  - a line with the number of names, then a name and an id on each line, separated by a tab or
 *    spaces (OpenKE). */
#ifndef KG_EXCHANGE_ROW_NAMES_H
#define KG_EXCHANGE_ROW_NAMES_H

#include <stdbool.h>

#include "base/input.h"
#include "base/names.h"
#include "base/output.h"

/* Whether the text is an id: decimal digits without leading zeros. */
bool kg__row_number(const char *text, size_t length, size_t *out);

/* Adds the names of `rows` rows, at least 1, to an empty table, in row order. */
KG_MUST_CHECK kg_status kg__row_names_read(kg_names *names, kg_input *input, size_t rows,
                                           kg_error *error);

#endif
