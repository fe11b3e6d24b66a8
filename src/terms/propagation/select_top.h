/* Partial selection: the k best of n items, sorted, in O(n + k log k) on average. */
#ifndef KG_TERMS_SELECT_TOP_H
#define KG_TERMS_SELECT_TOP_H

#include "base/names.h"

typedef struct kg_selectable {
    double value; /* the higher the better; ties go to the lower id */
    kg_id id;
    uint32_t number;
} kg_selectable;

/* Moves the best `most` items to the front, best first; returns how many there are. */
size_t kg__select_top(kg_selectable *items, size_t count, size_t most);

#endif
