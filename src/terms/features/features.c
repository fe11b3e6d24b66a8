/* The counts that features need: rules with their log weights, and degree priors. */
#include "terms/features/features.h"

#include <math.h>

#include "base/memory.h"

static kg_status set_rule_weights(kg_features *features, kg_error *error) {
    const kg_rules *rules = &features->rules;
    features->rule_weights = kg__alloc(rules->tally_count, sizeof *features->rule_weights);
    if (features->rule_weights == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < rules->tally_count; i++)
        features->rule_weights[i] = llround(-log1p(-kg__confidence(&rules->tallies[i])) * 0x1p32);
    return KG_OK;
}

kg_status kg__features_take(kg_features *out, const kg_adjacency *graph, kg_feature_set enabled,
                            kg_rules *rules, kg_degree_prior *prior, kg_error *error) {
    *out =
        (kg_features){.graph = graph, .enabled = enabled, .rules = *rules, .degree_prior = *prior};
    *rules = (kg_rules){0};
    *prior = (kg_degree_prior){0};
    kg_status status = set_rule_weights(out, error);
    if (status != KG_OK)
        kg__features_close(out);
    return status;
}

/* The length of the longest rules that are needed. */
static size_t most_steps(kg_feature_set enabled) {
    size_t steps = KG_MOST_STEPS;
    while (steps > 0 && !kg__feature_set_has(enabled, (kg_feature)(KG_PATH1 + steps - 1)))
        steps--;
    return steps;
}

kg_status kg__features_count(kg_features *out, const kg_adjacency *graph, size_t directed_count,
                             kg_feature_set enabled, int threads, const kg_progress *progress,
                             kg_error *error) {
    kg_rule_options options = {most_steps(enabled), threads, progress};
    kg_rules rules;
    kg_degree_prior prior;
    *out = (kg_features){0};
    KG_TRY(kg__rules_count(&rules, graph, directed_count, &options, error));
    kg_status status = kg__degree_prior_open(&prior, graph, directed_count, error);
    if (status != KG_OK) {
        kg__rules_free(&rules);
        return status;
    }
    return kg__features_take(out, graph, enabled, &rules, &prior, error);
}

void kg__features_close(kg_features *features) {
    kg__rules_free(&features->rules);
    kg__free(features->rule_weights);
    kg__degree_prior_close(&features->degree_prior);
    *features = (kg_features){0};
}
