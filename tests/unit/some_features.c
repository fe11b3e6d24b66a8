#include "some_features.h"

#include <stdlib.h>

#include "support.h"

void open_evidence(struct some_evidence *some, const kg_triples *facts, size_t entities,
                   size_t relations, kg_feature_set features) {
    uint64_t seed = 5;
    size_t count = 2 * relations * KG_FEATURE_COUNT;
    assert_ok(kg__adjacency_make(&some->graph, facts, entities, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    assert_ok(kg__features_count(&some->counts.features, &some->graph, 2 * relations, features, 1,
                                 NULL, NULL),
              NULL);
    some->weights = must_allocate(count, sizeof *some->weights);
    for (size_t i = 0; i < count; i++)
        some->weights[i] = (real)next_below(&seed, 1000) / 500 - (real)0.5;
}

void make_evidence(struct some_evidence *some, size_t entities, size_t relations, size_t facts,
                   kg_feature_set features) {
    kg_triples triples = {0};
    uint64_t seed = 9;
    size_t dropped = 0;
    for (size_t i = 0; i < facts; i++) {
        kg_id tail = (kg_id)next_below(&seed, i % 3 == 0 ? 1 + entities / 50 : entities);
        kg_triple fact = {(kg_id)next_below(&seed, entities), (kg_id)next_below(&seed, relations),
                          tail};
        assert_ok(kg__triples_push(&triples, fact, NULL), NULL);
    }
    assert_ok(kg__triples_unique(&triples, &dropped, NULL), NULL);
    open_evidence(some, &triples, entities, relations, features);
    kg__triples_free(&triples);
}

void give_evidence(kg_params *params, struct some_evidence *some) {
    give_term(params, &kg__term_features, &some->counts, some->weights, 0);
}

void free_evidence(struct some_evidence *some) {
    kg__features_close(&some->counts.features);
    kg__adjacency_free(&some->graph);
    free(some->weights);
}
