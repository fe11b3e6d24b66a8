#include "propagation_world.h"

#include <math.h>
#include <stdlib.h>

const kg_propagation_options some_options[SOME_OPTIONS] = {
    {.layers = 3,
     .width = WIDTH,
     .sources = 6,
     .edges = 1000,
     .pooling = 3,
     .profiles = 1,
     .sampled = 8,
     .weight = 1},
    {.layers = 2,
     .width = WIDTH,
     .sources = 100,
     .edges = 1000,
     .pooling = 31,
     .rank = 2,
     .profiles = 1,
     .sampled = 8,
     .weight = 1},
    {.layers = 4,
     .width = WIDTH,
     .sources = 5,
     .edges = 20,
     .pooling = 22,
     .rank = 1,
     .sampled = 4,
     .weight = 1},
    {.layers = 1,
     .width = WIDTH,
     .sources = 1,
     .edges = 1,
     .pooling = 9,
     .sampled = 4,
     .weight = 1},
};

static void make_facts(kg_triples *facts, uint64_t *state) {
    size_t dropped = 0;
    for (kg_id i = 0; i < 60; i++) {
        kg_id head = i < 12 ? 0 : (kg_id)next_below(state, ENTITIES - 1);
        kg_triple fact = {head, (kg_id)next_below(state, RELATIONS),
                          (kg_id)next_below(state, ENTITIES - 1)};
        assert_ok(kg__triples_push(facts, fact, NULL), NULL);
    }
    assert_ok(kg__triples_unique(facts, &dropped, NULL), NULL);
}

void open_graph(propagation_world *w) {
    assert_ok(kg__adjacency_make(&w->graph, &w->facts, w->entity_count, KG_WITHOUT_REFLEXIVE, NULL),
              NULL);
    assert_ok(kg__relation_degrees_open(&w->counts, &w->graph, DIRECTED, NULL), NULL);
    assert_ok(kg__propagation_worker_open(&w->worker, &w->counts, NULL), NULL);
}

void close_graph(propagation_world *w) {
    kg__propagation_worker_close(&w->worker);
    kg__relation_degrees_close(&w->counts);
    kg__adjacency_free(&w->graph);
}

double next_unit(uint64_t *state) {
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* Values are random whatever they start with, so that none has no effect. */
static void open_model(propagation_world *w, kg_propagation_options options, uint64_t *state) {
    size_t params = 0;
    assert_ok(kg__propagation_check(&options, NULL), NULL);
    w->model = (kg_propagation){.options = options, .directed_count = DIRECTED};
    for (size_t t = 0; t < KG_PROPAGATION_TENSORS; t++) {
        kg_propagation_shape s =
            kg__propagation_shape(&options, DIRECTED, (kg_propagation_tensor)t);
        double bound = s.bound == 0 ? 0.5 : s.bound;
        w->shapes[t] = s;
        if (s.rows == 0)
            continue;
        w->values[t] = must_allocate(s.rows * s.columns, sizeof(real));
        w->precise[t] = must_allocate(s.rows * s.columns, sizeof(double));
        for (size_t i = 0; i < s.rows * s.columns; i++) {
            w->values[t][i] = (real)(bound * (2 * next_unit(state) - 1));
            w->precise[t][i] = (double)w->values[t][i];
        }
        w->model.tensors[t] = w->values[t];
        w->model.params[t] = params++;
        assert_ok(kg__grads_add_param(&w->grads, s.rows, s.columns, NULL), NULL);
    }
}

void open_propagation_world(propagation_world *w, kg_propagation_options options, uint64_t seed) {
    *w = (propagation_world){.entity_count = ENTITIES};
    make_facts(&w->facts, &seed);
    open_graph(w);
    open_model(w, options, &seed);
}

void open_small_propagation_world(propagation_world *w, const kg_triple *facts, size_t count,
                                  kg_propagation_options options) {
    uint64_t seed = 3;
    *w = (propagation_world){.entity_count = ENTITIES};
    for (size_t i = 0; i < count; i++)
        assert_ok(kg__triples_push(&w->facts, facts[i], NULL), NULL);
    open_graph(w);
    open_model(w, options, &seed);
}

void close_propagation_world(propagation_world *w) {
    for (size_t t = 0; t < KG_PROPAGATION_TENSORS; t++) {
        free(w->values[t]);
        free(w->precise[t]);
    }
    kg__grads_free(&w->grads);
    kg__arena_free(&w->arena);
    close_graph(w);
    kg__triples_free(&w->facts);
}

kg_propagation_query query_of(const propagation_world *w, kg_id entity, size_t fact) {
    const kg_link *links = kg__adjacency_links(&w->graph, entity);
    size_t count = kg__adjacency_degree(&w->graph, entity);
    return (kg_propagation_query){.entity = entity,
                                  .links = links,
                                  .link_count = count,
                                  .queried = fact < count ? links[fact].directed : 0,
                                  .left_out = fact};
}

kg_propagation_query new_query(const kg_link *links, size_t count, size_t left_out) {
    return (kg_propagation_query){.entity = KG_NO_ID,
                                  .links = links,
                                  .link_count = count,
                                  .queried = 2,
                                  .left_out = left_out};
}

kg_propagation_pass go_forward(propagation_world *w, const kg_propagation_query *query) {
    kg_propagation_pass pass;
    kg__arena_reset(&w->arena);
    assert_ok(kg__propagation_forward(&pass, &w->model, query, &w->worker, &w->arena, NULL), NULL);
    return pass;
}

void assert_close(const char *what, size_t i, double found, double expected, double exact) {
    if (!(fabs(found - expected) <= exact * (1 + fabs(expected))))
        fail_msg("%s %zu: %.9g, expected %.9g", what, i, found, expected);
}
