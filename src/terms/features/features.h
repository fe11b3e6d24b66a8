/* Counted features: numbers from the graph that support an answer.
 *
 * A query is an entity v, known by its facts, and a directed relation. Each feature gives an entity
 * u a number phi(u) >= 0, its support for u as the answer. v is treated as unseen: its own facts in
 * the graph, if it is an entity of the graph, are left out, the queried one among them.
 *
 *     path1 ... path4   rules (rules.h) of one to four steps lead from v's facts to u. Their
 *                       confidences c are combined as a noisy-or: phi is the sum of -log(1 - c)
 *     cooccurrence      of the entities that share a fact with v and have an answer to the query,
 *                       the rate of those that have u: hits / (their number + 3); the largest of
 *                       all facts
 *     knn               vote of the entities most similar to v for their own answers, weighted by
 *                       similarity squared
 *     degree            log-odds of the number of facts that u has in the queried relation
 *                       (degree_prior.h): not extracted by query, since every entity has it
 *
 * Rules are counted once, over the whole graph, v included: the effect of one entity on the counts
 * of a rule is small, since rules with few counts are smoothed, and weights that were learned from
 * counts without the query entity were no better. Everything else is counted by query. */
#ifndef KG_TERMS_FEATURES_H
#define KG_TERMS_FEATURES_H

#include "base/json.h"
#include "terms/features/degree_prior.h"
#include "terms/features/rules.h"

typedef enum kg_feature {
    KG_PATH1, /* a fact of the entity leads to the answer */
    KG_PATH2, /* so many facts do, one after the other */
    KG_PATH3,
    KG_PATH4,
    KG_COOCCURRENCE, /* others with a fact of the entity have the answer */
    KG_KNN_VOTE,     /* those with the most in common with the entity have it */
    KG_DEGREE_PRIOR, /* how many have it already */
    KG_FEATURE_COUNT,
} kg_feature;

/* Features that are extracted by query come first. */
#define KG_EXTRACTED_COUNT KG_DEGREE_PRIOR

/* In the order of kg_feature, ended by NULL. */
extern const char *const kg__feature_names[];

/* The feature of that name, or of the name that it had before 0.2, as in the files of older models.
 */
bool kg__feature_find(kg_feature *out, const char *name);

/* Replaces older names in a list of them. */
void kg__feature_names_update(json_t *names);

/* A set of features: feature k is bit 1 << k. */
typedef unsigned kg_feature_set;
#define KG_ALL_FEATURES ((1U << KG_FEATURE_COUNT) - 1)

static inline bool kg__feature_set_has(kg_feature_set features, kg_feature feature) {
    return (features >> feature & 1) != 0;
}

/* Confidences are clipped, so that no single path has infinite weight. */
#define KG_MOST_CONFIDENCE 0.999

static inline double kg__confidence(const kg_rule_tally *tally) {
    double confidence = (double)tally->confidence;
    return confidence < KG_MOST_CONFIDENCE ? confidence : KG_MOST_CONFIDENCE;
}

typedef struct kg_features {
    const kg_adjacency *graph; /* borrowed */
    kg_feature_set enabled;    /* the others are 0 */
    kg_rules rules;
    int64_t *rule_weights; /* of each tally of the rules: -log(1 - confidence), in 2^-32 */
    kg_degree_prior degree_prior;
} kg_features;

/* Counts rules and degree priors over a graph, which has to outlive the features. */
KG_MUST_CHECK kg_status kg__features_count(kg_features *out, const kg_adjacency *graph,
                                           size_t directed_count, kg_feature_set enabled,
                                           int threads, const kg_progress *progress,
                                           kg_error *error);

/* From counts that were made before. Takes ownership of them, also if it fails. */
KG_MUST_CHECK kg_status kg__features_take(kg_features *out, const kg_adjacency *graph,
                                          kg_feature_set enabled, kg_rules *rules,
                                          kg_degree_prior *prior, kg_error *error);
void kg__features_close(kg_features *features);

#endif
