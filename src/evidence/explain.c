/* The same ways as in gathering, for one answer alone. */
#include "evidence/explain.h"

#include <math.h>
#include <string.h>

#include "evidence/walk.h"

struct search {
    kg_witness *witness;
    kg_id answer;
    kg_reasons *lists;
};

/* Takes the place behind all that are at least as good. */
static void add(struct search *search, kg_feature feature, const kg_reason *reason) {
    kg_reasons *list = &search->lists[feature];
    if (!kg_features_have(search->witness->evidence->features, feature))
        return;
    size_t listed = list->count < list->most ? list->count : list->most;
    list->count++;
    size_t place = listed;
    while (place > 0 && list->items[place - 1].share < reason->share)
        place--;
    if (place == list->most)
        return;
    size_t behind = listed < list->most ? listed - place : listed - place - 1;
    memmove(&list->items[place + 1], &list->items[place], behind * sizeof *reason);
    list->items[place] = *reason;
}

static void add_path(void *payload, const kg_arrival *arrival) {
    struct search *search = payload;
    const kg_rules *rules = &search->witness->evidence->rules;
    const kg_rule_tally *tally = kg_rules_tally(rules, arrival->rule, kg_width(arrival->fan));
    kg_link last = {arrival->rule->step, search->answer};
    if (tally == NULL || kg_trail_has(arrival->trail, search->answer) ||
        kg_links_find(arrival->links, arrival->count, last) == arrival->count)
        return;
    kg_reason reason = {.steps = arrival->steps,
                        .voter = KG_NO_ID,
                        .hits = tally->hits,
                        .chances = tally->predictions,
                        .share = -log1p(-kg_confidence(tally))};
    const kg_trail *trail = arrival->trail;
    memcpy(reason.path, trail->met + trail->count - (arrival->steps - 1),
           (arrival->steps - 1) * sizeof last);
    reason.path[arrival->steps - 1] = last;
    add(search, (kg_feature)(arrival->steps - 1), &reason);
}

static void add_fact(struct search *search, size_t fact) {
    kg_witness *witness = search->witness;
    kg_walk walk = {witness->evidence->graph, &witness->evidence->rules, add_path, search};
    kg_walk_from(&walk, witness->asked, witness->self, &witness->links[fact]);
    kg_company company = kg_company_of(witness, fact, search->answer);
    if (company.hits == 0)
        return;
    add(search, KG_COMPANY,
        &(kg_reason){.voter = KG_NO_ID,
                     .path = {witness->links[fact]},
                     .steps = 1,
                     .hits = (double)company.hits,
                     .chances = (double)company.others,
                     .share = kg_company_share(company)});
}

static void add_votes(struct search *search) {
    kg_witness *witness = search->witness;
    double total = 0;
    size_t voters = kg_company_voters(witness, &total);
    for (size_t i = 0; i < voters; i++) {
        kg_pick voter = witness->picks[i];
        if (kg_company_votes_for(witness, voter.id, search->answer))
            add(search, KG_VOTES,
                &(kg_reason){.voter = voter.id,
                             .path = {{witness->asked, search->answer}},
                             .steps = 1,
                             .share = voter.value * voter.value / total});
    }
}

void kg_witness_explain(kg_witness *witness, kg_reasons lists[KG_GATHERED_COUNT], kg_id answer) {
    struct search search = {witness, answer, lists};
    for (size_t k = 0; k < KG_GATHERED_COUNT; k++)
        lists[k].count = 0;
    for (size_t i = 0; i < witness->count; i++)
        if (i != witness->left_out)
            add_fact(&search, i);
    add_votes(&search);
}
