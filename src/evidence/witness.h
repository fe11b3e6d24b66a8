/* A witness: knows the evidence for answers to questions about one entity.
 *
 * What is gathered is a sum over the entity's facts, in whole numbers, so a fact can be taken out
 * again without a trace. Questions with the same directed relation, each leaving another fact out,
 * then cost little more than one. */
#ifndef KG_EVIDENCE_WITNESS_H
#define KG_EVIDENCE_WITNESS_H

#include "evidence/evidence.h"
#include "evidence/pick.h"
#include "evidence/roster.h"
#include "math/real.h"

/* In place of the position of a fact: none is left out. */
#define KG_NO_FACT SIZE_MAX

/* A candidate, and what speaks for it: log(1 + phi / KG_EVIDENCE_FLOOR) of each feature, in 2^-12,
 * since learning keeps very many of them. */
typedef struct kg_hint {
    kg_id entity;
    uint16_t features[KG_GATHERED_COUNT];
} kg_hint;
#define KG_EVIDENCE_FLOOR 0.01
#define KG_HINT_UNIT ((real)0x1p-12)

/* So many of the best candidates have hints; all others count as if nothing spoke for them. */
#define KG_MOST_HINTS 128

/* What a hint adds to a score, by what the features are worth. */
static inline real kg_hint_score(const kg_hint *hint, const real *worth) {
    real sum = 0;
    for (size_t k = 0; k < KG_GATHERED_COUNT; k++)
        sum += worth[k] * (real)hint->features[k];
    return sum * KG_HINT_UNIT;
}

/* What is gathered for a candidate. */
typedef struct kg_pile {
    int64_t pieces;              /* of evidence; none is left if all come from what is left out */
    int64_t sums[KG_MOST_STEPS]; /* weights of paths, by their steps */
    double best;                 /* company: of the best fact, and of the best other one */
    double second;
    size_t best_fact;
    double votes;
    uint32_t hits; /* company of the fact that is being gathered */
} kg_pile;

/* One for each thread, used again and again. */
typedef struct kg_witness {
    const kg_evidence *evidence; /* borrowed, like the links */
    kg_id self;
    const kg_link *links;
    size_t count;
    kg_directed asked;
    bool is_gathered;
    size_t left_out;
    bool is_short_of_memory; /* what is gathered is not complete */

    kg_roster linked;     /* who the entity is linked to in the graph */
    uint32_t *links_with; /* of each: by how many facts */
    size_t linked_room;

    kg_roster candidates;
    kg_pile *piles; /* of each candidate */
    size_t pile_room;
    kg_roster neighbors; /* others with a fact of the entity's, who answer the question */
    int64_t *shared;     /* of each neighbour: what these facts weigh, in 2^-32 */
    size_t shared_room;
    kg_pick *picks;
    size_t pick_room;
    size_t *touched; /* candidates that the fact which is being gathered has company for */
    size_t touched_count;
    size_t touched_room;
} kg_witness;

void kg_witness_open(kg_witness *witness, const kg_evidence *evidence);
void kg_witness_close(kg_witness *witness);

/* Who is asked about: `self` in the graph, or KG_NO_ID if it is not there, with its facts, which
 * differ from each other, are sorted, and have to outlive their use. */
KG_MUST_CHECK kg_status kg_witness_load(kg_witness *witness, kg_id self, const kg_link *links,
                                        size_t count, kg_error *error);

/* The question. */
void kg_witness_ask(kg_witness *witness, kg_directed asked);

/* The best candidates for answers by all facts but the one at `left_out`, at most `most` of them,
 * the best first. Answers that are known are none, and neither is the entity itself. Order is by
 * a simple sum, in which echoes weigh ten times as much as anything else: what features are
 * really worth is for others to learn. */
KG_MUST_CHECK kg_status kg_witness_answer(kg_witness *witness, kg_hint *out, size_t most,
                                          size_t *found, size_t left_out, kg_error *error);

/* phi of a candidate after an answer, by its number. */
double kg_witness_phi(const kg_witness *witness, size_t candidate, kg_feature feature);

/* ---- Its parts ---- */

/* How many facts another entity has, without those with the entity that is asked about. */
size_t kg_witness_facts_of(const kg_witness *witness, kg_id other);

/* The pile of a candidate, or NULL if memory is short, which is noted. */
kg_pile *kg_witness_pile(kg_witness *witness, kg_id entity);

/* A feature: how it is counted, and what that comes to. Those that are counted in the same way are
 * neighbours in the table. */
typedef void kg_gather(kg_witness *witness, size_t fact, int sign);
typedef struct kg_feature_row {
    kg_gather *gather; /* adds what a fact says, or takes it out again: `sign` is 1 or -1 */
    void (*finish)(kg_witness *witness); /* once all facts are gathered; may be NULL */
    double (*phi)(const kg_witness *witness, const kg_pile *pile, kg_feature feature);
} kg_feature_row;
extern const kg_feature_row kg_feature_rows[KG_GATHERED_COUNT];

/* Echo, two, three, four: rules, followed from a fact. */
kg_gather kg_paths_gather;
double kg_paths_phi(const kg_witness *witness, const kg_pile *pile, kg_feature feature);

/* Company, and votes, for which neighbours are met on the way. */
kg_gather kg_company_gather;
double kg_company_phi(const kg_witness *witness, const kg_pile *pile, kg_feature feature);
void kg_company_vote(kg_witness *witness);
double kg_votes_phi(const kg_witness *witness, const kg_pile *pile, kg_feature feature);

static inline double kg_pile_company(const kg_witness *witness, const kg_pile *pile) {
    return pile->best_fact == witness->left_out ? pile->second : pile->best;
}

/* Of others with a fact: how many have an answer, and how many that one. */
typedef struct kg_company {
    size_t others;
    size_t hits;
} kg_company;

kg_company kg_company_of(const kg_witness *witness, size_t fact, kg_id answer);
double kg_company_share(kg_company company);

/* The neighbours with the most in common with the entity, at the front of the picks by similarity;
 * `*total` is the sum of its squares. */
size_t kg_company_voters(kg_witness *witness, double *total);

/* What a fact of the entity adds to what it has in common with another one, in 2^-32: 0 if that one
 * does not have it, or was passed over among many who do. */
int64_t kg_company_weight(const kg_witness *witness, kg_link fact, kg_id other);
bool kg_company_votes_for(const kg_witness *witness, kg_id voter, kg_id answer);

#endif
