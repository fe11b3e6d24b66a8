/* Evidence: counts over the graph that speak for an answer.
 *
 * An entity v is known by its facts, and asked for a directed relation. Each feature gives an
 * entity u a number phi(u) in [0, 1]: how likely it is, as far as that feature can tell, that u
 * answers the question. v itself is never in the graph when this is found out: neither are the
 * facts that it has there, if it is an entity of the graph, nor the one that is asked for.
 *
 *     echo, two, three, four   rules (rules.h) of one to four steps lead from v's facts to u. Their
 *                              confidences c come together as if each were right or wrong by
 *                              itself: 1 - product of (1 - c)
 *     company                  of others with one of v's facts, how many that answer the question
 *                              give u as an answer: hits / (their number + 3), of the best fact
 *     votes                    the answers of those with the most in common with v: each has a
 *                              vote, which weighs the square of how similar he is
 *
 * Rules are counted once, over the whole graph, v in it or not: what one entity adds to the counts
 * of a rule is little, since rules with few counts are smoothed, and learning what features are
 * worth from counts that the learner's own entity was left out of made no difference. Everything
 * else is counted when it is asked for. */
#ifndef KG_EVIDENCE_EVIDENCE_H
#define KG_EVIDENCE_EVIDENCE_H

#include "evidence/rules.h"

typedef enum kg_feature {
    KG_ECHO,
    KG_TWO_STEPS,
    KG_THREE_STEPS,
    KG_FOUR_STEPS,
    KG_COMPANY,
    KG_VOTES,
    KG_FEATURE_COUNT,
} kg_feature;

/* In that order, ended by NULL. */
extern const char *const kg_feature_names[];

typedef struct kg_evidence {
    const kg_adjacency *graph; /* borrowed */
    kg_rules rules;
    int64_t *weights; /* of each tally of the rules: -log(1 - confidence), in 2^-32 */
} kg_evidence;

/* Counts rules over a graph, which has to outlive it. */
KG_MUST_CHECK kg_status kg_evidence_open(kg_evidence *out, const kg_adjacency *graph,
                                         size_t directed_count, const kg_rule_options *options,
                                         kg_error *error);

/* The same of rules that were counted before, which it takes over, also if it fails. */
KG_MUST_CHECK kg_status kg_evidence_take(kg_evidence *out, const kg_adjacency *graph,
                                         kg_rules *rules, kg_error *error);
void kg_evidence_close(kg_evidence *evidence);

#endif
