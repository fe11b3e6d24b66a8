/* Gathering fact by fact, and what it comes to. */
#include "terms/features/extractor.h"

#include <math.h>

#include "base/memory.h"
#include "terms/features/rule_walk.h"

#define ECHO_WEIGHT 10

void kg__extractor_open(kg_extractor *witness, const kg_features *evidence) {
    *witness = (kg_extractor){.evidence = evidence, .self = KG_NO_ID};
}

void kg__extractor_close(kg_extractor *witness) {
    kg__id_map_free(&witness->linked);
    kg__id_map_free(&witness->candidates);
    kg__id_map_free(&witness->neighbors);
    kg__free(witness->links_with);
    kg__free(witness->piles);
    kg__free(witness->shared);
    kg__free(witness->picks);
    kg__free(witness->touched);
    *witness = (kg_extractor){0};
}

static void forget(kg_extractor *witness) {
    kg__id_map_clear(&witness->candidates);
    kg__id_map_clear(&witness->neighbors);
    witness->touched_count = 0;
    witness->is_gathered = false;
    witness->is_short_of_memory = false;
}

static bool note_link(kg_extractor *witness, kg_id other) {
    size_t before = witness->linked.count;
    size_t number = kg__id_map_add(&witness->linked, other);
    uint32_t *grown = number == KG_NOT_MAPPED ? NULL
                                              : kg__grow(witness->links_with, &witness->linked_room,
                                                         number + 1, sizeof *grown);
    if (grown == NULL)
        return false;
    witness->links_with = grown;
    if (number == before)
        grown[number] = 0;
    grown[number]++;
    return true;
}

kg_status kg__extractor_load(kg_extractor *witness, kg_id self, const kg_link *links, size_t count,
                             kg_error *error) {
    const kg_adjacency *graph = witness->evidence->graph;
    witness->self = self;
    witness->links = links;
    witness->count = count;
    forget(witness);
    kg__id_map_clear(&witness->linked);
    for (size_t i = 0; self != KG_NO_ID && i < kg__adjacency_degree(graph, self); i++)
        if (!note_link(witness, kg__adjacency_links(graph, self)[i].other))
            return kg__fail_memory(error);
    return KG_OK;
}

size_t kg__extractor_facts_of(const kg_extractor *witness, kg_id other) {
    size_t number = kg__id_map_find(&witness->linked, other);
    return kg__adjacency_degree(witness->evidence->graph, other) -
           (number == KG_NOT_MAPPED ? 0 : witness->links_with[number]);
}

void kg__extractor_ask(kg_extractor *witness, kg_directed asked) {
    witness->asked = asked;
    forget(witness);
}

kg_accumulator *kg__extractor_pile(kg_extractor *witness, kg_id entity) {
    size_t before = witness->candidates.count;
    size_t number = kg__id_map_add(&witness->candidates, entity);
    kg_accumulator *piles = number == KG_NOT_MAPPED ? NULL
                                                    : kg__grow(witness->piles, &witness->pile_room,
                                                               number + 1, sizeof *piles);
    if (piles == NULL) {
        witness->is_short_of_memory = true;
        return NULL;
    }
    witness->piles = piles;
    if (number == before)
        piles[number] = (kg_accumulator){.best_fact = KG_NO_FACT};
    return &piles[number];
}

/* ---- Paths ---- */

struct gatherer {
    kg_extractor *witness;
    int sign;
};

static void arrive(void *payload, const kg_arrival *arrival) {
    const struct gatherer *gatherer = payload;
    const kg_features *evidence = gatherer->witness->evidence;
    const kg_rule_tally *tally =
        kg__rules_tally(&evidence->rules, arrival->rule, kg__width(arrival->fan));
    if (tally == NULL)
        return;
    int64_t weight = gatherer->sign * evidence->weights[tally - evidence->rules.tallies];
    bool is_all_open = arrival->open == arrival->count;
    for (size_t i = 0; i < arrival->count; i++) {
        if (!is_all_open && kg__path_so_far_has(arrival->trail, arrival->links[i].other))
            continue;
        kg_accumulator *pile = kg__extractor_pile(gatherer->witness, arrival->links[i].other);
        if (pile == NULL)
            return;
        pile->pieces += gatherer->sign;
        pile->sums[arrival->steps - 1] += weight;
    }
}

void kg__paths_gather(kg_extractor *witness, size_t fact, int sign) {
    struct gatherer gatherer = {witness, sign};
    kg_walk walk = {witness->evidence->graph, &witness->evidence->rules, arrive, &gatherer};
    kg__walk_from(&walk, witness->asked, witness->self, &witness->links[fact]);
}

double kg__paths_phi(const kg_extractor *witness, const kg_accumulator *pile, kg_feature feature) {
    (void)witness;
    return (double)pile->sums[feature] * 0x1p-32;
}

/* ---- Gathering ---- */

/* Features that are counted in the same way stand together, and are counted once. */
static void gather(kg_extractor *witness, size_t fact, int sign) {
    kg_extract *last = NULL;
    for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++) {
        kg_extract *own = kg__feature_rows[k].gather;
        if (own != last && kg__feature_set_has(witness->evidence->features, k)) {
            own(witness, fact, sign);
            last = own;
        }
    }
}

static void finish(kg_extractor *witness) {
    for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++)
        if (kg__feature_rows[k].finish != NULL &&
            kg__feature_set_has(witness->evidence->features, k))
            kg__feature_rows[k].finish(witness);
}

/* All facts but one; if there is something already, only what differs. */
static void gather_all_but(kg_extractor *witness, size_t left_out) {
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

double kg__extractor_phi(const kg_extractor *witness, size_t candidate, kg_feature feature) {
    if (!kg__feature_set_has(witness->evidence->features, feature))
        return 0;
    return kg__feature_rows[feature].phi(witness, &witness->piles[candidate], feature);
}

static bool is_known(const kg_extractor *witness, kg_id entity) {
    kg_link answer = {witness->asked, entity};
    size_t found = kg__links_find(witness->links, witness->count, answer);
    return found < witness->count && found != witness->left_out;
}

static bool is_candidate(const kg_extractor *witness, size_t number) {
    const kg_accumulator *pile = &witness->piles[number];
    kg_id entity = witness->candidates.ids[number];
    return (pile->pieces > 0 || pile->votes > 0) && !is_known(witness, entity);
}

static double order_of(const kg_extractor *witness, const kg_accumulator *pile, bool has_company) {
    const int64_t *sums = pile->sums;
    int64_t paths = ECHO_WEIGHT * sums[0] + sums[1] + sums[2] + sums[3];
    return (double)paths * 0x1p-32 + (has_company ? kg__accumulator_company(witness, pile) : 0) +
           pile->votes;
}

static bool pick_candidates(kg_extractor *witness, size_t *count) {
    bool has_company = kg__feature_set_has(witness->evidence->features, KG_COOCCURRENCE);
    *count = 0;
    kg_selectable *picks =
        kg__grow(witness->picks, &witness->pick_room, witness->candidates.count, sizeof *picks);
    if (picks == NULL)
        return false;
    witness->picks = picks;
    for (size_t i = 0; i < witness->candidates.count; i++)
        if (is_candidate(witness, i))
            picks[(*count)++] = (kg_selectable){order_of(witness, &witness->piles[i], has_company),
                                                witness->candidates.ids[i], (uint32_t)i};
    return true;
}

static uint16_t round_feature(double phi) {
    double feature = log1p(phi / KG_FEATURE_FLOOR) / (double)KG_FEATURE_UNIT;
    return (uint16_t)lround(fmin(feature, UINT16_MAX));
}

kg_status kg__extractor_answer(kg_extractor *witness, kg_candidate_features *out, size_t most,
                               size_t *found, size_t left_out, kg_error *error) {
    size_t count = 0;
    gather_all_but(witness, left_out);
    finish(witness);
    if (witness->is_short_of_memory || !pick_candidates(witness, &count)) {
        forget(witness);
        return kg__fail_memory(error);
    }
    *found = kg__select_top(witness->picks, count, most);
    for (size_t i = 0; i < *found; i++) {
        out[i].entity = witness->picks[i].id;
        for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++)
            out[i].features[k] =
                round_feature(kg__extractor_phi(witness, witness->picks[i].number, k));
    }
    return KG_OK;
}
