/* Rules, and what their confidences weigh in a product. */
#include "evidence/evidence.h"

#include <math.h>

#include "base/memory.h"

static kg_status weigh(kg_evidence *evidence, kg_error *error) {
    const kg_rules *rules = &evidence->rules;
    evidence->weights = kg_alloc(rules->tally_count, sizeof *evidence->weights);
    if (evidence->weights == NULL)
        return kg_fail_memory(error);
    for (size_t i = 0; i < rules->tally_count; i++)
        evidence->weights[i] = llround(-log1p(-kg_confidence(&rules->tallies[i])) * 0x1p32);
    return KG_OK;
}

kg_status kg_evidence_take(kg_evidence *out, const kg_adjacency *graph, kg_features features,
                           kg_rules *rules, kg_vacancy *vacancy, kg_error *error) {
    *out =
        (kg_evidence){.graph = graph, .features = features, .rules = *rules, .vacancy = *vacancy};
    *rules = (kg_rules){0};
    *vacancy = (kg_vacancy){0};
    kg_status status = weigh(out, error);
    if (status != KG_OK)
        kg_evidence_close(out);
    return status;
}

/* Rules are as long as they have to be. */
static size_t most_steps(kg_features features) {
    size_t steps = KG_MOST_STEPS;
    while (steps > 0 && !kg_features_have(features, (kg_feature)(steps - 1)))
        steps--;
    return steps;
}

kg_status kg_evidence_open(kg_evidence *out, const kg_adjacency *graph, size_t directed_count,
                           kg_features features, int threads, const kg_progress *progress,
                           kg_error *error) {
    kg_rule_options options = {most_steps(features), threads, progress};
    kg_rules rules;
    kg_vacancy vacancy;
    *out = (kg_evidence){0};
    KG_TRY(kg_rules_count(&rules, graph, directed_count, &options, error));
    kg_status status = kg_vacancy_open(&vacancy, graph, directed_count, error);
    if (status != KG_OK) {
        kg_rules_free(&rules);
        return status;
    }
    return kg_evidence_take(out, graph, features, &rules, &vacancy, error);
}

void kg_evidence_close(kg_evidence *evidence) {
    kg_rules_free(&evidence->rules);
    kg_free(evidence->weights);
    kg_vacancy_close(&evidence->vacancy);
    *evidence = (kg_evidence){0};
}
