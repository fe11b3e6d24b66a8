/* What the tool needs of newcomers beyond the public interface. */
#ifndef KG_GRAFT_NEWCOMERS_H
#define KG_GRAFT_NEWCOMERS_H

#include "base/input.h"
#include "graft/nearest.h"

/* Adds the facts of an input that is open already. */
KG_MUST_CHECK kg_status kg_newcomers_read_input(kg_newcomers *newcomers, kg_input *input,
                                                kg_error *error);

/* Unknown entities of the facts that may have been meant. */
kg_suggestion kg_newcomers_suggest(const kg_newcomers *newcomers, kg_text name);

#endif
