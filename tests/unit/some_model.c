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
    open_propagation(&w->propagation, &w->dataset.parts[KG_TRAIN], ENTITIES, RELATIONS);
}

void close_world(world *w) {
    kg__dataset_close(&w->dataset);
    free_propagation(&w->propagation);
}

void write_model(world *w, const real *calibration) {
    json_t *config = json_pack("{si si s{ss si}}", "entities", ENTITIES, "relations", RELATIONS,
                               "settings", "model", "distmult", "dim", DIM);
    kg_model_parts parts = {&w->params, &w->dataset, calibration, config, NULL};
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

static void assert_propagation(const kg_model *model, const struct some_propagation *expected) {
    const kg_term_view *view = &model->params.terms[kg__term_number(&kg__term_propagation)];
    const kg_adjacency *graph = &expected->graph;
    assert_non_null(view->counted);
    for (size_t i = 0; i < expected->count; i++)
        assert_memory_equal(view->values[i], expected->values[i],
                            expected->shapes[i].rows * expected->shapes[i].columns * sizeof(real));
    assert_int_equal(model->graph.entity_count, ENTITIES);
    assert_memory_equal(model->graph.starts, graph->starts, (ENTITIES + 1) * sizeof *graph->starts);
    assert_memory_equal(model->graph.links, graph->links,
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
    size_t term = kg__term_number(&kg__term_propagation);
    if (w->params.terms[term].counted != NULL)
        assert_propagation(&model, &w->propagation);
    else
        assert_null(model.params.terms[term].counted);
    kg__model_close(&model);
}
