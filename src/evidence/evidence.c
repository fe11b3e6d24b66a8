/* Rules, and what their confidences weigh in a product. */
#include "evidence/evidence.h"

#include <math.h>

#include "base/memory.h"

/* Nothing is certain: one path alone never outweighs all others. */
#define MOST_CONFIDENCE 0.999

const char *const kg_feature_names[] = {"echo", "two", "three", "four", "company", "votes", NULL};

kg_status kg_evidence_take(kg_evidence *out, const kg_adjacency *graph, kg_rules *rules,
                           kg_error *error) {
    *out = (kg_evidence){.graph = graph, .rules = *rules};
    *rules = (kg_rules){0};
    out->weights = kg_alloc(out->rules.tally_count, sizeof *out->weights);
    if (out->weights == NULL) {
        kg_evidence_close(out);
        return kg_fail_memory(error);
    }
    for (size_t i = 0; i < out->rules.tally_count; i++) {
        double confidence = fmin(out->rules.tallies[i].confidence, MOST_CONFIDENCE);
        out->weights[i] = llround(-log1p(-confidence) * 0x1p32);
    }
    return KG_OK;
}

kg_status kg_evidence_open(kg_evidence *out, const kg_adjacency *graph, size_t directed_count,
                           const kg_rule_options *options, kg_error *error) {
    kg_rules rules;
    *out = (kg_evidence){0};
    KG_TRY(kg_rules_count(&rules, graph, directed_count, options, error));
    return kg_evidence_take(out, graph, &rules, error);
}

void kg_evidence_close(kg_evidence *evidence) {
    kg_rules_free(&evidence->rules);
    kg_free(evidence->weights);
    *evidence = (kg_evidence){0};
}
