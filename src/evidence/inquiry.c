/* Gathering fact by fact, and what it comes to. */
#include "evidence/inquiry.h"

#include <math.h>

#include "base/memory.h"
#include "evidence/walk.h"

#define ECHO_WEIGHT 10

void kg_inquiry_open(kg_inquiry *inquiry, const kg_evidence *evidence) {
    *inquiry = (kg_inquiry){.evidence = evidence, .self = KG_NO_ID};
}

void kg_inquiry_close(kg_inquiry *inquiry) {
    kg_roster_free(&inquiry->linked);
    kg_roster_free(&inquiry->candidates);
    kg_roster_free(&inquiry->neighbors);
    kg_free(inquiry->links_with);
    kg_free(inquiry->piles);
    kg_free(inquiry->shared);
    kg_free(inquiry->picks);
    kg_free(inquiry->touched);
    *inquiry = (kg_inquiry){0};
}

static void forget(kg_inquiry *inquiry) {
    kg_roster_clear(&inquiry->candidates);
    kg_roster_clear(&inquiry->neighbors);
    inquiry->touched_count = 0;
    inquiry->is_gathered = false;
    inquiry->is_short_of_memory = false;
}

static bool note_link(kg_inquiry *inquiry, kg_id other) {
    size_t before = inquiry->linked.count;
    size_t number = kg_roster_add(&inquiry->linked, other);
    uint32_t *grown = number == KG_NOBODY ? NULL
                                          : kg_grow(inquiry->links_with, &inquiry->linked_room,
                                                    number + 1, sizeof *grown);
    if (grown == NULL)
        return false;
    inquiry->links_with = grown;
    if (number == before)
        grown[number] = 0;
    grown[number]++;
    return true;
}

kg_status kg_inquiry_load(kg_inquiry *inquiry, kg_id self, const kg_link *links, size_t count,
                          kg_error *error) {
    const kg_adjacency *graph = inquiry->evidence->graph;
    inquiry->self = self;
    inquiry->links = links;
    inquiry->count = count;
    forget(inquiry);
    kg_roster_clear(&inquiry->linked);
    for (size_t i = 0; self != KG_NO_ID && i < kg_adjacency_degree(graph, self); i++)
        if (!note_link(inquiry, kg_adjacency_links(graph, self)[i].other))
            return kg_fail_memory(error);
    return KG_OK;
}

size_t kg_inquiry_facts_of(const kg_inquiry *inquiry, kg_id other) {
    size_t number = kg_roster_find(&inquiry->linked, other);
    return kg_adjacency_degree(inquiry->evidence->graph, other) -
           (number == KG_NOBODY ? 0 : inquiry->links_with[number]);
}

void kg_inquiry_ask(kg_inquiry *inquiry, kg_directed asked) {
    inquiry->asked = asked;
    forget(inquiry);
}

kg_pile *kg_inquiry_pile(kg_inquiry *inquiry, kg_id entity) {
    size_t before = inquiry->candidates.count;
    size_t number = kg_roster_add(&inquiry->candidates, entity);
    kg_pile *piles = number == KG_NOBODY
                         ? NULL
                         : kg_grow(inquiry->piles, &inquiry->pile_room, number + 1, sizeof *piles);
    if (piles == NULL) {
        inquiry->is_short_of_memory = true;
        return NULL;
    }
    inquiry->piles = piles;
    if (number == before)
        piles[number] = (kg_pile){.best_fact = KG_NO_FACT};
    return &piles[number];
}

/* ---- Gathering ---- */

struct gatherer {
    kg_inquiry *inquiry;
    int sign;
};

static void arrive(void *payload, const kg_arrival *arrival) {
    const struct gatherer *gatherer = payload;
    const kg_evidence *evidence = gatherer->inquiry->evidence;
    const kg_rule_tally *tally =
        kg_rules_tally(&evidence->rules, arrival->rule, kg_width(arrival->fan));
    if (tally == NULL)
        return;
    int64_t weight = gatherer->sign * evidence->weights[tally - evidence->rules.tallies];
    bool is_all_open = arrival->open == arrival->count;
    for (size_t i = 0; i < arrival->count; i++) {
        if (!is_all_open && kg_trail_has(arrival->trail, arrival->links[i].other))
            continue;
        kg_pile *pile = kg_inquiry_pile(gatherer->inquiry, arrival->links[i].other);
        if (pile == NULL)
            return;
        pile->pieces += gatherer->sign;
        pile->sums[arrival->steps - 1] += weight;
    }
}

static void gather(kg_inquiry *inquiry, size_t fact, int sign) {
    struct gatherer gatherer = {inquiry, sign};
    kg_walk walk = {inquiry->evidence->graph, &inquiry->evidence->rules, arrive, &gatherer};
    kg_walk_from(&walk, inquiry->asked, inquiry->self, &inquiry->links[fact]);
    kg_company_gather(inquiry, fact, sign);
}

/* All facts but one; if there is something already, only what differs. */
static void gather_all_but(kg_inquiry *inquiry, size_t left_out) {
    if (!inquiry->is_gathered) {
        for (size_t i = 0; i < inquiry->count; i++)
            if (i != left_out)
                gather(inquiry, i, 1);
    } else if (inquiry->left_out != left_out) {
        if (inquiry->left_out < inquiry->count)
            gather(inquiry, inquiry->left_out, 1);
        if (left_out < inquiry->count)
            gather(inquiry, left_out, -1);
    }
    inquiry->is_gathered = true;
    inquiry->left_out = left_out;
}

/* ---- Answering ---- */

double kg_inquiry_phi(const kg_inquiry *inquiry, size_t candidate, kg_feature feature) {
    const kg_pile *pile = &inquiry->piles[candidate];
    if (feature == KG_COMPANY)
        return pile->best_fact == inquiry->left_out ? pile->second : pile->best;
    if (feature == KG_VOTES)
        return pile->votes;
    return -expm1(-(double)pile->sums[feature] * 0x1p-32);
}

static double order_of(const kg_inquiry *inquiry, size_t candidate) {
    const int64_t *sums = inquiry->piles[candidate].sums;
    int64_t paths = ECHO_WEIGHT * sums[0] + sums[1] + sums[2] + sums[3];
    return (double)paths * 0x1p-32 + kg_inquiry_phi(inquiry, candidate, KG_COMPANY) +
           kg_inquiry_phi(inquiry, candidate, KG_VOTES);
}

static bool is_known(const kg_inquiry *inquiry, kg_id entity) {
    kg_link answer = {inquiry->asked, entity};
    size_t found = kg_links_find(inquiry->links, inquiry->count, answer);
    return found < inquiry->count && found != inquiry->left_out;
}

static bool is_candidate(const kg_inquiry *inquiry, size_t number) {
    const kg_pile *pile = &inquiry->piles[number];
    kg_id entity = inquiry->candidates.ids[number];
    return (pile->pieces > 0 || pile->votes > 0) && !is_known(inquiry, entity);
}

static bool pick_candidates(kg_inquiry *inquiry, size_t *count) {
    *count = 0;
    kg_pick *picks =
        kg_grow(inquiry->picks, &inquiry->pick_room, inquiry->candidates.count, sizeof *picks);
    if (picks == NULL)
        return false;
    inquiry->picks = picks;
    for (size_t i = 0; i < inquiry->candidates.count; i++)
        if (is_candidate(inquiry, i))
            picks[(*count)++] =
                (kg_pick){order_of(inquiry, i), inquiry->candidates.ids[i], (uint32_t)i};
    return true;
}

kg_status kg_inquiry_answer(kg_inquiry *inquiry, kg_hint *out, size_t most, size_t *found,
                            size_t left_out, kg_error *error) {
    size_t count = 0;
    gather_all_but(inquiry, left_out);
    kg_company_vote(inquiry);
    if (inquiry->is_short_of_memory || !pick_candidates(inquiry, &count)) {
        forget(inquiry);
        return kg_fail_memory(error);
    }
    *found = kg_pick_best(inquiry->picks, count, most);
    for (size_t i = 0; i < *found; i++) {
        out[i].entity = inquiry->picks[i].id;
        for (kg_feature k = 0; k < KG_FEATURE_COUNT; k++)
            out[i].features[k] = (real)log1p(kg_inquiry_phi(inquiry, inquiry->picks[i].number, k) /
                                             KG_EVIDENCE_FLOOR);
    }
    return KG_OK;
}
