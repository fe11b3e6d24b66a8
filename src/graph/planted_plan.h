/* What a planted graph consists of: types of entities, relations between them, rules.
 *
 * Entities have places, and a type has those from `first` on; within it, they are ordered by how
 * often they are targets. A relation leads from entities of one type to those of another. There are
 * three sorts, in the order of ids:
 *
 *   links    one for each type: a fact of each of its entities, so every entity occurs
 *   base     drawn facts, in numbers that follow Zipf's law
 *   heads    one for each rule: what follows from it
 *
 * A rule begins with a base relation, its body, and goes on by links: so the body holds wherever it
 * begins, and a rule has as many conclusions as its first relation has facts. */
#ifndef KG_GRAPH_PLANTED_PLAN_H
#define KG_GRAPH_PLANTED_PLAN_H

#include <stdbool.h>

#include "graph/generate.h"
#include "graph/zipf.h"

#define KG_PLANTED_STEPS 3 /* the most that a rule has */

typedef struct kg_planted_type {
    uint64_t first;
    uint64_t count;
} kg_planted_type;

/* A fact is the slot of its source: an entity has `slots` of them, each with targets of its own, so
 * that no two facts are the same. */
typedef struct kg_planted_relation {
    uint32_t source; /* types */
    uint32_t target;
    uint64_t facts;
    uint64_t slots;
    kg_zipf law; /* of the targets of a slot */
} kg_planted_relation;

typedef struct kg_planted_rule {
    kg_id body[KG_PLANTED_STEPS];
    uint32_t steps;
    bool inverse; /* one step, from the target to the source */
    kg_id head;
    double confidence; /* the share of the bodies whose conclusion is a fact */
} kg_planted_rule;

typedef struct kg_planted_plan {
    kg_generate_options options;
    kg_planted_type *types;
    kg_planted_relation *relations;
    kg_planted_rule *rules; /* those of a head further on have fewer facts */
    uint32_t type_count;
    uint32_t base_count;
    uint32_t rule_count;
} kg_planted_plan;

/* Refuses numbers that the rules do not fit into. */
KG_MUST_CHECK kg_status kg__planted_plan_make(kg_planted_plan *out,
                                              const kg_generate_options *options, kg_error *error);
void kg__planted_plan_free(kg_planted_plan *plan);

#endif
