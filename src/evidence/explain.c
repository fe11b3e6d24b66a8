/* The same ways as in gathering, for one answer alone. */
#include "evidence/explain.h"

#include <string.h>

#include "evidence/walk.h"

struct list {
    kg_witness *witness;
    kg_id answer;
    kg_reason *reasons;
    size_t most;
    size_t count; /* found, listed or not */
};

/* Takes the place behind all that are at least as good. */
static void add(struct list *list, const kg_reason *reason) {
    size_t listed = list->count < list->most ? list->count : list->most;
    list->count++;
    size_t place = listed;
    while (place > 0 && list->reasons[place - 1].share < reason->share)
        place--;
    if (place == list->most)
        return;
    size_t behind = listed < list->most ? listed - place : listed - place - 1;
    memmove(&list->reasons[place + 1], &list->reasons[place], behind * sizeof *reason);
    list->reasons[place] = *reason;
}

static void add_path(void *payload, const kg_arrival *arrival) {
    struct list *list = payload;
    const kg_rules *rules = &list->witness->evidence->rules;
    const kg_rule_tally *tally = kg_rules_tally(rules, arrival->rule, kg_width(arrival->fan));
    kg_link last = {arrival->rule->step, list->answer};
    if (tally == NULL || kg_trail_has(arrival->trail, list->answer) ||
        kg_links_find(arrival->links, arrival->count, last) == arrival->count)
        return;
    kg_reason reason = {.feature = (kg_feature)(arrival->steps - 1),
                        .steps = arrival->steps,
                        .hits = tally->hits,
                        .chances = tally->predictions,
                        .share = tally->confidence};
    const kg_trail *trail = arrival->trail;
    memcpy(reason.path, trail->met + trail->count - (arrival->steps - 1),
           (arrival->steps - 1) * sizeof last);
    reason.path[arrival->steps - 1] = last;
    add(list, &reason);
}

static void add_fact(struct list *list, size_t fact) {
    kg_witness *witness = list->witness;
    kg_walk walk = {witness->evidence->graph, &witness->evidence->rules, add_path, list};
    kg_walk_from(&walk, witness->asked, witness->self, &witness->links[fact]);
    kg_company company = kg_company_of(witness, fact, list->answer);
    if (company.hits == 0)
        return;
    add(list, &(kg_reason){.feature = KG_COMPANY,
                           .path = {witness->links[fact]},
                           .steps = 1,
                           .hits = (double)company.hits,
                           .chances = (double)company.others,
                           .share = kg_company_share(company)});
}

static void add_votes(struct list *list) {
    kg_witness *witness = list->witness;
    double total = 0;
    size_t voters = kg_company_voters(witness, &total);
    for (size_t i = 0; i < voters; i++) {
        kg_pick voter = witness->picks[i];
        if (kg_company_votes_for(witness, voter.id, list->answer))
            add(list, &(kg_reason){.feature = KG_VOTES,
                                   .path = {{witness->asked, voter.id}},
                                   .steps = 1,
                                   .share = voter.value * voter.value / total});
    }
}

size_t kg_witness_explain(kg_witness *witness, kg_reason *out, size_t most, kg_id answer) {
    struct list list = {witness, answer, out, most, 0};
    for (size_t i = 0; i < witness->count; i++)
        if (i != witness->left_out)
            add_fact(&list, i);
    add_votes(&list);
    return list.count;
}
