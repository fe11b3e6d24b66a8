/* A witness: knows the evidence for answers to questions about one entity.
 *
 * What is gathered is a sum over the entity's facts, in whole numbers, so a fact can be taken out
 * again without a trace. Questions with the same directed relation, each leaving another fact out,
 * then cost little more than one. */
#ifndef KG_TERMS_EXTRACTOR_H
#define KG_TERMS_EXTRACTOR_H

#include "math/real.h"
#include "terms/features/features.h"
#include "terms/features/id_map.h"
#include "terms/features/select_top.h"

/* In place of the position of a fact: none is left out. */
#define KG_NO_FACT SIZE_MAX

/* A candidate, and what speaks for it: log(1 + phi / KG_FEATURE_FLOOR) of each feature, in 2^-12,
 * since learning keeps very many of them. */
typedef struct kg_candidate_features {
    kg_id entity;
    uint16_t features[KG_EXTRACTED_COUNT];
} kg_candidate_features;
#define KG_FEATURE_FLOOR 0.01
#define KG_FEATURE_UNIT ((real)0x1p-12)

/* So many of the best candidates have hints; all others count as if nothing spoke for them. */
#define KG_MOST_CANDIDATES 128

/* What a hint adds to a score, by what the features are worth. */
static inline real kg__candidate_features_score(const kg_candidate_features *hint,
                                                const real *worth) {
    real sum = 0;
    for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++)
        sum += worth[k] * (real)hint->features[k];
    return sum * KG_FEATURE_UNIT;
}

/* What is gathered for a candidate. */
typedef struct kg_accumulator {
    int64_t pieces;              /* of evidence; none is left if all come from what is left out */
    int64_t sums[KG_MOST_STEPS]; /* weights of paths, by their steps */
    double best;                 /* company: of the best fact, and of the best other one */
    double second;
    size_t best_fact;
    double votes;
    uint32_t hits; /* company of the fact that is being gathered */
} kg_accumulator;

/* One for each thread, used again and again. */
typedef struct kg_extractor {
    const kg_features *evidence; /* borrowed, like the links */
    kg_id self;
    const kg_link *links;
    size_t count;
    kg_directed asked;
    bool is_gathered;
    size_t left_out;
    bool is_short_of_memory; /* what is gathered is not complete */

    kg_id_map linked;     /* who the entity is linked to in the graph */
    uint32_t *links_with; /* of each: by how many facts */
    size_t linked_room;

    kg_id_map candidates;
    kg_accumulator *piles; /* of each candidate */
    size_t pile_room;
    kg_id_map neighbors; /* others with a fact of the entity's, who answer the question */
    int64_t *shared;     /* of each neighbour: what these facts weigh, in 2^-32 */
    size_t shared_room;
    kg_selectable *picks;
    size_t pick_room;
    size_t *touched; /* candidates that the fact which is being gathered has company for */
    size_t touched_count;
    size_t touched_room;
} kg_extractor;

void kg__extractor_open(kg_extractor *witness, const kg_features *evidence);
void kg__extractor_close(kg_extractor *witness);

/* Who is asked about: `self` in the graph, or KG_NO_ID if it is not there, with its facts, which
 * differ from each other, are sorted, and have to outlive their use. */
KG_MUST_CHECK kg_status kg__extractor_load(kg_extractor *witness, kg_id self, const kg_link *links,
                                           size_t count, kg_error *error);

/* The question. */
void kg__extractor_ask(kg_extractor *witness, kg_directed asked);

/* The best candidates for answers by all facts but the one at `left_out`, at most `most` of them,
 * the best first. Answers that are known are none, and neither is the entity itself. Order is by
 * a simple sum, in which echoes weigh ten times as much as anything else: what features are
 * really worth is for others to learn. */
KG_MUST_CHECK kg_status kg__extractor_answer(kg_extractor *witness, kg_candidate_features *out,
                                             size_t most, size_t *found, size_t left_out,
                                             kg_error *error);

/* phi of a candidate after an answer, by its number. */
double kg__extractor_phi(const kg_extractor *witness, size_t candidate, kg_feature feature);

/* ---- Its parts ---- */

/* How many facts another entity has, without those with the entity that is asked about. */
size_t kg__extractor_facts_of(const kg_extractor *witness, kg_id other);

/* The pile of a candidate, or NULL if memory is short, which is noted. */
kg_accumulator *kg__extractor_pile(kg_extractor *witness, kg_id entity);

/* A feature: how it is counted, and what that comes to. Those that are counted in the same way are
 * neighbours in the table. */
typedef void kg_extract(kg_extractor *witness, size_t fact, int sign);
typedef struct kg_feature_row {
    kg_extract *gather; /* adds what a fact says, or takes it out again: `sign` is 1 or -1 */
    void (*finish)(kg_extractor *witness); /* once all facts are gathered; may be NULL */
    double (*phi)(const kg_extractor *witness, const kg_accumulator *pile, kg_feature feature);
} kg_feature_row;
extern const kg_feature_row kg__feature_rows[KG_EXTRACTED_COUNT];

/* Echo, two, three, four: rules, followed from a fact. */
kg_extract kg__paths_gather;
double kg__paths_phi(const kg_extractor *witness, const kg_accumulator *pile, kg_feature feature);

/* Company, and votes, for which neighbours are met on the way. */
kg_extract kg__cooccurrence_gather;
double kg__cooccurrence_phi(const kg_extractor *witness, const kg_accumulator *pile,
                            kg_feature feature);
void kg__cooccurrence_vote(kg_extractor *witness);
double kg__knn_vote_phi(const kg_extractor *witness, const kg_accumulator *pile,
                        kg_feature feature);

static inline double kg__accumulator_company(const kg_extractor *witness,
                                             const kg_accumulator *pile) {
    return pile->best_fact == witness->left_out ? pile->second : pile->best;
}

/* Of others with a fact: how many have an answer, and how many that one. */
typedef struct kg_cooccurrence {
    size_t others;
    size_t hits;
} kg_cooccurrence;

kg_cooccurrence kg__cooccurrence_of(const kg_extractor *witness, size_t fact, kg_id answer);
double kg__cooccurrence_share(kg_cooccurrence company);

/* The neighbours with the most in common with the entity, at the front of the picks by similarity;
 * `*total` is the sum of its squares. */
size_t kg__cooccurrence_voters(kg_extractor *witness, double *total);

/* What a fact of the entity adds to what it has in common with another one, in 2^-32: 0 if that one
 * does not have it, or was passed over among many who do. */
int64_t kg__cooccurrence_weight(const kg_extractor *witness, kg_link fact, kg_id other);
bool kg__cooccurrence_votes_for(const kg_extractor *witness, kg_id voter, kg_id answer);

#endif
