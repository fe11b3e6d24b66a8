#include "damaged_model.h"

#include <stdio.h>

#include "terms/scorer.h"

/* Uses all that a model offers. What is in its files may be anything; using it does no harm. */
static void use_names(const kg_names *names) {
    for (kg_id i = 0; i < names->count; i++) {
        kg_name name = kg__names_get(names, i);
        kg_id found = kg__names_find(names, kg__name_of(name.bytes, name.length));
        assert_true(found == KG_NO_ID || found < names->count);
    }
}

static void use_links(const kg_model *model) {
    for (kg_id i = 0; i < model->entities.count; i++) {
        const kg_link *links = NULL;
        size_t count = 0;
        if (kg__known_facts_links(&model->known, i, &links, &count, NULL) != KG_OK)
            assert_int_equal(count, 0);
        for (size_t k = 0; k < count; k++)
            assert_true(links[k].other < model->entities.count &&
                        links[k].directed < 2 * model->relations.count);
    }
}

/* Queries about every entity, as of the graph and as new. */
static void use_terms(const kg_model *model) {
    kg_scorer scorer;
    kg_score_offsets offsets = {0};
    kg_directed query = 0;
    assert_int_equal(kg__scorer_open(&scorer, kg__aggregate_defaults(kg__aggregator_find("eravg")),
                                     &model->params, NULL),
                     KG_OK);
    for (kg_id v = 0; v < 2 * model->entities.count; v++) {
        kg_id from = v / 2;
        kg_id self = v % 2 == 0 ? from : KG_NO_ID;
        offsets.count = 0;
        assert_int_equal(kg__scorer_load(&scorer, self, kg__adjacency_links(&model->graph, from),
                                         kg__adjacency_degree(&model->graph, from), NULL),
                         KG_OK);
        kg__scorer_set_query(&scorer, query);
        query = (kg_directed)((query + 1) % (2 * model->relations.count));
        assert_int_equal(kg__scorer_offsets(&scorer, &offsets, KG_NOTHING, NULL), KG_OK);
        for (size_t i = 0; i < offsets.count; i++)
            assert_true(offsets.items[i].entity < model->entities.count);
    }
    kg__score_offsets_free(&offsets);
    kg__scorer_close(&scorer);
}

static real add_up(const real *values, size_t count) {
    real sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static volatile real sink;

static void use_model(const kg_model *model) {
    use_names(&model->entities);
    use_names(&model->relations);
    use_links(model);
    sink = add_up(model->params.entities, model->entities.count * model->params.dim);
    sink = add_up(model->params.relations, model->relations.count * model->params.dim);
    if (model->calibration != NULL)
        sink = add_up(model->calibration, 4 * model->relations.count);
    if (model->params.graph != NULL)
        use_terms(model);
}

bool opens(void) {
    kg_error error = {0};
    kg_model model;
    kg_status status = kg__model_open(&model, MODEL, &error);
    if (status == KG_OK) {
        use_model(&model);
        kg__model_close(&model);
        return true;
    }
    assert_status(status, KG_BAD_INPUT, &error);
    assert_true(error.source[0] != '\0' && error.message[0] != '\0');
    return false;
}

const char *const files[FILES] = {KG_MODEL_TENSORS, KG_MODEL_ENTITIES, KG_MODEL_RELATIONS,
                                  KG_MODEL_NAMES,   KG_MODEL_KNOWN,    KG_MODEL_CALIBRATION,
                                  KG_MODEL_CONFIG};

void path_of(char out[64], const char *file) {
    snprintf(out, 64, MODEL "/%s", file);
}

json_t *read_config(void) {
    json_t *config = json_load_file(MODEL "/" KG_MODEL_CONFIG, 0, NULL);
    assert_non_null(config);
    return config;
}

void write_config(const json_t *config) {
    assert_int_equal(json_dump_file(config, MODEL "/" KG_MODEL_CONFIG, JSON_INDENT(1)), 0);
}

json_t *unseal(void) {
    json_t *config = read_config();
    const char *name = NULL;
    json_t *about = NULL;
    json_object_set_new(config, "kgraft_model", json_integer(1));
    json_object_del(config, "checksum");
    json_object_foreach(json_object_get(config, "files"), name, about) {
        json_object_del(about, "xxh3");
        json_object_del(about, "head");
    }
    write_config(config);
    return config;
}

void set_up_damage(world *w) {
    open_world(w);
    give_propagation(&w->params, &w->propagation);
    write_model(w, w->calibration);
    assert_true(opens());
}

void refuse(const char *expected) {
    kg_error error = {0};
    kg_model model;
    assert_status(kg__model_open(&model, MODEL, &error), KG_BAD_INPUT, NULL);
    assert_error_text(&error, expected);
}
