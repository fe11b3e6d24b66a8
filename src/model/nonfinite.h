/* Numbers that are not finite, in a model whose files were damaged: opening it does not look at
 * them, so whoever meets one says so. */
#ifndef KG_MODEL_NONFINITE_H
#define KG_MODEL_NONFINITE_H

#include "base/status.h"
#include "model/params.h"

/* `found` is what is not finite, as in "a score". */
kg_status kg__nonfinite_fail(const char *found, kg_error *error);

/* Looks at all rows of embeddings, for those who are going to use them all. */
KG_MUST_CHECK kg_status kg__nonfinite_look(const kg_params *params, size_t entity_count,
                                           size_t relation_count, kg_error *error);

#endif
