#include "some_model.h"

#include "support.h"

static const char facts[] = "a r b\nb r c\nc s a\nd s e\na s e\na r a\n\na s b\n";

void number(real *values, size_t count, double from) {
    for (size_t i = 0; i < count; i++)
        values[i] = (real)(from + 0.25 * (double)i);
}

void open_world(world *w) {
    make_dataset(&w->dataset, facts);
    assert_int_equal(kg__dataset_in_sample(&w->dataset), ENTITIES);
    number(w->entities, COUNT_OF(w->entities), 1);
    number(w->relations, COUNT_OF(w->relations), -9);
    number(w->calibration, COUNT_OF(w->calibration), 100);
    w->params = (kg_params){.scoring = kg__scoring_find("distmult"),
                            .entities = w->entities,
                            .relations = w->relations,
                            .dim = DIM};
    open_evidence(&w->evidence, &w->dataset.parts[KG_TRAIN], ENTITIES, RELATIONS, FEATURES);
}

void close_world(world *w) {
    kg__dataset_close(&w->dataset);
    free_evidence(&w->evidence);
}

void write_model(world *w, const real *calibration) {
    json_t *config = json_pack("{si si s{ss si}}", "entities", ENTITIES, "relations", RELATIONS,
                               "settings", "model", "distmult", "dim", DIM);
    if (kg__feature_view(&w->params) != NULL)
        json_object_set_new(json_object_get(config, "settings"), "evidence",
                            json_pack("[ssss]", "path1", "path2", "cooccurrence", "degree"));
    kg_model_parts parts = {&w->params, &w->dataset, calibration, config};
    write_model_folder(MODEL, &parts);
    json_decref(config);
}

void assert_same_name(const kg_names *names, kg_id id, const kg_names *expected,
                      kg_id expected_id) {
    kg_name name = kg__names_get(expected, expected_id);
    kg_name found = kg__names_get(names, id);
    assert_int_equal(found.length, name.length);
    assert_memory_equal(found.bytes, name.bytes, name.length);
}

void assert_names(const kg_names *names, const kg_names *expected, size_t count) {
    assert_int_equal(names->count, count);
    for (kg_id i = 0; i < count; i++) {
        kg_name name = kg__names_get(expected, i);
        assert_same_name(names, i, expected, i);
        assert_int_equal(kg__names_find(names, kg__name_of(name.bytes, name.length)), i);
    }
}

static void assert_evidence(const kg_term_view *view, const world *w) {
    const kg_features *found = kg__feature_view_counted(view);
    const kg_features *expected = &w->evidence.counts.features;
    const kg_rules *rules = &expected->rules;
    const kg_adjacency *graph = expected->graph;
    assert_int_equal(found->enabled, FEATURES);
    assert_int_equal(found->rules.count, rules->count);
    assert_true(rules->count > 10);
    assert_memory_equal(found->rules.list, rules->list, rules->count * sizeof *rules->list);
    assert_memory_equal(found->rules.tallies, rules->tallies,
                        rules->tally_count * sizeof *rules->tallies);
    assert_memory_equal(found->rule_weights, expected->rule_weights,
                        rules->tally_count * sizeof *expected->rule_weights);
    assert_memory_equal(view->values[0], w->evidence.weights,
                        (size_t)2 * RELATIONS * KG_FEATURE_COUNT * sizeof(real));
    for (size_t i = 0; i < (size_t)2 * RELATIONS * KG_DEGREE_PRIOR_CLASSES; i++)
        assert_true((float)found->degree_prior.values[i] ==
                    (float)expected->degree_prior.values[i]);
    assert_int_equal(found->graph->entity_count, ENTITIES);
    assert_memory_equal(found->graph->starts, graph->starts,
                        (ENTITIES + 1) * sizeof *graph->starts);
    assert_memory_equal(found->graph->links, graph->links,
                        graph->starts[ENTITIES] * sizeof *graph->links);
}

void assert_model(const world *w, const real *calibration) {
    kg_error error = {0};
    kg_model model;
    assert_ok(kg__model_open(&model, MODEL, &error), &error);
    assert_int_equal(model.params.dim, DIM);
    assert_memory_equal(model.params.entities, w->entities, sizeof w->entities);
    assert_memory_equal(model.params.relations, w->relations, sizeof w->relations);
    assert_names(&model.entities, &w->dataset.entities, ENTITIES);
    assert_names(&model.relations, &w->dataset.relations, RELATIONS);
    assert_int_equal(model.calibration == NULL, calibration == NULL);
    if (calibration != NULL)
        assert_memory_equal(model.calibration, calibration, sizeof w->calibration);
    if (kg__feature_view(&w->params) != NULL)
        assert_evidence(kg__feature_view(&model.params), w);
    else
        assert_null(kg__feature_view(&model.params));
    kg__model_close(&model);
}
