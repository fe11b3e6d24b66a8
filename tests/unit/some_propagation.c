#include "some_propagation.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

void open_propagation(struct some_propagation *some, const kg_triples *facts, size_t entities,
                      size_t relations) {
    static const kg_propagation_options options = {
        .layers = 2, .width = 16, .sources = 20, .weight = 2};
    uint64_t seed = 5;
    *some = (struct some_propagation){0};
    assert_ok(kg__adjacency_make(&some->graph, facts, entities, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    kg_term_source source = {
        .graph = &some->graph, .directed_count = 2 * relations, .propagation = &options};
    assert_ok(kg__term_propagation.count(&some->view, &source, NULL), NULL);
    some->count = kg__term_params(some->shapes, &some->view);
    for (size_t i = 0; i < some->count; i++) {
        size_t size = some->shapes[i].rows * some->shapes[i].columns;
        some->view.values[i] = some->values[i] = must_allocate(size, sizeof(real));
        for (size_t k = 0; k < size; k++)
            some->values[i][k] = (real)next_below(&seed, 1000) / 1000 - (real)0.5;
    }
}

void make_propagation(struct some_propagation *some, size_t entities, size_t relations,
                      size_t facts) {
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
    open_propagation(some, &triples, entities, relations);
    kg__triples_free(&triples);
}

void give_propagation(kg_params *params, struct some_propagation *some) {
    params->terms[kg__term_number(&kg__term_propagation)] = some->view;
    params->graph = &some->graph;
}

void free_propagation(struct some_propagation *some) {
    for (size_t i = 0; i < some->count; i++)
        free(some->values[i]);
    some->view.learned->close(&some->view);
    kg__adjacency_free(&some->graph);
}

real *propagation_param(const struct some_propagation *some, const char *name, size_t *size) {
    size_t i = 0;
    while (strcmp(some->shapes[i].name, name) != 0)
        assert_true(++i < some->count);
    if (size != NULL)
        *size = some->shapes[i].rows * some->shapes[i].columns;
    return some->values[i];
}

real propagation_prior(const struct some_propagation *some, kg_directed query, kg_id entity) {
    size_t facts = 0;
    kg__links_run(kg__adjacency_links(&some->graph, entity),
                  kg__adjacency_degree(&some->graph, entity), kg__inverse(query), &facts);
    return kg__term_propagation.prior(&some->view, query, kg__degree_class(facts));
}

/* By a pass of its own. */
void propagate_plainly(double *out, const struct some_propagation *some, kg_id self,
                       const kg_link *links, size_t count, size_t left_out, kg_directed query) {
    kg_propagation model = kg__propagation_view(&some->view);
    kg_relation_degrees counts;
    kg_propagation_worker worker;
    kg_propagation_pass pass;
    kg_arena arena = {0};
    kg_propagation_query queried = {.entity = self,
                                    .links = links,
                                    .link_count = count,
                                    .queried = query,
                                    .left_out = left_out};
    assert_ok(kg__relation_degrees_open(&counts, &some->graph, model.directed_count, NULL), NULL);
    assert_ok(kg__propagation_worker_open(&worker, &counts, NULL), NULL);
    assert_ok(kg__propagation_forward(&pass, &model, &queried, &worker, &arena, NULL), NULL);
    for (kg_id u = 0; u < some->graph.entity_count; u++)
        out[u] =
            kg__propagation_part(&pass, &some->view, u) - (double)propagation_prior(some, query, u);
    kg__arena_free(&arena);
    kg__propagation_worker_close(&worker);
    kg__relation_degrees_close(&counts);
}
