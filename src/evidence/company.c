/* Others with the same facts, and how they answer. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "evidence/inquiry.h"

/* Of more who have a fact every n-th is asked; more answers say nothing; and only the most similar
 * vote. More of each cost time and changed nothing. */
#define MOST_COMPANY 32
#define MOST_ANSWERS 128
#define MOST_VOTERS 50

/* Added to the number of others: few are not to be trusted. */
#define DOUBT 3

/* Added to the number of a neighbour's facts, by whose root its similarity is divided: who has many
 * facts shares some with anybody. */
#define MANY_FACTS 5

/* Links of one directed relation from someone other than the entity that is asked about; the one
 * that leads to that entity is passed over. */
struct run {
    const kg_link *links;
    size_t count; /* without it */
    size_t self;  /* where it stands, or at least `count` if it is not there */
};

static struct run find_run(const kg_inquiry *inquiry, kg_id from, kg_directed directed) {
    const kg_adjacency *graph = inquiry->evidence->graph;
    struct run run = {0};
    run.links = kg_links_run(kg_adjacency_links(graph, from), kg_adjacency_degree(graph, from),
                             directed, &run.count);
    run.self = kg_links_find(run.links, run.count, (kg_link){directed, inquiry->self});
    run.count -= run.self < run.count;
    return run;
}

static kg_id run_at(const struct run *run, size_t i) {
    return run->links[i + (i >= run->self)].other;
}

/* Someone who shares a fact and answers the question. */
static void meet(kg_inquiry *inquiry, kg_id neighbor, int64_t weight) {
    size_t before = inquiry->neighbors.count;
    size_t number = kg_roster_add(&inquiry->neighbors, neighbor);
    int64_t *shared = number == KG_NOBODY ? NULL
                                          : kg_grow(inquiry->shared, &inquiry->shared_room,
                                                    number + 1, sizeof *shared);
    if (shared == NULL) {
        inquiry->is_short_of_memory = true;
        return;
    }
    inquiry->shared = shared;
    if (number == before)
        shared[number] = 0;
    shared[number] += weight;
}

static void count_answer(kg_inquiry *inquiry, kg_id answer) {
    kg_pile *pile = kg_inquiry_pile(inquiry, answer);
    if (pile == NULL || pile->hits++ > 0)
        return;
    size_t *touched = kg_grow(inquiry->touched, &inquiry->touched_room, inquiry->touched_count + 1,
                              sizeof *touched);
    if (touched == NULL) {
        inquiry->is_short_of_memory = true;
        return;
    }
    inquiry->touched = touched;
    touched[inquiry->touched_count++] = (size_t)(pile - inquiry->piles);
}

/* Adding what has been added before changes nothing. */
static void note_share(kg_pile *pile, size_t fact, double share) {
    if (pile->best_fact == fact) {
        pile->best = fmax(pile->best, share);
    } else if (share > pile->best) {
        pile->second = pile->best;
        pile->best = share;
        pile->best_fact = fact;
    } else {
        pile->second = fmax(pile->second, share);
    }
}

double kg_company_share(kg_company company) {
    return (double)company.hits / ((double)company.others + DOUBT);
}

/* Counts of one fact become shares. */
static void settle(kg_inquiry *inquiry, size_t fact, size_t others, int sign) {
    for (size_t i = 0; i < inquiry->touched_count; i++) {
        kg_pile *pile = &inquiry->piles[inquiry->touched[i]];
        pile->pieces += sign;
        if (sign > 0)
            note_share(pile, fact, kg_company_share((kg_company){others, pile->hits}));
        pile->hits = 0;
    }
    inquiry->touched_count = 0;
}

static size_t stride_of(const struct run *company) {
    return (company->count + MOST_COMPANY - 1) / MOST_COMPANY;
}

/* Others with a fact. An entity is no company to itself. */
static struct run find_company(const kg_inquiry *inquiry, kg_link fact) {
    if (fact.other == inquiry->self)
        return (struct run){0};
    return find_run(inquiry, fact.other, kg_inverse(fact.directed));
}

void kg_company_gather(kg_inquiry *inquiry, size_t fact, int sign) {
    struct run company = find_company(inquiry, inquiry->links[fact]);
    if (company.count == 0)
        return;
    int64_t weight = sign * llround(0x1p32 / sqrt((double)company.count));
    size_t others = 0;
    for (size_t i = 0; i < company.count; i += stride_of(&company)) {
        kg_id neighbor = run_at(&company, i);
        struct run answers = find_run(inquiry, neighbor, inquiry->asked);
        if (answers.count == 0)
            continue;
        others++;
        meet(inquiry, neighbor, weight);
        for (size_t k = 0; k < answers.count && answers.count <= MOST_ANSWERS; k++)
            count_answer(inquiry, run_at(&answers, k));
    }
    settle(inquiry, fact, others, sign);
}

bool kg_company_votes_for(const kg_inquiry *inquiry, kg_id voter, kg_id answer) {
    struct run answers = find_run(inquiry, voter, inquiry->asked);
    if (answers.count > MOST_ANSWERS)
        return false;
    for (size_t k = 0; k < answers.count; k++)
        if (run_at(&answers, k) == answer)
            return true;
    return false;
}

kg_company kg_company_of(const kg_inquiry *inquiry, size_t fact, kg_id answer) {
    struct run company = find_company(inquiry, inquiry->links[fact]);
    kg_company found = {0, 0};
    for (size_t i = 0; i < company.count; i += stride_of(&company)) {
        kg_id neighbor = run_at(&company, i);
        found.others += find_run(inquiry, neighbor, inquiry->asked).count > 0;
        found.hits += kg_company_votes_for(inquiry, neighbor, answer);
    }
    return found;
}

/* ---- Votes ---- */

static double similarity(const kg_inquiry *inquiry, size_t neighbor) {
    size_t facts = kg_inquiry_facts_of(inquiry, inquiry->neighbors.ids[neighbor]);
    return (double)inquiry->shared[neighbor] * 0x1p-32 / sqrt((double)facts + MANY_FACTS);
}

size_t kg_company_voters(kg_inquiry *inquiry, double *total) {
    size_t count = inquiry->neighbors.count;
    *total = 0;
    kg_pick *picks = kg_grow(inquiry->picks, &inquiry->pick_room, count, sizeof *picks);
    if (picks == NULL) {
        inquiry->is_short_of_memory = true;
        return 0;
    }
    inquiry->picks = picks;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (inquiry->shared[i] > 0)
            picks[found++] =
                (kg_pick){similarity(inquiry, i), inquiry->neighbors.ids[i], (uint32_t)i};
    size_t voters = kg_pick_best(picks, found, MOST_VOTERS);
    for (size_t i = 0; i < voters; i++)
        *total += picks[i].value * picks[i].value;
    return voters;
}

void kg_company_vote(kg_inquiry *inquiry) {
    for (size_t i = 0; i < inquiry->candidates.count; i++)
        inquiry->piles[i].votes = 0;
    double total = 0;
    size_t voters = kg_company_voters(inquiry, &total);
    for (size_t i = 0; i < voters; i++) {
        kg_pick voter = inquiry->picks[i];
        struct run answers = find_run(inquiry, voter.id, inquiry->asked);
        for (size_t k = 0; k < answers.count && answers.count <= MOST_ANSWERS; k++) {
            kg_pile *pile = kg_inquiry_pile(inquiry, run_at(&answers, k));
            if (pile != NULL)
                pile->votes += voter.value * voter.value / total;
        }
    }
}
