/* What the echo term counts: the pairs of directed relations (query, fact) by both of which an
 * entity is often linked to the same other one. */
#ifndef KG_TERMS_ECHO_H
#define KG_TERMS_ECHO_H

#include "model/term.h"

typedef struct kg_echo {
    kg_pairs pairs;
    real *values; /* owned; NULL if those of the view are others' */
} kg_echo;

extern const kg_term kg__term_echo;

#endif
