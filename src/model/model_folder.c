/* Writing model folders. */
#include "model/model_folder.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "model/config.h"
#include "model/mapped_index.h"
#include "model/quantized_rows.h"
#include "model/term.h"

const char *const kg__model_files[] = {KG_MODEL_CONFIG,
                                       KG_MODEL_TENSORS,
                                       KG_MODEL_ENTITIES,
                                       KG_MODEL_RELATIONS,
                                       KG_MODEL_NAMES,
                                       KG_MODEL_KNOWN,
                                       KG_MODEL_FAILURE,
                                       KG_CHECKPOINT,
                                       KG_MODEL_CALIBRATION,
                                       KG_MODEL_OTHER_CALIBRATION,
                                       "evidence.bin", /* of older versions */
                                       KG_APART_CHECKPOINT,
                                       KG_MODEL_QUANTIZED,
                                       NULL};

/* What a term has learned. */
static kg_status list_term(kg_tensor *out, size_t *count, const kg_term_view *view, kg_arena *arena,
                           kg_error *error) {
    kg_term_param about[KG_MOST_TERM_PARAMS];
    size_t listed = kg__term_params(about, view);
    for (size_t i = 0; i < listed; i++)
        out[*count + i] = (kg_tensor){.name = about[i].name,
                                      .values = view->values[i],
                                      .rows = about[i].rows,
                                      .columns = about[i].columns};
    if (listed > 0 && view->learned->pack != NULL)
        KG_TRY(view->learned->pack(out + *count, view, arena, error));
    *count += listed;
    return KG_OK;
}

#define MOST_TENSORS (4 + KG_ENCODER_TENSORS + KG_MOST_TERMS * KG_MOST_TERM_PARAMS)

static kg_status list_tensors(kg_tensor *out, size_t *count, const kg_params *params,
                              size_t entities, size_t relations, kg_arena *arena, kg_error *error) {
    const kg_encoder *encoder = params->encoder;
    size_t relation_rows = params->is_directed ? 2 * relations : relations;
    out[0] = (kg_tensor){.name = kg__param_names[KG_PARAM_ENTITIES],
                         .values = params->entities,
                         .rows = entities,
                         .columns = params->dim};
    out[1] = (kg_tensor){.name = kg__param_names[KG_PARAM_RELATIONS],
                         .values = params->relations,
                         .rows = relation_rows,
                         .columns = params->dim};
    *count = 2;
    if (params->aggregate_relations != NULL)
        out[(*count)++] = (kg_tensor){.name = kg__param_names[KG_PARAM_AGGREGATE_RELATIONS],
                                      .values = params->aggregate_relations,
                                      .rows = relation_rows,
                                      .columns = params->dim};
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        KG_TRY(list_term(out, count, &params->terms[i], arena, error));
    for (size_t i = 0; i < KG_ENCODER_TENSORS && encoder != NULL; i++) {
        if (encoder->tensors[i] == NULL)
            continue;
        out[*count] = kg__encoder_describe(&encoder->shape, (kg_encoder_tensor)i);
        out[(*count)++].values = encoder->tensors[i];
    }
    return KG_OK;
}

static bool stores_half(const json_t *config) {
    const json_t *settings = json_object_get(config, "settings");
    const char *type = json_string_value(json_object_get(settings, "store_dim_type"));
    return type != NULL && strcmp(type, "f16") == 0;
}

/* Those without rows or columns are left out. Halves go to the end: what followed them might not be
 * aligned. */
static kg_status write_tensors(kg_output *output, const kg_model_parts *parts, size_t entities,
                               size_t relations, kg_error *error) {
    kg_tensor tensors[MOST_TENSORS];
    size_t count = 0;
    size_t kept = 0;
    kg_arena arena = {0};
    kg_status status =
        list_tensors(tensors, &count, parts->params, entities, relations, &arena, error);
    if (status == KG_OK && stores_half(parts->config)) {
        tensors[count] = tensors[0];
        tensors[count++].is_half = true;
        tensors[0].rows = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (tensors[i].rows > 0 && tensors[i].columns > 0)
            tensors[kept++] = tensors[i];
    if (status == KG_OK)
        status = kg__safetensors_write(output, tensors, kept, NULL, parts->mapped, error);
    kg__arena_free(&arena);
    return status;
}

static kg_status write_calibration(kg_output *output, const real *values, size_t relation_count,
                                   kg_error *error) {
    const kg_tensor tensor = {
        .name = "calibration", .values = values, .rows = 2 * relation_count, .columns = 2};
    KG_TRY(kg__tensor_check(&tensor, "", error));
    KG_TRY(kg__safetensors_write(output, &tensor, 1, NULL, NULL, error));
    kg__output_end_head(output); /* all of it is read when the model is opened */
    return KG_OK;
}

/* The folder that is being filled, its newest file, and descriptions of those before. */
struct filling {
    kg_folder *folder;
    json_t *files;
    const char *name;
    kg_output *output;
};

static kg_status end_file(const struct filling *filling, kg_error *error) {
    KG_TRY(kg__output_finish(filling->output, error));
    return kg__config_describe(filling->files, filling->name, filling->output, error);
}

static kg_status next_file(struct filling *filling, const char *name, kg_error *error) {
    if (filling->output != NULL)
        KG_TRY(end_file(filling, error));
    filling->name = name;
    return kg__folder_add(filling->folder, &filling->output, name, error);
}

/* known.bin and the calibration are optional. */
static kg_status fill(struct filling *filling, const kg_model_parts *from, kg_error *error) {
    const kg_dataset *dataset = from->dataset;
    size_t entities = kg__dataset_in_sample(dataset);
    size_t relations = dataset->in_sample_relations;
    KG_TRY(next_file(filling, KG_MODEL_TENSORS, error));
    KG_TRY(write_tensors(filling->output, from, entities, relations, error));
    KG_TRY(next_file(filling, KG_MODEL_ENTITIES, error));
    KG_TRY(kg__names_write(filling->output, &dataset->entities, entities, error));
    KG_TRY(next_file(filling, KG_MODEL_RELATIONS, error));
    KG_TRY(kg__names_write(filling->output, &dataset->relations, relations, error));
    KG_TRY(next_file(filling, KG_MODEL_NAMES, error));
    KG_TRY(kg__names_index_write(filling->output, &dataset->entities, entities, &dataset->relations,
                                 relations, error));
    if (dataset->parts[KG_TRAIN].count > 0) {
        KG_TRY(next_file(filling, KG_MODEL_KNOWN, error));
        KG_TRY(kg__known_facts_write(filling->output, &dataset->parts[KG_TRAIN], entities, error));
    }
    if (from->calibration != NULL) {
        KG_TRY(next_file(filling, KG_MODEL_CALIBRATION, error));
        KG_TRY(write_calibration(filling->output, from->calibration, relations, error));
    }
    return end_file(filling, error);
}

static kg_status describe_terms(const kg_model_parts *parts, kg_error *error) {
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (kg__terms[i]->describe != NULL && kg__term_is_on(parts->params, i) &&
            json_object_set_new(parts->config, kg__terms[i]->name,
                                kg__terms[i]->describe(&parts->params->terms[i])) != 0)
            return kg__fail_memory(error);
    return KG_OK;
}

kg_status kg__model_folder_fill(kg_folder *folder, const kg_model_parts *parts, kg_error *error) {
    struct filling filling = {.folder = folder, .files = json_object()};
    kg_status status = KG_OK;
    KG_CHECK(fill(&filling, parts, error));
    KG_CHECK(describe_terms(parts, error));
    KG_CHECK(kg__config_seal(parts->config, filling.files, error));
    KG_CHECK(kg__folder_add(folder, &filling.output, KG_MODEL_CONFIG, error));
    status = kg__json_write(parts->config, filling.output, error);
done:
    json_decref(filling.files);
    return status;
}

/* ---- Calibrations ---- */

const char *kg__model_calibration_file(const json_t *config) {
    return kg__config_lists(config, KG_MODEL_CALIBRATION)         ? KG_MODEL_CALIBRATION
           : kg__config_lists(config, KG_MODEL_OTHER_CALIBRATION) ? KG_MODEL_OTHER_CALIBRATION
                                                                  : NULL;
}

/* Removes whatever has the name, unless it is a folder. */
static kg_status remove_file(const char *path, kg_error *error) {
    bool is_gone = unlink(path) == 0 || errno == ENOENT;
    return is_gone ? KG_OK : kg__fail_errno(error, path, "remove it");
}

/* A file that a model gets later, and who writes it. */
struct addition {
    const char *name;
    const char *old; /* a file that it takes the place of, or NULL */
    kg_status (*write)(kg_output *output, const struct addition *addition, kg_error *error);
    const real *values;
    size_t count;
    size_t dim;
    const char *checksum;
};

/* Writes a file under a name that the config does not list, so that it is not used yet; then a
 * single rename replaces the config by one that lists it. Each file is durable
 * before the next one is put in place. */
static kg_status put_file(const char *folder, json_t *config, const struct addition *addition,
                          kg_error *error) {
    json_t *files = json_object_get(config, "files");
    const char *name = addition->name;
    const char *old = addition->old;
    char *paths[] = {kg__path_join(folder, name), kg__path_join(folder, KG_MODEL_CONFIG),
                     kg__path_join(folder, old == NULL ? name : old)};
    kg_output *outputs[2] = {NULL};
    bool has_paths = paths[0] != NULL && paths[1] != NULL && paths[2] != NULL;
    kg_status status = KG_OK;
    KG_CHECK(has_paths ? KG_OK : kg__fail_memory(error));
    KG_CHECK(remove_file(paths[0], error)); /* it might not be a regular file */
    KG_CHECK(kg__output_open(&outputs[0], paths[0], paths[0], error));
    KG_CHECK(addition->write(outputs[0], addition, error));
    KG_CHECK(kg__output_finish(outputs[0], error));
    if (old != NULL)
        json_object_del(files, old);
    KG_CHECK(kg__config_describe(files, name, outputs[0], error));
    KG_CHECK(kg__config_seal(config, files, error));
    KG_CHECK(kg__output_open(&outputs[1], paths[1], paths[1], error));
    KG_CHECK(kg__json_write(config, outputs[1], error));
    KG_CHECK(kg__output_finish(outputs[1], error));
    for (size_t i = 0; i < 2; i++) {
        KG_CHECK(kg__output_place(outputs[i], paths[i], error));
        KG_CHECK(kg__sync_folder(folder, error));
    }
    if (old != NULL)
        status = remove_file(paths[2], error);
done:
    for (size_t i = 0; i < 2; i++)
        kg__output_close(outputs[i]);
    for (size_t i = 0; i < 3; i++)
        kg__free(paths[i]);
    return status;
}

static kg_status put_calibration(kg_output *output, const struct addition *addition,
                                 kg_error *error) {
    return write_calibration(output, addition->values, addition->count, error);
}

kg_status kg__model_write_calibration(const char *path, const real *values, size_t relation_count,
                                      json_t *about, kg_error *error) {
    json_t *config = NULL;
    KG_TRY(kg__config_read(&config, path, error));
    json_int_t relations = json_integer_value(json_object_get(config, "relations"));
    kg_status status = kg__config_check_sizes(config, path, error);
    if (status == KG_OK && relations != (json_int_t)relation_count)
        status = kg_fail_at(
            error, path, 0, 0,
            "expected a model of %zu relations to calibrate, found %" JSON_INTEGER_FORMAT,
            relation_count, relations);
    json_object_del(config, KG_CALIBRATION_KEY);
    if (about != NULL && json_object_set(config, KG_CALIBRATION_KEY, about) != 0)
        status = kg__fail_memory(error);
    KG_CHECK(status);
    kg__folder_sweep(path, kg__model_files);
    /* In two steps if there is one already, so that it has its usual name in the end. */
    struct addition addition = {.name = KG_MODEL_OTHER_CALIBRATION,
                                .old = kg__model_calibration_file(config),
                                .write = put_calibration,
                                .values = values,
                                .count = relation_count};
    if (kg__config_lists(config, KG_MODEL_CALIBRATION))
        KG_CHECK(put_file(path, config, &addition, error));
    addition.name = KG_MODEL_CALIBRATION;
    addition.old = kg__model_calibration_file(config);
    status = put_file(path, config, &addition, error);
done:
    json_decref(config);
    return status;
}

/* ---- Quantised rows ---- */

static kg_status put_quantized(kg_output *output, const struct addition *addition,
                               kg_error *error) {
    return kg__quantized_rows_write(output, addition->values, addition->count, addition->dim,
                                    addition->checksum, error);
}

kg_status kg__model_drop_quantized(const char *path, kg_error *error) {
    json_t *config = NULL;
    kg_output *output = NULL;
    kg_status status = KG_OK;
    char *paths[] = {kg__path_join(path, KG_MODEL_QUANTIZED), kg__path_join(path, KG_MODEL_CONFIG)};
    KG_CHECK(paths[0] == NULL || paths[1] == NULL ? kg__fail_memory(error) : KG_OK);
    KG_CHECK(kg__config_read(&config, path, error));
    if (!kg__config_lists(config, KG_MODEL_QUANTIZED))
        goto done;
    json_t *files = json_object_get(config, "files");
    json_object_del(files, KG_MODEL_QUANTIZED);
    KG_CHECK(kg__config_seal(config, files, error));
    KG_CHECK(kg__output_open(&output, paths[1], paths[1], error));
    KG_CHECK(kg__json_write(config, output, error));
    KG_CHECK(kg__output_commit(output, error));
    status = remove_file(paths[0], error);
done:
    kg__output_close(output);
    json_decref(config);
    kg__free(paths[0]);
    kg__free(paths[1]);
    return status;
}

kg_status kg__model_write_quantized(const char *path, const kg_params *params, size_t entities,
                                    kg_error *error) {
    json_t *config = NULL;
    KG_TRY(kg__config_read(&config, path, error));
    const struct addition addition = {.name = KG_MODEL_QUANTIZED,
                                      .write = put_quantized,
                                      .values = kg__entity_rows(params, 0, entities),
                                      .count = entities,
                                      .dim = params->dim,
                                      .checksum = kg__config_checksum(config, KG_MODEL_TENSORS)};
    kg__folder_sweep(path, kg__model_files);
    kg_status status = put_file(path, config, &addition, error);
    json_decref(config);
    return status;
}
