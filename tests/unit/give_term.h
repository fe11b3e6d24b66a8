/* A term with one parameter, for params that a test makes. */
#ifndef KG_TESTS_GIVE_TERM_H
#define KG_TESTS_GIVE_TERM_H

#include "aggregate/graft_aggregate.h"
#include "model/term.h"

static inline void give_term(kg_params *params, const kg_term *term, void *counted,
                             const real *values, size_t param) {
    params->terms[kg__term_number(term)] =
        (kg_term_view){.counted = counted, .values = {values}, .param = param};
}

/* What graft has learned: the weights of pairs. */
static inline void give_weights(kg_params *params, kg_relation_weights *weights, const real *values,
                                size_t param) {
    params->terms[KG_TERM_EMBEDDING] =
        (kg_term_view){.counted = weights, .values = {values}, .param = param};
}

#endif
