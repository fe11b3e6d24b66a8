/* Facts as triples of ids, in a list that grows, or in a set. */
#ifndef KG_GRAPH_TRIPLES_H
#define KG_GRAPH_TRIPLES_H

#include <stdbool.h>

#include "base/names.h"

typedef struct kg_triple {
    kg_id head;
    kg_id relation;
    kg_id tail;
} kg_triple;

/* An empty list is all zeroes. */
typedef struct kg_triples {
    kg_triple *items;
    size_t count;
    size_t capacity;
} kg_triples;

void kg__triples_free(kg_triples *triples);

/* Reserves memory for `more` further triples. */
KG_MUST_CHECK kg_status kg__triples_reserve(kg_triples *triples, size_t more, kg_error *error);
KG_MUST_CHECK kg_status kg__triples_push(kg_triples *triples, kg_triple triple, kg_error *error);

/* Keeps the first of each set of equal triples, in order; `*dropped` is the number of removed ones.
 */
KG_MUST_CHECK kg_status kg__triples_unique(kg_triples *triples, size_t *dropped, kg_error *error);

/* A set of the triples of a list, by their position in it; open addressing, never removed from. */
typedef struct kg_triple_set {
    struct kg_triple_slot *slots;
    size_t slot_count; /* a power of two */
} kg_triple_set;

/* Reserves memory for `count` triples: it does not grow. */
KG_MUST_CHECK kg_status kg__triple_set_open(kg_triple_set *set, size_t count, kg_error *error);
void kg__triple_set_close(kg_triple_set *set);

/* Adds items[position]; false if an equal triple is in the set already. */
bool kg__triple_set_add(kg_triple_set *set, const kg_triple *items, size_t position);

#endif
