/* The echo term. It counts the pairs of directed relations (query, fact) by both of which an entity
 * is often linked to the same other one: a kg_pair_param. */
#ifndef KG_TERMS_ECHO_H
#define KG_TERMS_ECHO_H

#include "model/pair_param.h"

extern const kg_term kg__term_echo;

#endif
