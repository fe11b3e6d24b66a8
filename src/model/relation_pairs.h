/* What a model learns about pairs of directed relations: how much a fact of one says about a
 * question of the other, and how often its other end is the answer.
 *
 * Pairs are kept only where they occur: all of them would be the square of the relations. */
#ifndef KG_MODEL_RELATION_PAIRS_H
#define KG_MODEL_RELATION_PAIRS_H

#include "graph/adjacency.h"
#include "math/real.h"
#include "model/safetensors.h"

#define KG_NO_PAIR UINT32_MAX

/* A set of pairs (asked, given), each with a number from 0. */
typedef struct kg_pairs {
    uint32_t *starts;   /* directed_count + 1: pairs of `asked` are starts[asked] and following */
    kg_directed *given; /* of each pair; ascending for each asked */
    size_t directed_count;
    size_t count;
} kg_pairs;

void kg__pairs_free(kg_pairs *pairs);

/* The number of a pair, or KG_NO_PAIR. */
uint32_t kg__pairs_find(const kg_pairs *pairs, kg_directed asked, kg_directed given);

/* All pairs of relations that some entity has facts of: (a, a) too where it has two of them. */
KG_MUST_CHECK kg_status kg__pairs_make(kg_pairs *out, const kg_adjacency *graph,
                                       size_t directed_count, kg_error *error);

/* Those pairs of which an entity is linked to the same other by both, at least `times` and in more
 * than `share` of the cases in which an entity has facts of both. */
KG_MUST_CHECK kg_status kg__pairs_make_echoes(kg_pairs *out, const kg_adjacency *graph,
                                              size_t directed_count, uint32_t times, double share,
                                              kg_error *error);

/* On disk pairs are rows of three numbers, asked, given and the value, in order. The first two are
 * exact, since there are fewer than 2^24 directed relations. */
#define KG_PAIR_COLUMNS 3
#define KG_MOST_DIRECTED (1 << 24)

void kg__pairs_pack(const kg_pairs *pairs, const real *values, real *rows);

/* Rows of a file, which need not be what they should. `*values` is to be kg_freed. */
KG_MUST_CHECK kg_status kg__pairs_unpack(kg_pairs *out, real **values, const kg_tensor *rows,
                                         size_t directed_count, const char *path, kg_error *error);

/* The same pairs, and their values, where relations have other numbers: `ids` has that of each
 * relation, or KG_NO_ID if there is none. */
KG_MUST_CHECK kg_status kg__pairs_rename(kg_pairs *out, real **values, const kg_pairs *pairs,
                                         const real *old, const kg_id *ids, size_t directed_count,
                                         kg_error *error);

/* The aggregate of a question: z = N^-power sum of weight(asked, given) q(given), and bonuses
 * echo(asked, given) for the facts' other ends as answers. Borrowed. */
typedef struct kg_graft {
    double power;
    kg_pairs weighted;
    const real *weights; /* of the pairs; of others the weight is 1 */
    kg_pairs echoing;
    const real *echoes; /* of the pairs; of others there is none */
} kg_graft;

#endif
