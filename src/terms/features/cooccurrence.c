/* Feature cooccurrence: of the entities that share a fact with the query entity, how many have the
 * same answer. On the way it records these entities for knn_vote.c. */
#include "base/memory.h"
#include "terms/features/feature_table.h"
#include "terms/features/shared_facts.h"

/* Added to the number of entities: smooths rates of few towards 0. */
#define SMOOTHING 3

static double rate_of(size_t hits, size_t others) {
    return (double)hits / ((double)others + SMOOTHING);
}

static void add_neighbor(kg_extractor *extractor, kg_id neighbor, int64_t weight) {
    size_t before = extractor->neighbors.count;
    size_t number = kg__id_map_add(&extractor->neighbors, neighbor);
    int64_t *overlaps = number == KG_NOT_MAPPED
                            ? NULL
                            : kg__grow(extractor->overlaps, &extractor->overlap_capacity,
                                       number + 1, sizeof *overlaps);
    if (overlaps == NULL) {
        extractor->is_short_of_memory = true;
        return;
    }
    extractor->overlaps = overlaps;
    if (number == before)
        overlaps[number] = 0;
    overlaps[number] += weight;
}

static void count_answer(kg_extractor *extractor, kg_id answer) {
    kg_accumulator *sums = kg__extractor_accumulator(extractor, answer);
    if (sums == NULL || sums->hits++ > 0)
        return;
    size_t *touched = kg__grow(extractor->touched, &extractor->touched_capacity,
                               extractor->touched_count + 1, sizeof *touched);
    if (touched == NULL) {
        extractor->is_short_of_memory = true;
        return;
    }
    extractor->touched = touched;
    touched[extractor->touched_count++] = (size_t)(sums - extractor->accumulators);
}

/* Idempotent: a fact that was left out is added with the same rate again. */
static void add_rate(kg_accumulator *sums, size_t fact, double rate) {
    if (sums->best_fact == fact) {
        sums->best_rate = fmax(sums->best_rate, rate);
    } else if (rate > sums->best_rate) {
        sums->second_rate = sums->best_rate;
        sums->best_rate = rate;
        sums->best_fact = fact;
    } else {
        sums->second_rate = fmax(sums->second_rate, rate);
    }
}

/* Turns the hits of one fact into rates. */
static void add_rates(kg_extractor *extractor, size_t fact, size_t others, int sign) {
    for (size_t i = 0; i < extractor->touched_count; i++) {
        kg_accumulator *sums = &extractor->accumulators[extractor->touched[i]];
        sums->support += sign;
        if (sign > 0)
            add_rate(sums, fact, rate_of(sums->hits, others));
        sums->hits = 0;
    }
    extractor->touched_count = 0;
}

void kg__cooccurrence_accumulate(kg_extractor *extractor, size_t fact, int sign) {
    kg_run sharing = kg__run_sharing(extractor, extractor->links[fact]);
    if (sharing.count == 0)
        return;
    int64_t weight = sign * kg__run_weight(&sharing);
    size_t others = 0;
    for (size_t i = 0; i < sharing.count; i += kg__run_stride(&sharing)) {
        kg_id neighbor = kg__run_at(&sharing, i);
        kg_run answers = kg__run_answers(extractor, neighbor);
        if (answers.count == 0)
            continue;
        others++;
        add_neighbor(extractor, neighbor, weight);
        for (size_t k = 0; k < answers.count && answers.count <= KG_MOST_ANSWERS; k++)
            count_answer(extractor, kg__run_at(&answers, k));
    }
    add_rates(extractor, fact, others, sign);
}

double kg__cooccurrence_phi(const kg_extractor *extractor, const kg_accumulator *sums,
                            kg_feature feature) {
    (void)feature;
    return sums->best_fact == extractor->left_out ? sums->second_rate : sums->best_rate;
}

/* ---- Reasons ---- */

static void explain_fact(kg_reason_search *search, size_t fact) {
    const kg_extractor *extractor = search->extractor;
    kg_run sharing = kg__run_sharing(extractor, extractor->links[fact]);
    size_t others = 0;
    size_t hits = 0;
    for (size_t i = 0; i < sharing.count; i += kg__run_stride(&sharing)) {
        kg_id neighbor = kg__run_at(&sharing, i);
        others += kg__run_answers(extractor, neighbor).count > 0;
        hits += kg__run_answers_have(extractor, neighbor, search->answer);
    }
    if (hits == 0)
        return;
    kg__reasons_add(search, KG_COOCCURRENCE,
                    &(kg_reason){.voter = KG_NO_ID,
                                 .fact = extractor->links[fact],
                                 .path = {extractor->links[fact]},
                                 .steps = 1,
                                 .hits = (double)hits,
                                 .chances = (double)others,
                                 .share = rate_of(hits, others)});
    kg__reasons_attribute(search, KG_COOCCURRENCE, fact, rate_of(hits, others));
}

/* phi is a maximum, so all of it is attributed to the best fact, the first one if several are. */
static void keep_best(double *through, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (through[i] > through[best])
            best = i;
    for (size_t i = 0; i < count; i++)
        if (i != best)
            through[i] = 0;
}

void kg__cooccurrence_explain(kg_reason_search *search) {
    double *through = search->lists[KG_COOCCURRENCE].through;
    for (size_t i = 0; i < search->extractor->count; i++)
        if (i != search->extractor->left_out)
            explain_fact(search, i);
    if (through != NULL)
        keep_best(through, search->extractor->count);
}
