/* Models, as users of the library see them. */
#include <string.h>

#include "base/memory.h"
#include "model/model.h"

kg_status kg_open(kg_model **out, const char *path, kg_error *error) {
    KG_NEED(out);
    *out = NULL;
    KG_NEED(path);
    kg_model *model = kg__alloc(1, sizeof *model);
    if (model == NULL)
        return kg__fail_memory(error);
    kg_status status = kg__model_open(model, path, error);
    if (status == KG_OK)
        *out = model;
    else
        kg__free(model);
    return status;
}

void kg_close(kg_model *model) {
    if (model == NULL)
        return;
    kg__model_close(model);
    kg__free(model);
}

kg_about kg_describe(const kg_model *model) {
    if (model == NULL)
        return (kg_about){0};
    const json_t *settings = json_object_get(model->config, "settings");
    const char *aggregate = json_string_value(json_object_get(settings, "aggregate"));
    return (kg_about){
        .model = model->params.scoring->name,
        .aggregate = aggregate == NULL ? "eravg" : aggregate,
        .entities = model->entities.count,
        .relations = model->relations.count,
        .relation_rows = model->relations.count * (model->params.is_directed ? 2 : 1),
        .dim = model->params.dim,
        .is_calibrated = model->calibration != NULL,
        .has_facts = model->known.links != NULL,
    };
}

static kg_id find(const kg_names *names, kg_text name) {
    return name.bytes == NULL ? KG_NO_ID
                              : kg__names_find(names, kg__name_of(name.bytes, name.length));
}

static kg_text get(const kg_names *names, kg_id id) {
    if (id >= names->count)
        return (kg_text){"", 0};
    kg_name name = kg__names_get(names, id);
    return (kg_text){name.bytes, name.length};
}

kg_id kg_find_entity(const kg_model *model, kg_text name) {
    return model == NULL ? KG_NO_ID : find(&model->entities, name);
}

kg_id kg_find_relation(const kg_model *model, kg_text name) {
    return model == NULL ? KG_NO_ID : find(&model->relations, name);
}

kg_text kg_entity_name(const kg_model *model, kg_id id) {
    return model == NULL ? (kg_text){"", 0} : get(&model->entities, id);
}

kg_text kg_relation_name(const kg_model *model, kg_id id) {
    return model == NULL ? (kg_text){"", 0} : get(&model->relations, id);
}

const float *kg_entity_vectors(const kg_model *model) {
    return model == NULL ? NULL : model->params.entities;
}

const float *kg_relation_vectors(const kg_model *model) {
    return model == NULL ? NULL : model->params.relations;
}

kg_status kg_known_links(const kg_model *model, kg_id entity, const kg_link **out, size_t *count,
                         kg_error *error) {
    KG_NEED(model);
    KG_NEED(out);
    KG_NEED(count);
    return kg__known_facts_links(&model->known, entity, out, count, error);
}

const char *kg_feature_name(kg_feature feature) {
    return (size_t)feature < KG_FEATURE_COUNT ? kg__feature_names[feature] : NULL;
}
