/* Features path1 to path4: rules, followed from a fact of the query entity. */
#include <math.h>
#include <string.h>

#include "terms/features/feature_table.h"
#include "terms/features/rule_walk.h"

struct addition {
    kg_extractor *extractor;
    int sign;
};

static void add_arrival(void *payload, const kg_arrival *arrival) {
    const struct addition *addition = payload;
    const kg_features *features = addition->extractor->features;
    const kg_rule_tally *tally =
        kg__rules_tally(&features->rules, arrival->rule, kg__width(arrival->fan));
    if (tally == NULL)
        return;
    int64_t weight = addition->sign * features->rule_weights[tally - features->rules.tallies];
    bool is_all_unvisited = arrival->unvisited == arrival->count;
    for (size_t i = 0; i < arrival->count; i++) {
        if (!is_all_unvisited && kg__path_so_far_has(arrival->path, arrival->links[i].other))
            continue;
        kg_accumulator *sums =
            kg__extractor_accumulator(addition->extractor, arrival->links[i].other);
        if (sums == NULL)
            return;
        sums->support += addition->sign;
        sums->paths[arrival->steps - 1] += weight;
    }
}

void kg__paths_accumulate(kg_extractor *extractor, size_t fact, int sign) {
    struct addition addition = {extractor, sign};
    kg_walk walk = {extractor->features->graph, &extractor->features->rules, add_arrival,
                    &addition};
    kg__walk_from(&walk, extractor->query, extractor->self, &extractor->links[fact]);
}

double kg__paths_phi(const kg_extractor *extractor, const kg_accumulator *sums,
                     kg_feature feature) {
    (void)extractor;
    return (double)sums->paths[feature - KG_PATH1] * 0x1p-32;
}

/* ---- Reasons ---- */

struct path_search {
    kg_reason_search *search;
    size_t fact; /* that paths start with */
};

static void add_path(void *payload, const kg_arrival *arrival) {
    const struct path_search *paths = payload;
    kg_reason_search *search = paths->search;
    const kg_extractor *extractor = search->extractor;
    const kg_rule_tally *tally =
        kg__rules_tally(&extractor->features->rules, arrival->rule, kg__width(arrival->fan));
    kg_link last = {arrival->rule->step, search->answer};
    if (tally == NULL || kg__path_so_far_has(arrival->path, search->answer) ||
        kg__links_find(arrival->links, arrival->count, last) == arrival->count)
        return;
    kg_feature feature = (kg_feature)(KG_PATH1 + arrival->steps - 1);
    kg_reason reason = {.steps = arrival->steps,
                        .voter = KG_NO_ID,
                        .fact = extractor->links[paths->fact],
                        .hits = tally->hits,
                        .chances = tally->predictions,
                        .share = -log1p(-kg__confidence(tally))};
    const kg_path_so_far *path = arrival->path;
    memcpy(reason.path, path->links + path->count - (arrival->steps - 1),
           (arrival->steps - 1) * sizeof last);
    reason.path[arrival->steps - 1] = last;
    kg__reasons_add(search, feature, &reason);
    kg__reasons_attribute(search, feature, paths->fact, reason.share);
}

void kg__paths_explain(kg_reason_search *search) {
    const kg_extractor *extractor = search->extractor;
    struct path_search paths = {search, 0};
    kg_walk walk = {extractor->features->graph, &extractor->features->rules, add_path, &paths};
    for (paths.fact = 0; paths.fact < extractor->count; paths.fact++)
        if (paths.fact != extractor->left_out)
            kg__walk_from(&walk, extractor->query, extractor->self, &extractor->links[paths.fact]);
}
