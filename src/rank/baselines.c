/* Counts as scores; a plain loop over all candidates ranks them.
 *
 * A score has three digits of DIGIT bits, compared lexicographically: the entity's facts that lead
 * to the candidate, the facts in which it is on the queried side of the relation, and all its
 * facts. Each baseline uses the last ones. */
#include "rank/baselines.h"

#include <string.h>

#include "base/memory.h"

#define DIGIT 28 /* bits: counts beyond that are all the same */
#define MOST (((uint64_t)1 << DIGIT) - 1)
#define RELATION ((uint64_t)1 << DIGIT)
#define ECHO ((uint64_t)1 << 2 * DIGIT)
#define MOST_ECHOES 255

struct counts {
    kg_baseline baseline;
    const kg_triples *facts;
    size_t candidates;
    uint64_t *popular;  /* per candidate: facts */
    uint64_t *relation; /* per candidate: facts of `directed` at the side it asks for */
    kg_directed directed;
    uint64_t *scores;
};

static void count_all(struct counts *counts) {
    for (size_t i = 0; i < counts->facts->count; i++) {
        counts->popular[counts->facts->items[i].head]++;
        counts->popular[counts->facts->items[i].tail]++;
    }
}

/* The queried side is the one opposite to the query's entity. */
static void count_relation(struct counts *counts, kg_directed directed) {
    if (counts->directed == directed)
        return;
    counts->directed = directed;
    memset(counts->relation, 0, counts->candidates * sizeof *counts->relation);
    for (size_t i = 0; i < counts->facts->count; i++) {
        kg_triple fact = counts->facts->items[i];
        if (fact.relation == directed / 2)
            counts->relation[kg_directed_end(directed) == KG_HEAD ? fact.tail : fact.head]++;
    }
}

static uint64_t digit(uint64_t count) {
    return count < MOST ? count : MOST;
}

static void score(struct counts *counts, const kg_queries *queries, const kg_query *query) {
    if (counts->baseline != KG_POPULARITY)
        count_relation(counts, query->target.directed);
    for (size_t u = 0; u < counts->candidates; u++)
        counts->scores[u] = digit(counts->relation[u]) * RELATION + digit(counts->popular[u]);
    if (counts->baseline != KG_ECHO)
        return;
    kg_query_links known = kg__query_links(queries, query);
    for (size_t i = 0; i < known.count; i++)
        if (i != known.left_out && counts->scores[known.links[i].other] < MOST_ECHOES * ECHO)
            counts->scores[known.links[i].other] += ECHO;
}

static double rank(const struct counts *counts, const kg_query *query, kg_ties ties) {
    uint64_t answer_score = counts->scores[query->target.other];
    uint64_t higher = 0;
    uint64_t equal = 0;
    for (size_t u = 0; u < counts->candidates; u++) {
        higher += counts->scores[u] > answer_score;
        equal += counts->scores[u] == answer_score;
    }
    for (size_t i = 0; i < query->known_count; i++) {
        higher -= counts->scores[query->known[i].other] > answer_score;
        equal -= counts->scores[query->known[i].other] == answer_score;
    }
    return kg__rank_of(higher, equal, ties);
}

/* Questions are answered relation by relation, so that each is counted once. */
static void rank_all(double *ranks, struct counts *counts, const kg_queries *queries,
                     size_t directed_count, kg_ties ties) {
    for (kg_directed directed = 0; directed < directed_count; directed++)
        for (size_t i = 0; i < queries->count; i++) {
            const kg_query *query = &queries->list[i];
            if (query->target.directed != directed)
                continue;
            score(counts, queries, query);
            ranks[i] = rank(counts, query, ties);
        }
}

kg_status kg__baseline_rank(double *ranks, kg_baseline baseline, const kg_queries *queries,
                            const kg_dataset *dataset, kg_ties ties, kg_error *error) {
    struct counts counts = {
        .baseline = baseline,
        .facts = &dataset->parts[queries->new_graph ? KG_GRAPH : KG_TRAIN],
        .candidates = queries->candidates,
        .directed = UINT32_MAX,
    };
    counts.popular = kg__alloc(counts.candidates, sizeof *counts.popular);
    counts.relation = kg__alloc(counts.candidates, sizeof *counts.relation);
    counts.scores = kg__alloc(counts.candidates, sizeof *counts.scores);
    bool good = counts.popular != NULL && counts.relation != NULL && counts.scores != NULL;
    if (good) {
        count_all(&counts);
        rank_all(ranks, &counts, queries, 2 * dataset->in_sample_relations, ties);
    }
    kg__free(counts.popular);
    kg__free(counts.relation);
    kg__free(counts.scores);
    return good ? KG_OK : kg__fail_memory(error);
}
