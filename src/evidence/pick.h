/* The best of many, in linear time. */
#ifndef KG_EVIDENCE_PICK_H
#define KG_EVIDENCE_PICK_H

#include "base/names.h"

typedef struct kg_pick {
    double value; /* the higher the better; ties go to the lower id */
    kg_id id;
    uint32_t number;
} kg_pick;

/* Moves the best `most` to the front, the best first; returns how many that are. */
size_t kg_pick_best(kg_pick *picks, size_t count, size_t most);

#endif
