/* Opening models. */
#include "model/model.h"

#include <math.h>
#include <string.h>

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/model_folder.h"

#define MOST_TRIES 10

const real kg__no_rows[1];

const char *const kg__param_names[] = {
    [KG_PARAM_ENTITIES] = "entities",
    [KG_PARAM_RELATIONS] = "relations",
    [KG_PARAM_AGGREGATE_RELATIONS] = "aggregate_relations",
};

/* Names that are read from an input, one per line. */
struct name_list {
    kg_names *names;
    kg_input *input;
};

static kg_status add_name(void *payload, kg_line line, kg_error *error) {
    const struct name_list *list = payload;
    size_t expected = list->names->count;
    kg_id id = KG_NO_ID;
    KG_TRY(kg__names_intern(list->names, &id, kg__name_of(line.text, line.length), error));
    if (id == expected)
        return KG_OK;
    return kg_fail_at(error, kg__input_name(list->input), line.number, 0,
                      "expected a new name, found that of line %zu again", (size_t)id + 1);
}

static kg_status read_names(kg_names *names, const kg_model *model, const char *folder,
                            const char *file, kg_error *error) {
    struct name_list list = {.names = names};
    kg_status status = KG_OK;
    KG_CHECK(kg__config_open(&list.input, model->config, folder, file, error));
    KG_CHECK(kg__lines_each(list.input, add_name, &list, error));
    status = kg__config_check_read(model->config, file, list.input, error);
done:
    kg__input_close(list.input);
    return status;
}

static kg_status check_names(const kg_names *names, const char *folder, const char *what,
                             size_t count, kg_error *error) {
    if (names->count == count)
        return KG_OK;
    return kg_fail_at(error, folder, 0, 0, "expected %zu names of %s, one for each row, found %zu",
                      count, what, names->count);
}

static kg_status open_names(kg_model *model, const char *folder, size_t entity_count,
                            size_t relation_count, kg_error *error) {
    kg_names *entities = &model->entities;
    kg_names *relations = &model->relations;
    if (kg__config_lists(model->config, KG_MODEL_NAMES)) {
        KG_TRY(kg__config_map(&model->names, model->config, folder, KG_MODEL_NAMES, error));
        KG_TRY(kg__names_index_view(entities, relations, &model->names, error));
    } else {
        KG_TRY(read_names(entities, model, folder, KG_MODEL_ENTITIES, error));
        KG_TRY(read_names(relations, model, folder, KG_MODEL_RELATIONS, error));
    }
    KG_TRY(check_names(entities, folder, "entities", entity_count, error));
    return check_names(relations, folder, "relations", relation_count, error);
}

static kg_status open_facts(kg_model *model, const char *folder, kg_error *error) {
    if (!kg__config_lists(model->config, KG_MODEL_KNOWN))
        return KG_OK;
    KG_TRY(kg__config_map(&model->facts, model->config, folder, KG_MODEL_KNOWN, error));
    return kg__known_facts_view(&model->known, &model->facts, model->entities.count,
                                model->relations.count, error);
}

static kg_status find_scoring(kg_model *model, const char *path, kg_error *error) {
    const json_t *settings = json_object_get(model->config, "settings");
    const char *name = json_string_value(json_object_get(settings, "model"));
    const kg_scoring *scoring = name == NULL ? NULL : kg__scoring_find(name);
    char known[128];
    kg__join_names(known, sizeof known, kg__scorings, sizeof *kg__scorings);
    if (scoring == NULL)
        return kg_fail_at(error, path, 0, 0, "expected %s as \"model\" of its settings, found %s",
                          known, name == NULL ? "none" : kg__quote(name, strlen(name)).text);
    if (model->params.dim % scoring->parts != 0)
        return kg_fail_at(error, path, 0, 0,
                          "expected rows of a multiple of %zu numbers, found %zu", scoring->parts,
                          model->params.dim);
    model->params.scoring = scoring;
    return KG_OK;
}

/* A positive integer of the config. */
static kg_status read_count(size_t *out, const json_t *object, const char *name, json_int_t most,
                            const char *path, kg_error *error) {
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value))
        return kg_fail_at(error, path, 0, 0, "expected a whole number as \"%s\", found %s", name,
                          kg__json_kind(value));
    json_int_t number = json_integer_value(value);
    if (number < 1 || number > most)
        return kg_fail_at(error, path, 0, 0,
                          "expected 1 to %" JSON_INTEGER_FORMAT
                          " as \"%s\", found %" JSON_INTEGER_FORMAT,
                          most, name, number);
    *out = (size_t)number;
    return KG_OK;
}

static kg_status map_encoder(kg_model *model, const char *path, size_t entity_count,
                             size_t relation_count, kg_error *error) {
    const json_t *settings = json_object_get(model->config, "settings");
    const json_t *self_loops = json_object_get(settings, "self_loops");
    kg_encoder *encoder = &model->encoder;
    if (!json_is_boolean(self_loops))
        return kg_fail_at(error, path, 0, 0,
                          "expected true or false as \"self_loops\" of its settings, found %s",
                          kg__json_kind(self_loops));
    encoder->shape = (kg_encoder_shape){.entities = entity_count,
                                        .relations = relation_count,
                                        .dim = model->params.dim,
                                        .self_loops = json_is_true(self_loops)};
    KG_TRY(read_count(&encoder->shape.bases, settings, "bases", KG_MOST_BASES, path, error));
    for (kg_encoder_tensor i = 0; i < KG_ENCODER_TENSORS; i++) {
        kg_tensor wanted = kg__encoder_describe(&encoder->shape, i);
        if (wanted.rows > 0)
            KG_TRY(kg__safetensors_view(&model->file, &encoder->tensors[i], wanted.name,
                                        wanted.rows, wanted.columns, error));
    }
    model->params.encoder = encoder;
    return KG_OK;
}

/* Opens one of the model's files of tensors. */
static kg_status open_tensors(kg_safetensors *out, const kg_model *model, const char *folder,
                              const char *name, kg_error *error) {
    kg_mapping mapping;
    KG_TRY(kg__config_map(&mapping, model->config, folder, name, error));
    return kg__safetensors_take(out, &mapping, error);
}

kg_status kg__model_open_pairs(kg_pairs *pairs, real **values, const kg_model *model,
                               const char *name, const char *path, kg_error *error) {
    size_t relation_count = model->relations.count;
    kg_tensor rows = {.name = name, .columns = KG_PAIR_COLUMNS};
    if (relation_count > KG_MOST_DIRECTED / 2)
        return kg_fail_at(error, path, 0, 0, "expected at most %d relations, found %zu",
                          KG_MOST_DIRECTED / 2, relation_count);
    if (kg__safetensors_has(&model->file, name))
        KG_TRY(kg__safetensors_get(&model->file, &rows, name, error));
    return kg__pairs_unpack(pairs, values, &rows, 2 * relation_count, path, error);
}

/* Models without the embedding say so; they have neither rows of entities nor of relations. */
static bool has_rows(const json_t *settings) {
    const json_t *terms = json_object_get(settings, "terms");
    bool has = !json_is_array(terms);
    size_t i = 0;
    const json_t *name = NULL;
    json_array_foreach(terms, i, name) {
        has = has || (json_is_string(name) && strcmp(json_string_value(name), "embedding") == 0);
    }
    return has;
}

static kg_status view_rows(const kg_model *model, const real **out, const char *name, size_t rows,
                           kg_error *error) {
    *out = kg__no_rows;
    return model->params.dim == 0
               ? KG_OK
               : kg__safetensors_view(&model->file, out, name, rows, model->params.dim, error);
}

static kg_status view_entities(kg_model *model, size_t count, kg_error *error) {
    const char *name = kg__param_names[KG_PARAM_ENTITIES];
    kg_params *params = &model->params;
    const uint16_t *halves = NULL;
    if (params->dim == 0 || !kg__safetensors_is_half(&model->file, name))
        return view_rows(model, &params->entities, name, count, error);
    KG_TRY(kg__safetensors_view_half(&model->file, &halves, name, count, params->dim, error));
    KG_TRY(kg__half_rows_open(&model->half, halves, count, params->dim, error));
    params->half = &model->half;
    params->entities = model->half.rows;
    return KG_OK;
}

/* Relations have one row or one per direction, and separate ones for aggregation if there are. */
static kg_status open_params(kg_model *model, const char *path, kg_error *error) {
    const json_t *settings = json_object_get(model->config, "settings");
    const char *kind = json_string_value(json_object_get(settings, "relations"));
    kg_params *params = &model->params;
    size_t entities = 0;
    size_t relations = 0;
    KG_TRY(open_tensors(&model->file, model, path, KG_MODEL_TENSORS, error));
    KG_TRY(read_count(&entities, model->config, "entities", KG_NO_ID - 1, path, error));
    KG_TRY(read_count(&relations, model->config, "relations", KG_NO_ID - 1, path, error));
    if (has_rows(settings))
        KG_TRY(read_count(&params->dim, settings, "dim", KG_NO_ID - 1, path, error));
    KG_TRY(find_scoring(model, path, error));
    params->is_directed = kind != NULL && strcmp(kind, "directed") == 0;
    size_t rows = params->is_directed ? 2 * relations : relations;
    KG_TRY(view_entities(model, entities, error));
    KG_TRY(view_rows(model, &params->relations, kg__param_names[KG_PARAM_RELATIONS], rows, error));
    const char *own = kg__param_names[KG_PARAM_AGGREGATE_RELATIONS];
    if (params->dim > 0 && kg__safetensors_has(&model->file, own))
        KG_TRY(kg__safetensors_view(&model->file, &params->aggregate_relations, own, rows,
                                    params->dim, error));
    if (params->scoring->is_encoded)
        KG_TRY(map_encoder(model, path, entities, relations, error));
    return open_names(model, path, entities, relations, error);
}

/* ---- Terms ---- */

kg_status kg__model_open_graph(kg_model *model, const char *what, const char *path,
                               kg_error *error) {
    if (model->known.path == NULL)
        return kg_fail_at(error, path, 0, 0,
                          "expected a model with " KG_MODEL_KNOWN
                          " among its files, since it has %s, found none",
                          what);
    return model->graph.starts != NULL ? KG_OK
                                       : kg__known_facts_copy(&model->graph, &model->known, error);
}

static kg_status open_terms(kg_model *model, const char *path, kg_error *error) {
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (kg__terms[i]->open != NULL)
            KG_TRY(kg__terms[i]->open(&model->params.terms[i], model, path, error));
    model->params.graph = model->graph.starts == NULL ? NULL : &model->graph;
    return KG_OK;
}

/* ---- Opening ---- */

static kg_status open_calibration(kg_model *model, const char *path, kg_error *error) {
    kg_tensor tensor = {.name = "calibration", .rows = 2 * model->relations.count, .columns = 2};
    const char *file = kg__model_calibration_file(model->config);
    if (file == NULL)
        return KG_OK;
    KG_TRY(open_tensors(&model->calibration_file, model, path, file, error));
    KG_TRY(kg__safetensors_view(&model->calibration_file, &tensor.values, tensor.name, tensor.rows,
                                tensor.columns, error));
    model->calibration = tensor.values;
    return kg__tensor_check(&tensor, path, error);
}

static kg_status open_quantized(kg_model *model, const char *path, kg_error *error) {
    if (!kg__config_lists(model->config, KG_MODEL_QUANTIZED))
        return KG_OK;
    KG_TRY(kg__config_map(&model->quantized_file, model->config, path, KG_MODEL_QUANTIZED, error));
    return kg__quantized_rows_view(&model->quantized, &model->quantized_file, model->entities.count,
                                   model->params.dim,
                                   kg__config_checksum(model->config, KG_MODEL_TENSORS), error);
}

static kg_status open_once(kg_model *model, const char *path, kg_error *error) {
    *model = (kg_model){0};
    kg_status status = KG_OK;
    KG_CHECK(kg__config_read(&model->config, path, error));
    KG_CHECK(kg__config_check_settings(json_object_get(model->config, "settings"), path, error));
    KG_CHECK(kg__config_check_sizes(model->config, path, error));
    KG_CHECK(open_params(model, path, error));
    KG_CHECK(open_facts(model, path, error));
    KG_CHECK(open_terms(model, path, error));
    KG_CHECK(open_calibration(model, path, error));
    KG_CHECK(open_quantized(model, path, error));
done:
    if (status != KG_OK)
        kg__model_close(model);
    return status;
}

/* Whether it is the same file, not changed since. */
static bool is_same(const struct stat *one, const struct stat *other) {
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
           one->st_ctim.tv_sec == other->st_ctim.tv_sec &&
           one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

/* Files are opened one by one, and those of two models may seem to fit together. So a model that is
 * replaced meanwhile is opened again. */
kg_status kg__model_open(kg_model *model, const char *path, kg_error *error) {
    for (int tries = 1;; tries++) {
        struct stat before;
        struct stat after;
        KG_TRY(kg__stat_file(&before, path, KG_MODEL_CONFIG, error));
        kg_status status = open_once(model, path, error);
        if (status == KG_NO_MEMORY || tries == MOST_TRIES)
            return status;
        kg_status again = kg__stat_file(&after, path, KG_MODEL_CONFIG, error);
        if (again == KG_OK && is_same(&before, &after))
            return status;
        if (status == KG_OK)
            kg__model_close(model);
        KG_TRY(again);
    }
}

void kg__model_close(kg_model *model) {
    json_decref(model->config);
    kg__half_rows_close(&model->half);
    kg__safetensors_close(&model->file);
    kg__safetensors_close(&model->calibration_file);
    if (model->names.bytes == NULL) {
        kg__names_free(&model->entities);
        kg__names_free(&model->relations);
    }
    kg__mapping_close(&model->names);
    kg__mapping_close(&model->facts);
    kg__mapping_close(&model->quantized_file);
    kg__adjacency_free(&model->listed);
    kg__terms_close(&model->params);
    kg__adjacency_free(&model->graph);
    *model = (kg_model){0};
}

kg_status kg__model_check_embedding(const kg_model *model, kg_error *error) {
    if (model->params.dim > 0)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected a model with the term embedding, found one without");
}

kg_model_info kg__model_describe(const kg_model *model) {
    const json_t *settings = json_object_get(model->config, "settings");
    const char *aggregate = json_string_value(json_object_get(settings, "aggregate"));
    return (kg_model_info){
        .model = model->params.scoring->name,
        .aggregate = aggregate == NULL ? KG_DEFAULT_AGGREGATOR : aggregate,
        .entities = model->entities.count,
        .relations = model->relations.count,
        .relation_rows = model->relations.count * (model->params.is_directed ? 2 : 1),
        .dim = model->params.dim,
        .terms = kg__term_parts(NULL, &model->params),
        .is_calibrated = model->calibration != NULL,
        .has_facts = model->known.links != NULL,
        .entity_rows = kg__model_own_entities(model),
    };
}

kg_status kg__model_read_config(json_t **out, const char *path, kg_error *error) {
    kg_model model;
    KG_TRY(kg__model_open(&model, path, error));
    *out = json_incref(model.config);
    kg__model_close(&model);
    return KG_OK;
}
