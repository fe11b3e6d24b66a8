/* Gathering fact by fact, and what it comes to. */
#include "evidence/witness.h"

#include <math.h>

#include "base/memory.h"
#include "evidence/walk.h"

#define ECHO_WEIGHT 10

void kg_witness_open(kg_witness *witness, const kg_evidence *evidence) {
    *witness = (kg_witness){.evidence = evidence, .self = KG_NO_ID};
}

void kg_witness_close(kg_witness *witness) {
    kg_roster_free(&witness->linked);
    kg_roster_free(&witness->candidates);
    kg_roster_free(&witness->neighbors);
    kg_free(witness->links_with);
    kg_free(witness->piles);
    kg_free(witness->shared);
    kg_free(witness->picks);
    kg_free(witness->touched);
    *witness = (kg_witness){0};
}

static void forget(kg_witness *witness) {
    kg_roster_clear(&witness->candidates);
    kg_roster_clear(&witness->neighbors);
    witness->touched_count = 0;
    witness->is_gathered = false;
    witness->is_short_of_memory = false;
}

static bool note_link(kg_witness *witness, kg_id other) {
    size_t before = witness->linked.count;
    size_t number = kg_roster_add(&witness->linked, other);
    uint32_t *grown = number == KG_NOBODY ? NULL
                                          : kg_grow(witness->links_with, &witness->linked_room,
                                                    number + 1, sizeof *grown);
    if (grown == NULL)
        return false;
    witness->links_with = grown;
    if (number == before)
        grown[number] = 0;
    grown[number]++;
    return true;
}

kg_status kg_witness_load(kg_witness *witness, kg_id self, const kg_link *links, size_t count,
                          kg_error *error) {
    const kg_adjacency *graph = witness->evidence->graph;
    witness->self = self;
    witness->links = links;
    witness->count = count;
    forget(witness);
    kg_roster_clear(&witness->linked);
    for (size_t i = 0; self != KG_NO_ID && i < kg_adjacency_degree(graph, self); i++)
        if (!note_link(witness, kg_adjacency_links(graph, self)[i].other))
            return kg_fail_memory(error);
    return KG_OK;
}

size_t kg_witness_facts_of(const kg_witness *witness, kg_id other) {
    size_t number = kg_roster_find(&witness->linked, other);
    return kg_adjacency_degree(witness->evidence->graph, other) -
           (number == KG_NOBODY ? 0 : witness->links_with[number]);
}

void kg_witness_ask(kg_witness *witness, kg_directed asked) {
    witness->asked = asked;
    forget(witness);
}

kg_pile *kg_witness_pile(kg_witness *witness, kg_id entity) {
    size_t before = witness->candidates.count;
    size_t number = kg_roster_add(&witness->candidates, entity);
    kg_pile *piles = number == KG_NOBODY
                         ? NULL
                         : kg_grow(witness->piles, &witness->pile_room, number + 1, sizeof *piles);
    if (piles == NULL) {
        witness->is_short_of_memory = true;
        return NULL;
    }
    witness->piles = piles;
    if (number == before)
        piles[number] = (kg_pile){.best_fact = KG_NO_FACT};
    return &piles[number];
}

/* ---- Paths ---- */

struct gatherer {
    kg_witness *witness;
    int sign;
};

static void arrive(void *payload, const kg_arrival *arrival) {
    const struct gatherer *gatherer = payload;
    const kg_evidence *evidence = gatherer->witness->evidence;
    const kg_rule_tally *tally =
        kg_rules_tally(&evidence->rules, arrival->rule, kg_width(arrival->fan));
    if (tally == NULL)
        return;
    int64_t weight = gatherer->sign * evidence->weights[tally - evidence->rules.tallies];
    bool is_all_open = arrival->open == arrival->count;
    for (size_t i = 0; i < arrival->count; i++) {
        if (!is_all_open && kg_trail_has(arrival->trail, arrival->links[i].other))
            continue;
        kg_pile *pile = kg_witness_pile(gatherer->witness, arrival->links[i].other);
        if (pile == NULL)
            return;
        pile->pieces += gatherer->sign;
        pile->sums[arrival->steps - 1] += weight;
    }
}

void kg_paths_gather(kg_witness *witness, size_t fact, int sign) {
    struct gatherer gatherer = {witness, sign};
    kg_walk walk = {witness->evidence->graph, &witness->evidence->rules, arrive, &gatherer};
    kg_walk_from(&walk, witness->asked, witness->self, &witness->links[fact]);
}

double kg_paths_phi(const kg_witness *witness, const kg_pile *pile, kg_feature feature) {
    (void)witness;
    return (double)pile->sums[feature] * 0x1p-32;
}

/* ---- Gathering ---- */

/* Features that are counted in the same way stand together, and are counted once. */
static void gather(kg_witness *witness, size_t fact, int sign) {
    kg_gather *last = NULL;
    for (kg_feature k = 0; k < KG_GATHERED_COUNT; k++) {
        kg_gather *own = kg_feature_rows[k].gather;
        if (own != last && kg_features_have(witness->evidence->features, k)) {
            own(witness, fact, sign);
            last = own;
        }
    }
}

static void finish(kg_witness *witness) {
    for (kg_feature k = 0; k < KG_GATHERED_COUNT; k++)
        if (kg_feature_rows[k].finish != NULL && kg_features_have(witness->evidence->features, k))
            kg_feature_rows[k].finish(witness);
}

/* All facts but one; if there is something already, only what differs. */
static void gather_all_but(kg_witness *witness, size_t left_out) {
    if (!witness->is_gathered) {
        for (size_t i = 0; i < witness->count; i++)
            if (i != left_out)
                gather(witness, i, 1);
    } else if (witness->left_out != left_out) {
        if (witness->left_out < witness->count)
            gather(witness, witness->left_out, 1);
        if (left_out < witness->count)
            gather(witness, left_out, -1);
    }
    witness->is_gathered = true;
    witness->left_out = left_out;
}

/* ---- Answering ---- */

double kg_witness_phi(const kg_witness *witness, size_t candidate, kg_feature feature) {
    if (!kg_features_have(witness->evidence->features, feature))
        return 0;
    return kg_feature_rows[feature].phi(witness, &witness->piles[candidate], feature);
}

static bool is_known(const kg_witness *witness, kg_id entity) {
    kg_link answer = {witness->asked, entity};
    size_t found = kg_links_find(witness->links, witness->count, answer);
    return found < witness->count && found != witness->left_out;
}

static bool is_candidate(const kg_witness *witness, size_t number) {
    const kg_pile *pile = &witness->piles[number];
    kg_id entity = witness->candidates.ids[number];
    return (pile->pieces > 0 || pile->votes > 0) && !is_known(witness, entity);
}

static double order_of(const kg_witness *witness, const kg_pile *pile, bool has_company) {
    const int64_t *sums = pile->sums;
    int64_t paths = ECHO_WEIGHT * sums[0] + sums[1] + sums[2] + sums[3];
    return (double)paths * 0x1p-32 + (has_company ? kg_pile_company(witness, pile) : 0) +
           pile->votes;
}

static bool pick_candidates(kg_witness *witness, size_t *count) {
    bool has_company = kg_features_have(witness->evidence->features, KG_COMPANY);
    *count = 0;
    kg_pick *picks =
        kg_grow(witness->picks, &witness->pick_room, witness->candidates.count, sizeof *picks);
    if (picks == NULL)
        return false;
    witness->picks = picks;
    for (size_t i = 0; i < witness->candidates.count; i++)
        if (is_candidate(witness, i))
            picks[(*count)++] = (kg_pick){order_of(witness, &witness->piles[i], has_company),
                                          witness->candidates.ids[i], (uint32_t)i};
    return true;
}

static uint16_t round_feature(double phi) {
    double feature = log1p(phi / KG_EVIDENCE_FLOOR) / (double)KG_HINT_UNIT;
    return (uint16_t)lround(fmin(feature, UINT16_MAX));
}

kg_status kg_witness_answer(kg_witness *witness, kg_hint *out, size_t most, size_t *found,
                            size_t left_out, kg_error *error) {
    size_t count = 0;
    gather_all_but(witness, left_out);
    finish(witness);
    if (witness->is_short_of_memory || !pick_candidates(witness, &count)) {
        forget(witness);
        return kg_fail_memory(error);
    }
    *found = kg_pick_best(witness->picks, count, most);
    for (size_t i = 0; i < *found; i++) {
        out[i].entity = witness->picks[i].id;
        for (kg_feature k = 0; k < KG_GATHERED_COUNT; k++)
            out[i].features[k] =
                round_feature(kg_witness_phi(witness, witness->picks[i].number, k));
    }
    return KG_OK;
}
