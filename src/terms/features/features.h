/* Evidence: counts over the graph that speak for an answer.
 *
 * An entity v is known by its facts, and asked for a directed relation. Each feature gives an
 * entity u a number phi(u), at least 0: how much speaks for u as the answer. v itself is never in
 * the graph when this is found out: neither are the facts that it has there, if it is an entity of
 * the graph, nor the one that is asked for.
 *
 *     echo, two, three, four   rules (rules.h) of one to four steps lead from v's facts to u. Their
 *                              confidences c add up as -log(1 - c), as if each were right or
 *                              wrong by itself
 *     company                  of others with one of v's facts, how many that answer the question
 *                              give u as an answer: hits / (their number + 3), of the best fact
 *     votes                    the answers of those with the most in common with v: each has a
 *                              vote, which weighs the square of how similar he is
 *     vacancy                  whether u has room for one more question that it answers
 *                              (vacancy.h): another kind of number, which every entity has
 *
 * Rules are counted once, over the whole graph, v in it or not: what one entity adds to the counts
 * of a rule is little, since rules with few counts are smoothed, and learning what features are
 * worth from counts that the learner's own entity was left out of made no difference. Everything
 * else is counted when it is asked for. */
#ifndef KG_TERMS_FEATURES_H
#define KG_TERMS_FEATURES_H

#include "terms/features/degree_prior.h"
#include "terms/features/rules.h"

/* Those that are gathered for a question come first. */
#define KG_EXTRACTED_COUNT KG_DEGREE_PRIOR

/* In the order of kg_feature, ended by NULL. */
extern const char *const kg__feature_names[];

/* A set of features: feature k is bit 1 << k. */
typedef unsigned kg_feature_set;
#define KG_ALL_FEATURES ((1U << KG_FEATURE_COUNT) - 1)

static inline bool kg__feature_set_has(kg_feature_set features, kg_feature feature) {
    return (features >> feature & 1) != 0;
}

/* Nothing is certain: one path alone never outweighs all others. */
#define KG_MOST_CONFIDENCE 0.999

/* How sure a path of that rule is, as it counts. */
static inline double kg__confidence(const kg_rule_tally *tally) {
    double confidence = (double)tally->confidence;
    return confidence < KG_MOST_CONFIDENCE ? confidence : KG_MOST_CONFIDENCE;
}

typedef struct kg_features {
    const kg_adjacency *graph; /* borrowed */
    kg_feature_set features;   /* that count; the others are 0 */
    kg_rules rules;
    int64_t *weights; /* of each tally of the rules: -log(1 - confidence), in 2^-32 */
    kg_degree_prior vacancy;
    const real *worth; /* directed_count x KG_FEATURE_COUNT, borrowed: what a feature adds to the
                          score of an answer to the question; NULL until somebody knows */
} kg_features;

/* Counts rules and vacancies over a graph, which has to outlive it. */
KG_MUST_CHECK kg_status kg__features_count(kg_features *out, const kg_adjacency *graph,
                                           size_t directed_count, kg_feature_set features,
                                           int threads, const kg_progress *progress,
                                           kg_error *error);

/* The same of what was counted before, which it takes over, also if it fails. */
KG_MUST_CHECK kg_status kg__features_take(kg_features *out, const kg_adjacency *graph,
                                          kg_feature_set features, kg_rules *rules,
                                          kg_degree_prior *vacancy, kg_error *error);
void kg__features_close(kg_features *evidence);

/* What features are worth in answers to a question. */
static inline const real *kg__features_weights_of(const kg_features *evidence, kg_directed asked) {
    return evidence->worth + asked * (size_t)KG_FEATURE_COUNT;
}

#endif
