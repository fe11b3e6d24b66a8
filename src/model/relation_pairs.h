/* Pairs of directed relations (that of a query, that of a fact), numbered: what is learned for each
 * (model/pair_param.h) is the weight of such a fact in the aggregate for such a query, or the score
 * offset of its other end as an answer (echo).
 *
 * Only pairs that occur in the graph are stored, since all would be the square of the relations. */
#ifndef KG_MODEL_RELATION_PAIRS_H
#define KG_MODEL_RELATION_PAIRS_H

#include "base/arena.h"
#include "graph/adjacency.h"
#include "math/real.h"
#include "model/safetensors.h"

#define KG_NO_PAIR UINT32_MAX

/* A set of pairs (query, given), numbered from 0: sparse rows, one per query relation. */
typedef struct kg_pairs {
    uint32_t *starts;   /* directed_count + 1: pairs of `query` are starts[query] and following */
    kg_directed *given; /* relation of the fact, of each pair; ascending for each query */
    size_t directed_count;
    size_t count;
} kg_pairs;

void kg__pairs_free(kg_pairs *pairs);

/* The number of a pair, or KG_NO_PAIR. */
uint32_t kg__pairs_find(const kg_pairs *pairs, kg_directed query, kg_directed given);

/* All pairs of relations that some entity has facts of; (a, a) if it has two of them. */
KG_MUST_CHECK kg_status kg__pairs_make(kg_pairs *out, const kg_adjacency *graph,
                                       size_t directed_count, kg_error *error);

/* Pairs by both of which an entity is linked to the same other one, at least `times`, and for more
 * than `share` of the facts of entities that have both. */
KG_MUST_CHECK kg_status kg__pairs_make_echoes(kg_pairs *out, const kg_adjacency *graph,
                                              size_t directed_count, uint32_t times, double share,
                                              kg_error *error);

/* Sets the values of those pairs that other ones have, too, which were learned on another graph:
 * relation r of `pairs` is relations[r] there, or KG_NO_ID. */
void kg__pairs_copy_from(real *values, const kg_pairs *pairs, const real *others,
                         const kg_pairs *other_pairs, const kg_id *relations);

/* On disk pairs are rows of three numbers, query, given and the value, in order. The first two are
 * exact, since there are fewer than 2^24 directed relations. */
#define KG_PAIR_COLUMNS 3
#define KG_MOST_DIRECTED (1 << 24)

KG_MUST_CHECK kg_status kg__pairs_pack(kg_tensor *out, const char *name, const kg_pairs *pairs,
                                       const real *values, kg_arena *arena, kg_error *error);

/* Validates the rows, which come from a file. `*values` is to be kg_freed. */
KG_MUST_CHECK kg_status kg__pairs_unpack(kg_pairs *out, real **values, const kg_tensor *rows,
                                         size_t directed_count, const char *path, kg_error *error);

#endif
