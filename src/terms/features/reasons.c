/* The same ways as in gathering, for one answer alone. */
#include "terms/features/reasons.h"

#include <math.h>
#include <string.h>

#include "terms/features/rule_walk.h"

struct search {
    kg_extractor *witness;
    kg_id answer;
    kg_reasons *lists;
    size_t fact; /* that paths start with */
};

/* Takes the place behind all that are at least as good. */
static void add(struct search *search, kg_feature feature, const kg_reason *reason) {
    kg_reasons *list = &search->lists[feature];
    if (!kg__feature_set_has(search->witness->evidence->features, feature))
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

/* Only what counts runs through a fact. */
static void note_through(struct search *search, kg_feature feature, size_t fact, double share) {
    double *through = search->lists[feature].through;
    if (through != NULL && kg__feature_set_has(search->witness->evidence->features, feature))
        through[fact] += share;
}

static void add_path(void *payload, const kg_arrival *arrival) {
    struct search *search = payload;
    const kg_rules *rules = &search->witness->evidence->rules;
    const kg_rule_tally *tally = kg__rules_tally(rules, arrival->rule, kg__width(arrival->fan));
    kg_link last = {arrival->rule->step, search->answer};
    if (tally == NULL || kg__path_so_far_has(arrival->trail, search->answer) ||
        kg__links_find(arrival->links, arrival->count, last) == arrival->count)
        return;
    kg_feature feature = (kg_feature)(arrival->steps - 1);
    kg_reason reason = {.steps = arrival->steps,
                        .voter = KG_NO_ID,
                        .fact = search->witness->links[search->fact],
                        .hits = tally->hits,
                        .chances = tally->predictions,
                        .share = -log1p(-kg__confidence(tally))};
    const kg_path_so_far *trail = arrival->trail;
    memcpy(reason.path, trail->met + trail->count - (arrival->steps - 1),
           (arrival->steps - 1) * sizeof last);
    reason.path[arrival->steps - 1] = last;
    add(search, feature, &reason);
    note_through(search, feature, search->fact, reason.share);
}

static void add_fact(struct search *search, size_t fact) {
    kg_extractor *witness = search->witness;
    kg_walk walk = {witness->evidence->graph, &witness->evidence->rules, add_path, search};
    search->fact = fact;
    kg__walk_from(&walk, witness->asked, witness->self, &witness->links[fact]);
    kg_cooccurrence company = kg__cooccurrence_of(witness, fact, search->answer);
    if (company.hits == 0)
        return;
    add(search, KG_COOCCURRENCE,
        &(kg_reason){.voter = KG_NO_ID,
                     .fact = witness->links[fact],
                     .path = {witness->links[fact]},
                     .steps = 1,
                     .hits = (double)company.hits,
                     .chances = (double)company.others,
                     .share = kg__cooccurrence_share(company)});
    note_through(search, KG_COOCCURRENCE, fact, kg__cooccurrence_share(company));
}

/* The company of the best fact is all that counts: the first one, if several are. */
static void keep_best(double *through, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (through[i] > through[best])
            best = i;
    for (size_t i = 0; i < count; i++)
        if (i != best)
            through[i] = 0;
}

/* Divides a vote among the facts that the voter shares; returns the one that weighs most. */
static size_t divide_vote(struct search *search, kg_selectable voter, double share) {
    const kg_extractor *witness = search->witness;
    size_t most = 0;
    int64_t largest = 0;
    for (size_t i = 0; i < witness->count; i++) {
        int64_t weight = i == witness->left_out
                             ? 0
                             : kg__cooccurrence_weight(witness, witness->links[i], voter.id);
        double part = (double)weight / (double)witness->shared[voter.number];
        note_through(search, KG_KNN_VOTE, i, share * part);
        most = weight > largest ? i : most;
        largest = weight > largest ? weight : largest;
    }
    return most;
}

static void add_votes(struct search *search) {
    kg_extractor *witness = search->witness;
    double total = 0;
    size_t voters = kg__cooccurrence_voters(witness, &total);
    for (size_t i = 0; i < voters; i++) {
        kg_selectable voter = witness->picks[i];
        double share = voter.value * voter.value / total;
        if (!kg__cooccurrence_votes_for(witness, voter.id, search->answer))
            continue;
        size_t fact = divide_vote(search, voter, share);
        add(search, KG_KNN_VOTE,
            &(kg_reason){.voter = voter.id,
                         .fact = witness->links[fact],
                         .path = {{witness->asked, search->answer}},
                         .steps = 1,
                         .share = share});
    }
}

void kg__extractor_explain(kg_extractor *witness, kg_reasons lists[KG_EXTRACTED_COUNT],
                           kg_id answer) {
    struct search search = {witness, answer, lists, 0};
    for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++) {
        lists[k].count = 0;
        for (size_t i = 0; lists[k].through != NULL && i < witness->count; i++)
            lists[k].through[i] = 0;
    }
    for (size_t i = 0; i < witness->count; i++)
        if (i != witness->left_out)
            add_fact(&search, i);
    if (lists[KG_COOCCURRENCE].through != NULL)
        keep_best(lists[KG_COOCCURRENCE].through, witness->count);
    add_votes(&search);
}
