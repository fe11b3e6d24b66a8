/* Counts as scores; a plain loop over all candidates ranks them. */
#include "rank/baselines.h"

#include <string.h>

#include "base/memory.h"

/* More than any count: what an entity's other ends have ahead of all others. */
#define ECHO ((uint64_t)1 << 32)

struct counts {
    kg_baseline baseline;
    const kg_triples *facts;
    size_t candidates;
    uint64_t *popular; /* per candidate; by relation, for `directed` alone */
    kg_directed directed;
    uint64_t *scores;
};

/* Counts who stands at the end that a question with this directed relation asks for: the other one.
 */
static void count_relation(struct counts *counts, kg_directed directed) {
    if (counts->directed == directed)
        return;
    counts->directed = directed;
    memset(counts->popular, 0, counts->candidates * sizeof *counts->popular);
    for (size_t i = 0; i < counts->facts->count; i++) {
        kg_triple fact = counts->facts->items[i];
        if (fact.relation == directed / 2)
            counts->popular[kg_directed_end(directed) == KG_HEAD ? fact.tail : fact.head]++;
    }
}

static void count_all(struct counts *counts) {
    for (size_t i = 0; i < counts->facts->count; i++) {
        counts->popular[counts->facts->items[i].head]++;
        counts->popular[counts->facts->items[i].tail]++;
    }
}

static void score(struct counts *counts, const kg_questions *questions,
                  const kg_question *question) {
    if (counts->baseline != KG_POPULARITY)
        count_relation(counts, question->asked.directed);
    memcpy(counts->scores, counts->popular, counts->candidates * sizeof *counts->scores);
    if (counts->baseline != KG_ECHO)
        return;
    const kg_link *links = kg_adjacency_links(&questions->adjacency, question->entity);
    size_t count = kg_adjacency_degree(&questions->adjacency, question->entity);
    for (size_t i = 0; i < count; i++)
        if (i != question->position && counts->scores[links[i].other] < ECHO)
            counts->scores[links[i].other] += ECHO;
}

static double rank(const struct counts *counts, const kg_question *question, kg_ties ties) {
    uint64_t goal = counts->scores[question->asked.other];
    uint64_t higher = 0;
    uint64_t equal = 0;
    for (size_t u = 0; u < counts->candidates; u++) {
        higher += counts->scores[u] > goal;
        equal += counts->scores[u] == goal;
    }
    for (size_t i = 0; i < question->known_count; i++) {
        higher -= counts->scores[question->known[i].other] > goal;
        equal -= counts->scores[question->known[i].other] == goal;
    }
    return kg_rank_of(higher, equal, ties);
}

/* Questions are answered relation by relation, so that each is counted once. */
static void rank_all(double *ranks, struct counts *counts, const kg_questions *questions,
                     size_t directed_count, kg_ties ties) {
    for (kg_directed directed = 0; directed < directed_count; directed++)
        for (size_t i = 0; i < questions->count; i++) {
            const kg_question *question = &questions->list[i];
            if (question->asked.directed != directed)
                continue;
            score(counts, questions, question);
            ranks[i] = rank(counts, question, ties);
        }
}

kg_status kg_baseline_rank(double *ranks, kg_baseline baseline, const kg_questions *questions,
                           const kg_dataset *dataset, kg_ties ties, kg_error *error) {
    struct counts counts = {
        .baseline = baseline,
        .facts = &dataset->parts[KG_TRAIN],
        .candidates = kg_dataset_in_sample(dataset),
        .directed = UINT32_MAX,
    };
    counts.popular = kg_alloc(counts.candidates, sizeof *counts.popular);
    counts.scores = kg_alloc(counts.candidates, sizeof *counts.scores);
    bool good = counts.popular != NULL && counts.scores != NULL;
    if (good && baseline == KG_POPULARITY)
        count_all(&counts);
    if (good)
        rank_all(ranks, &counts, questions, 2 * dataset->in_sample_relations, ties);
    kg_free(counts.popular);
    kg_free(counts.scores);
    return good ? KG_OK : kg_fail_memory(error);
}
