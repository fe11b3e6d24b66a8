/* Rules: chains of directed relations that lead from an entity to answers, and their confidences.
 *
 * A rule is a query's directed relation and one to four steps. From each fact of the query entity v
 * the steps are followed, v -> x -> y -> ..., and the entities at the end are predicted answers. A
 * path visits no entity twice, v included. The fan-out of a path is the product over its steps, but
 * the first (a fact has one other end), of the number of entities that the step could lead to. The
 * larger the fan-out the weaker the prediction, so a rule is counted separately for each power of
 * two of it, and paths with a fan-out above KG_MOST_FAN are not followed.
 *
 * The work is bounded by a path's reach: the product over the entities it was extended from of
 * their degrees, links with v left out; a uniform random walk follows the path with probability 1 /
 * reach. A third or fourth step is only taken while the reach is at most KG_MOST_REACH: then at
 * most that many paths of each of these lengths start with a fact, in any graph.
 *
 * Rules are counted over entities with known answers. Each pair of entity and directed relation has
 * total weight 1: of its m answers each is queried in turn with weight 1/m, while the others are
 * known, hence not counted as predictions, and the queried fact starts no path.
 *
 *     hits         paths that end at the queried answer
 *     predictions  paths that end at it or at an entity that is not a known answer
 *
 * A rule's confidence is (hits + 5 prior) / (predictions + 6), where the prior is hits /
 * (predictions + 6) of the rule over all fan-outs. Rules below KG_LEAST_CONFIDENCE are not kept.
 * The rest form tries, one per query relation, whose nodes are steps, so that all rules of a query
 * are followed in one depth-first search. */
#ifndef KG_TERMS_RULES_H
#define KG_TERMS_RULES_H

#include "base/progress.h"
#include "graph/adjacency.h"

#define KG_MOST_STEPS 4
#define KG_MOST_FAN 1024
#define KG_MOST_REACH 1024
#define KG_LEAST_CONFIDENCE 0.001F

/* The counts of a rule for paths of one width, floor(log2(fan-out)). */
typedef struct kg_rule_tally {
    uint32_t width;
    float hits;
    float predictions;
    float confidence;
} kg_rule_tally;

typedef struct kg_rule {
    kg_directed step;    /* the last one */
    uint32_t first_next; /* rules that are longer by one step, sorted by it */
    uint32_t next_count;
    uint32_t first_tally; /* by width */
    uint32_t tally_count; /* 0 if only longer rules have hits */
} kg_rule;

typedef struct kg_rules {
    kg_rule *list; /* those of one step first, by query and step; then those of two, ... */
    size_t count;
    uint32_t *starts; /* directed_count + 1: where the rules of one step of a query start */
    size_t directed_count;
    kg_rule_tally *tallies;
    size_t tally_count;
} kg_rules;

typedef struct kg_rule_options {
    size_t most_steps; /* up to KG_MOST_STEPS */
    int threads;
    const kg_progress *progress; /* may be NULL */
} kg_rule_options;

/* Counts over all entities of the graph, or over a sample if there are very many. The result does
 * not depend on the number of threads. */
KG_MUST_CHECK kg_status kg__rules_count(kg_rules *out, const kg_adjacency *graph,
                                        size_t directed_count, const kg_rule_options *options,
                                        kg_error *error);
void kg__rules_free(kg_rules *rules);

/* The counts of a rule for paths of that width, or NULL. */
const kg_rule_tally *kg__rules_tally(const kg_rules *rules, const kg_rule *rule, unsigned width);

#endif
