/* Others with the same facts, and how they answer. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "terms/features/extractor.h"

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

static struct run find_run(const kg_extractor *witness, kg_id from, kg_directed directed) {
    const kg_adjacency *graph = witness->evidence->graph;
    struct run run = {0};
    run.links = kg__links_run(kg__adjacency_links(graph, from), kg__adjacency_degree(graph, from),
                              directed, &run.count);
    run.self = kg__links_find(run.links, run.count, (kg_link){directed, witness->self});
    run.count -= run.self < run.count;
    return run;
}

static kg_id run_at(const struct run *run, size_t i) {
    return run->links[i + (i >= run->self)].other;
}

/* Someone who shares a fact and answers the question. */
static void meet(kg_extractor *witness, kg_id neighbor, int64_t weight) {
    size_t before = witness->neighbors.count;
    size_t number = kg__id_map_add(&witness->neighbors, neighbor);
    int64_t *shared = number == KG_NOT_MAPPED ? NULL
                                              : kg__grow(witness->shared, &witness->shared_room,
                                                         number + 1, sizeof *shared);
    if (shared == NULL) {
        witness->is_short_of_memory = true;
        return;
    }
    witness->shared = shared;
    if (number == before)
        shared[number] = 0;
    shared[number] += weight;
}

static void count_answer(kg_extractor *witness, kg_id answer) {
    kg_accumulator *pile = kg__extractor_pile(witness, answer);
    if (pile == NULL || pile->hits++ > 0)
        return;
    size_t *touched = kg__grow(witness->touched, &witness->touched_room, witness->touched_count + 1,
                               sizeof *touched);
    if (touched == NULL) {
        witness->is_short_of_memory = true;
        return;
    }
    witness->touched = touched;
    touched[witness->touched_count++] = (size_t)(pile - witness->piles);
}

/* Adding what has been added before changes nothing. */
static void note_share(kg_accumulator *pile, size_t fact, double share) {
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

double kg__cooccurrence_share(kg_cooccurrence company) {
    return (double)company.hits / ((double)company.others + DOUBT);
}

/* Counts of one fact become shares. */
static void settle(kg_extractor *witness, size_t fact, size_t others, int sign) {
    for (size_t i = 0; i < witness->touched_count; i++) {
        kg_accumulator *pile = &witness->piles[witness->touched[i]];
        pile->pieces += sign;
        if (sign > 0)
            note_share(pile, fact, kg__cooccurrence_share((kg_cooccurrence){others, pile->hits}));
        pile->hits = 0;
    }
    witness->touched_count = 0;
}

static size_t stride_of(const struct run *company) {
    return (company->count + MOST_COMPANY - 1) / MOST_COMPANY;
}

/* Others with a fact. An entity is no company to itself. */
static struct run find_company(const kg_extractor *witness, kg_link fact) {
    if (fact.other == witness->self)
        return (struct run){0};
    return find_run(witness, fact.other, kg__inverse(fact.directed));
}

static int64_t weight_of(const struct run *company) {
    return llround(0x1p32 / sqrt((double)company->count));
}

int64_t kg__cooccurrence_weight(const kg_extractor *witness, kg_link fact, kg_id other) {
    struct run company = find_company(witness, fact);
    for (size_t i = 0; i < company.count; i += stride_of(&company))
        if (run_at(&company, i) == other)
            return weight_of(&company);
    return 0;
}

void kg__cooccurrence_gather(kg_extractor *witness, size_t fact, int sign) {
    struct run company = find_company(witness, witness->links[fact]);
    if (company.count == 0)
        return;
    int64_t weight = sign * weight_of(&company);
    size_t others = 0;
    for (size_t i = 0; i < company.count; i += stride_of(&company)) {
        kg_id neighbor = run_at(&company, i);
        struct run answers = find_run(witness, neighbor, witness->asked);
        if (answers.count == 0)
            continue;
        others++;
        meet(witness, neighbor, weight);
        for (size_t k = 0; k < answers.count && answers.count <= MOST_ANSWERS; k++)
            count_answer(witness, run_at(&answers, k));
    }
    settle(witness, fact, others, sign);
}

double kg__cooccurrence_phi(const kg_extractor *witness, const kg_accumulator *pile,
                            kg_feature feature) {
    (void)feature;
    return kg__accumulator_company(witness, pile);
}

bool kg__cooccurrence_votes_for(const kg_extractor *witness, kg_id voter, kg_id answer) {
    struct run answers = find_run(witness, voter, witness->asked);
    if (answers.count > MOST_ANSWERS)
        return false;
    for (size_t k = 0; k < answers.count; k++)
        if (run_at(&answers, k) == answer)
            return true;
    return false;
}

kg_cooccurrence kg__cooccurrence_of(const kg_extractor *witness, size_t fact, kg_id answer) {
    struct run company = find_company(witness, witness->links[fact]);
    kg_cooccurrence found = {0, 0};
    for (size_t i = 0; i < company.count; i += stride_of(&company)) {
        kg_id neighbor = run_at(&company, i);
        found.others += find_run(witness, neighbor, witness->asked).count > 0;
        found.hits += kg__cooccurrence_votes_for(witness, neighbor, answer);
    }
    return found;
}

/* ---- Votes ---- */

static double similarity(const kg_extractor *witness, size_t neighbor) {
    size_t facts = kg__extractor_facts_of(witness, witness->neighbors.ids[neighbor]);
    return (double)witness->shared[neighbor] * 0x1p-32 / sqrt((double)facts + MANY_FACTS);
}

size_t kg__cooccurrence_voters(kg_extractor *witness, double *total) {
    size_t count = witness->neighbors.count;
    *total = 0;
    kg_selectable *picks = kg__grow(witness->picks, &witness->pick_room, count, sizeof *picks);
    if (picks == NULL) {
        witness->is_short_of_memory = true;
        return 0;
    }
    witness->picks = picks;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (witness->shared[i] > 0)
            picks[found++] =
                (kg_selectable){similarity(witness, i), witness->neighbors.ids[i], (uint32_t)i};
    size_t voters = kg__select_top(picks, found, MOST_VOTERS);
    for (size_t i = 0; i < voters; i++)
        *total += picks[i].value * picks[i].value;
    return voters;
}

void kg__cooccurrence_vote(kg_extractor *witness) {
    for (size_t i = 0; i < witness->candidates.count; i++)
        witness->piles[i].votes = 0;
    double total = 0;
    size_t voters = kg__cooccurrence_voters(witness, &total);
    for (size_t i = 0; i < voters; i++) {
        kg_selectable voter = witness->picks[i];
        struct run answers = find_run(witness, voter.id, witness->asked);
        for (size_t k = 0; k < answers.count && answers.count <= MOST_ANSWERS; k++) {
            kg_accumulator *pile = kg__extractor_pile(witness, run_at(&answers, k));
            if (pile != NULL)
                pile->votes += voter.value * voter.value / total;
        }
    }
}

double kg__knn_vote_phi(const kg_extractor *witness, const kg_accumulator *pile,
                        kg_feature feature) {
    (void)witness;
    (void)feature;
    return pile->votes;
}
