/* Numbers that are not finite, in a model whose files are damaged. Opening a model does not read
 * all numbers, so they are reported where they are found. */
#ifndef KG_MODEL_NONFINITE_H
#define KG_MODEL_NONFINITE_H

#include "base/status.h"
#include "model/params.h"

/* `found` is what is not finite, as in "a score". */
kg_status kg__nonfinite_fail(const char *found, kg_error *error);

/* Checks all rows of embeddings, for callers that use them all. */
KG_MUST_CHECK kg_status kg__nonfinite_check(const kg_params *params, size_t entity_count,
                                            size_t relation_count, kg_error *error);

#endif
