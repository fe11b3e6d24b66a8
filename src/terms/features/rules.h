/* Rules: chains of directed relations that lead from an entity to answers, and how often they do.
 *
 * A rule is a question and one to four steps. Whoever is asked a question follows the steps from
 * his own facts, v -> x -> y -> ..., and where he arrives may be answers. A path never meets an
 * entity twice, v included. A path's fan-out is the product over its steps of how many entities
 * that step could have gone to from where it stood, the first left out, since a fact has one other
 * end. The wider a path fans out the less it says, so a rule is counted apart for each power of
 * two of it, and paths wider than KG_MOST_FAN are not followed.
 *
 * What bounds the work is a path's reach: the product over whom it went on from of how many links
 * they have, those with v left out, so that someone who strolls at random takes it with a chance
 * of 1 / reach. A third or fourth step is only taken while the reach is at most KG_MOST_REACH:
 * then no more than so many paths of each of these lengths start with a fact, in any graph.
 *
 * Counts come from entities whose answers are known. Each has one voice for each question: of m
 * answers one is asked at a time, each with weight 1/m, while the others are known, so that they
 * are no predictions, and the fact that is asked for starts no path.
 *
 *     hits         paths that arrive at the answer
 *     predictions  paths that arrive at it or at what is not known to be an answer
 *
 * A rule's confidence is (hits + 5 prior) / (predictions + 6), where the prior is hits /
 * (predictions + 6) of the rule for all widths together. Rules that hardly ever hit are not kept.
 * The rest form tries, one for each question, whose nodes are steps: all rules of a question are
 * followed in one walk. */
#ifndef KG_TERMS_RULES_H
#define KG_TERMS_RULES_H

#include "base/progress.h"
#include "graph/adjacency.h"

#define KG_MOST_FAN 1024
#define KG_MOST_REACH 1024
#define KG_LEAST_CONFIDENCE 0.001F

/* A rule for paths of one width, floor(log2(fan-out)). */
typedef struct kg_rule_tally {
    uint32_t width;
    float hits;
    float predictions;
    float confidence;
} kg_rule_tally;

typedef struct kg_rule {
    kg_directed step;    /* the last one */
    uint32_t first_next; /* rules that go on by one more step, by that step */
    uint32_t next_count;
    uint32_t first_tally; /* by width */
    uint32_t tally_count; /* 0 if only longer rules have hits */
} kg_rule;

typedef struct kg_rules {
    kg_rule *list; /* those of one step first, by question and step; then those of two, ... */
    size_t count;
    uint32_t *starts; /* directed_count + 1: where the rules of one step of a question start */
    size_t directed_count;
    kg_rule_tally *tallies;
    size_t tally_count;
} kg_rules;

typedef struct kg_rule_options {
    size_t most_steps; /* up to KG_MOST_STEPS */
    int threads;
    const kg_progress *progress; /* may be NULL */
} kg_rule_options;

/* Counts over all entities of the graph, or, if there are very many, some of them. The result
 * does not depend on the number of threads. */
KG_MUST_CHECK kg_status kg__rules_count(kg_rules *out, const kg_adjacency *graph,
                                        size_t directed_count, const kg_rule_options *options,
                                        kg_error *error);
void kg__rules_free(kg_rules *rules);

/* The tally of a rule for paths of that width, or NULL. */
const kg_rule_tally *kg__rules_tally(const kg_rules *rules, const kg_rule *rule, unsigned width);

#endif
