/* A term with one parameter, for params that a test makes. */
#ifndef KG_TESTS_GIVE_TERM_H
#define KG_TESTS_GIVE_TERM_H

#include "model/term.h"

static inline void give_term(kg_params *params, const kg_term *term, void *counted,
                             const real *values, size_t param) {
    params->terms[kg__term_number(term)] =
        (kg_term_view){.counted = counted, .values = {values}, .param = param};
}

#endif
