/* Feature knn: the entities most similar to the query entity vote for their own answers, weighted
 * by similarity squared; votes are normalised to sum to 1. Similarity is the summed weight of the
 * shared facts (shared_facts.h), divided by the root of the number of facts that the neighbour has,
 * since entities with many facts share some with any other. */
#include "base/memory.h"
#include "terms/features/feature_table.h"
#include "terms/features/shared_facts.h"

/* More cost time and changed nothing. */
#define MOST_VOTERS 50

/* Added to a neighbour's number of facts, so that entities with few facts are not favoured. */
#define DEGREE_OFFSET 5

static double similarity(const kg_extractor *extractor, size_t neighbor) {
    size_t facts = kg__extractor_facts_of(extractor, extractor->neighbors.ids[neighbor]);
    return (double)extractor->overlaps[neighbor] * 0x1p-32 / sqrt((double)facts + DEGREE_OFFSET);
}

/* Selects the most similar neighbours; `*total` is the sum of their similarities squared. */
static size_t select_voters(kg_extractor *extractor, double *total) {
    size_t count = extractor->neighbors.count;
    *total = 0;
    kg_selectable *voters =
        kg__grow(extractor->selection, &extractor->selection_capacity, count, sizeof *voters);
    if (voters == NULL) {
        extractor->is_short_of_memory = true;
        return 0;
    }
    extractor->selection = voters;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (extractor->overlaps[i] > 0)
            voters[found++] =
                (kg_selectable){similarity(extractor, i), extractor->neighbors.ids[i], (uint32_t)i};
    size_t kept = kg__select_top(voters, found, MOST_VOTERS);
    for (size_t i = 0; i < kept; i++)
        *total += voters[i].value * voters[i].value;
    return kept;
}

void kg__knn_vote_finish(kg_extractor *extractor) {
    for (size_t i = 0; i < extractor->candidates.count; i++)
        extractor->accumulators[i].vote = 0;
    double total = 0;
    size_t voters = select_voters(extractor, &total);
    for (size_t i = 0; i < voters; i++) {
        kg_selectable voter = extractor->selection[i];
        kg_run answers = kg__run_answers(extractor, voter.id);
        for (size_t k = 0; k < answers.count && answers.count <= KG_MOST_ANSWERS; k++) {
            kg_accumulator *sums = kg__extractor_accumulator(extractor, kg__run_at(&answers, k));
            if (sums != NULL)
                sums->vote += voter.value * voter.value / total;
        }
    }
}

double kg__knn_vote_phi(const kg_extractor *extractor, const kg_accumulator *sums,
                        kg_feature feature) {
    (void)extractor;
    (void)feature;
    return sums->vote;
}

/* ---- Reasons ---- */

/* The weight of a fact in the overlap with a voter: 0 if the voter does not have it, or was not
 * among the entities sampled for it. */
static int64_t shared_weight(const kg_extractor *extractor, kg_link fact, kg_id voter) {
    kg_run sharing = kg__run_sharing(extractor, fact);
    for (size_t i = 0; i < sharing.count; i += kg__run_stride(&sharing))
        if (kg__run_at(&sharing, i) == voter)
            return kg__run_weight(&sharing);
    return 0;
}

/* Attributes a vote to the facts shared with the voter; returns the one with the largest weight. */
static size_t attribute_vote(kg_reason_search *search, kg_selectable voter, double share) {
    const kg_extractor *extractor = search->extractor;
    size_t most = 0;
    int64_t largest = 0;
    for (size_t i = 0; i < extractor->count; i++) {
        int64_t weight =
            i == extractor->left_out ? 0 : shared_weight(extractor, extractor->links[i], voter.id);
        double part = (double)weight / (double)extractor->overlaps[voter.number];
        kg__reasons_attribute(search, KG_KNN_VOTE, i, share * part);
        most = weight > largest ? i : most;
        largest = weight > largest ? weight : largest;
    }
    return most;
}

void kg__knn_vote_explain(kg_reason_search *search) {
    kg_extractor *extractor = search->extractor;
    double total = 0;
    size_t voters = select_voters(extractor, &total);
    for (size_t i = 0; i < voters; i++) {
        kg_selectable voter = extractor->selection[i];
        double share = voter.value * voter.value / total;
        if (!kg__run_answers_have(extractor, voter.id, search->answer))
            continue;
        size_t fact = attribute_vote(search, voter, share);
        kg__reasons_add(search, KG_KNN_VOTE,
                        &(kg_reason){.voter = voter.id,
                                     .fact = extractor->links[fact],
                                     .path = {{extractor->query, search->answer}},
                                     .steps = 1,
                                     .share = share});
    }
}
