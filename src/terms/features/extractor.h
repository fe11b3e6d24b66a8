/* Feature extraction for the queries of one entity.
 *
 * What is accumulated is a sum over the entity's facts, in integers, so that a fact can be
 * subtracted again exactly. Several queries with the same directed relation, each leaving out
 * another fact, therefore cost little more than one. */
#ifndef KG_TERMS_EXTRACTOR_H
#define KG_TERMS_EXTRACTOR_H

#include "math/real.h"
#include "terms/features/features.h"
#include "terms/features/id_map.h"
#include "terms/features/select_top.h"

/* In place of the position of a fact: none is left out. */
#define KG_NO_FACT SIZE_MAX

/* A candidate and its features: log(1 + phi / KG_FEATURE_FLOOR) of each, in 2^-12, 16 bits wide
 * since training caches very many of them. */
typedef struct kg_candidate_features {
    kg_id entity;
    uint16_t features[KG_EXTRACTED_COUNT];
} kg_candidate_features;
#define KG_FEATURE_FLOOR 0.01
#define KG_FEATURE_UNIT ((real)0x1p-12)

/* At most so many candidates of a query, the best ones, have features; those of all others are 0.
 */
#define KG_MOST_CANDIDATES 128

/* What the features of a candidate add to its score, given the weights for the query. */
static inline real kg__candidate_features_score(const kg_candidate_features *candidate,
                                                const real *weights) {
    real sum = 0;
    for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++)
        sum += weights[k] * (real)candidate->features[k];
    return sum * KG_FEATURE_UNIT;
}

/* What is accumulated for a candidate. */
typedef struct kg_accumulator {
    int64_t support; /* number of contributions, of those facts that are not left out; candidates
                        have some */
    int64_t paths[KG_MOST_STEPS]; /* sums of rule weights, by length */
    double best_rate;             /* co-occurrence: of the best fact, and of the second best */
    double second_rate;
    size_t best_fact;
    double vote;
    uint32_t hits; /* co-occurrences with the fact that is being added */
} kg_accumulator;

/* One per thread; its memory is reused. */
typedef struct kg_extractor {
    const kg_features *features; /* borrowed, like the links */
    kg_id self;
    const kg_link *links;
    size_t count;
    kg_directed query;
    bool is_accumulated;
    size_t left_out;
    bool is_short_of_memory; /* what is accumulated is incomplete */

    kg_id_map adjacent;       /* entities that the graph links to self */
    uint32_t *adjacent_facts; /* of each: by how many facts */
    size_t adjacent_capacity;

    kg_id_map candidates;
    kg_accumulator *accumulators; /* of each candidate */
    size_t accumulator_capacity;
    kg_id_map neighbors; /* entities that share a fact with self and have answers to the query */
    int64_t *overlaps;   /* of each neighbour: summed weights of the shared facts, in 2^-32 */
    size_t overlap_capacity;
    kg_selectable *selection;
    size_t selection_capacity;
    size_t *touched; /* candidates that co-occur with the fact that is being added */
    size_t touched_count;
    size_t touched_capacity;
} kg_extractor;

void kg__extractor_open(kg_extractor *extractor, const kg_features *features);
void kg__extractor_close(kg_extractor *extractor);

/* Sets the query entity: `self` in the graph, or KG_NO_ID if it is not there, and its facts, which
 * are distinct, sorted, and have to outlive their use. */
KG_MUST_CHECK kg_status kg__extractor_load(kg_extractor *extractor, kg_id self,
                                           const kg_link *links, size_t count, kg_error *error);

/* Sets the directed relation of the query. */
void kg__extractor_set_query(kg_extractor *extractor, kg_directed query);

/* The best candidates given all facts but the one at `left_out`, at most `most` of them, best
 * first. Known answers and the entity itself are not candidates. The order is that of a fixed sum
 * in which path1 has ten times the weight of the others, independent of the learned weights. */
KG_MUST_CHECK kg_status kg__extractor_candidates(kg_extractor *extractor,
                                                 kg_candidate_features *out, size_t most,
                                                 size_t *found, size_t left_out, kg_error *error);

/* phi of a candidate, by its number, after kg__extractor_candidates. */
double kg__extractor_phi(const kg_extractor *extractor, size_t candidate, kg_feature feature);

/* ---- For the files of features ---- */

/* How many facts another entity has, those with the query entity left out. */
size_t kg__extractor_facts_of(const kg_extractor *extractor, kg_id other);

/* The accumulator of a candidate, or NULL if memory is short, which is recorded. */
kg_accumulator *kg__extractor_accumulator(kg_extractor *extractor, kg_id entity);

#endif
