/* Rules, and what their confidences weigh in a product. */
#include "terms/features/features.h"

#include <math.h>

#include "base/memory.h"

static kg_status weigh(kg_features *evidence, kg_error *error) {
    const kg_rules *rules = &evidence->rules;
    evidence->weights = kg__alloc(rules->tally_count, sizeof *evidence->weights);
    if (evidence->weights == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < rules->tally_count; i++)
        evidence->weights[i] = llround(-log1p(-kg__confidence(&rules->tallies[i])) * 0x1p32);
    return KG_OK;
}

kg_status kg__features_take(kg_features *out, const kg_adjacency *graph, kg_feature_set features,
                            kg_rules *rules, kg_degree_prior *vacancy, kg_error *error) {
    *out =
        (kg_features){.graph = graph, .features = features, .rules = *rules, .vacancy = *vacancy};
    *rules = (kg_rules){0};
    *vacancy = (kg_degree_prior){0};
    kg_status status = weigh(out, error);
    if (status != KG_OK)
        kg__features_close(out);
    return status;
}

/* Rules are as long as they have to be. */
static size_t most_steps(kg_feature_set features) {
    size_t steps = KG_MOST_STEPS;
    while (steps > 0 && !kg__feature_set_has(features, (kg_feature)(steps - 1)))
        steps--;
    return steps;
}

kg_status kg__features_count(kg_features *out, const kg_adjacency *graph, size_t directed_count,
                             kg_feature_set features, int threads, const kg_progress *progress,
                             kg_error *error) {
    kg_rule_options options = {most_steps(features), threads, progress};
    kg_rules rules;
    kg_degree_prior vacancy;
    *out = (kg_features){0};
    KG_TRY(kg__rules_count(&rules, graph, directed_count, &options, error));
    kg_status status = kg__degree_prior_open(&vacancy, graph, directed_count, error);
    if (status != KG_OK) {
        kg__rules_free(&rules);
        return status;
    }
    return kg__features_take(out, graph, features, &rules, &vacancy, error);
}

void kg__features_close(kg_features *evidence) {
    kg__rules_free(&evidence->rules);
    kg__free(evidence->weights);
    kg__degree_prior_close(&evidence->vacancy);
    *evidence = (kg_features){0};
}
