/* What the tool needs of newcomers beyond the public interface. */
#ifndef KG_INFER_NEW_ENTITIES_H
#define KG_INFER_NEW_ENTITIES_H

#include "base/input.h"
#include "infer/suggest.h"

/* Adds the facts of an input that is open already. */
KG_MUST_CHECK kg_status kg__new_entities_read_input(kg_new_entities *newcomers, kg_input *input,
                                                    kg_error *error);

/* Unknown entities of the facts that may have been meant. */
kg_suggestion kg__new_entities_suggest(const kg_new_entities *newcomers, kg_text name);

#endif
