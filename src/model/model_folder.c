/* Writing model folders. */
#include "model/model_folder.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "model/config.h"
#include "model/mapped_index.h"
#include "model/term.h"
#include "terms/features/features_file.h"

const char *const kg__model_files[] = {KG_MODEL_CONFIG,      KG_MODEL_TENSORS,
                                       KG_MODEL_ENTITIES,    KG_MODEL_RELATIONS,
                                       KG_MODEL_NAMES,       KG_MODEL_KNOWN,
                                       KG_MODEL_FAILURE,     KG_CHECKPOINT,
                                       KG_MODEL_CALIBRATION, KG_MODEL_OTHER_CALIBRATION,
                                       KG_MODEL_FEATURES,    NULL};

/* What terms have learned. */
static kg_status list_term(kg_tensor *out, size_t *count, const kg_params *params, size_t number,
                           kg_arena *arena, kg_error *error) {
    const kg_term_view *view = &params->terms[number];
    kg_term_param about[KG_MOST_TERM_PARAMS];
    size_t listed = view->counted == NULL ? 0 : kg__terms[number]->params(about, view);
    for (size_t i = 0; i < listed; i++)
        out[*count + i] =
            (kg_tensor){about[i].name, view->values[i], about[i].rows, about[i].columns};
    if (listed > 0 && kg__terms[number]->pack != NULL)
        KG_TRY(kg__terms[number]->pack(out + *count, view, arena, error));
    *count += listed;
    return KG_OK;
}

#define MOST_TENSORS (4 + KG_ENCODER_TENSORS + KG_MOST_TERMS * KG_MOST_TERM_PARAMS)

static kg_status list_tensors(kg_tensor *out, size_t *count, const kg_params *params,
                              size_t entities, size_t relations, kg_arena *arena, kg_error *error) {
    const kg_encoder *encoder = params->encoder;
    const kg_graft *graft = params->graft;
    size_t relation_rows = params->is_directed ? 2 * relations : relations;
    out[0] = (kg_tensor){"entities", params->entities, entities, params->dim};
    out[1] = (kg_tensor){"relations", params->relations, relation_rows, params->dim};
    *count = 2;
    if (params->aggregate_relations != NULL)
        out[(*count)++] = (kg_tensor){"aggregate_relations", params->aggregate_relations,
                                      relation_rows, params->dim};
    if (graft != NULL)
        KG_TRY(kg__pairs_pack(&out[(*count)++], "weights", &graft->weighted, graft->weights, arena,
                              error));
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        KG_TRY(list_term(out, count, params, i, arena, error));
    for (size_t i = 0; i < KG_ENCODER_TENSORS && encoder != NULL; i++) {
        if (encoder->tensors[i] == NULL)
            continue;
        out[*count] = kg__encoder_describe(&encoder->shape, (kg_encoder_tensor)i);
        out[(*count)++].values = encoder->tensors[i];
    }
    return KG_OK;
}

/* Those without rows are left out. */
static kg_status write_tensors(kg_output *output, const kg_params *params, size_t entities,
                               size_t relations, kg_error *error) {
    kg_tensor tensors[MOST_TENSORS];
    size_t count = 0;
    size_t kept = 0;
    kg_arena arena = {0};
    kg_status status = list_tensors(tensors, &count, params, entities, relations, &arena, error);
    for (size_t i = 0; i < count; i++)
        if (tensors[i].rows > 0)
            tensors[kept++] = tensors[i];
    if (status == KG_OK)
        status = kg__safetensors_write(output, tensors, kept, NULL, error);
    kg__arena_free(&arena);
    return status;
}

static kg_status write_calibration(kg_output *output, const real *values, size_t relation_count,
                                   kg_error *error) {
    const kg_tensor tensor = {"calibration", values, 2 * relation_count, 2};
    KG_TRY(kg__tensor_check(&tensor, "", error));
    KG_TRY(kg__safetensors_write(output, &tensor, 1, NULL, error));
    kg__output_end_head(output); /* all of it is read when the model is opened */
    return KG_OK;
}

/* The term that has a file; NULL if it is none's. */
static const kg_term *find_term(const char *file, size_t *number) {
    for (*number = 0; kg__terms[*number] != NULL; ++*number)
        if (kg__terms[*number]->file != NULL && strcmp(kg__terms[*number]->file, file) == 0)
            break;
    return kg__terms[*number];
}

static kg_status write_contents(kg_output *output, const char *name, const kg_model_parts *from,
                                kg_error *error) {
    size_t entities = kg__dataset_in_sample(from->dataset);
    size_t relations = from->dataset->in_sample_relations;
    size_t number = 0;
    const kg_term *term = find_term(name, &number);
    if (term != NULL)
        return term->write(output, &from->params->terms[number], error);
    if (strcmp(name, KG_MODEL_ENTITIES) == 0)
        return kg__names_write(output, &from->dataset->entities, entities, error);
    if (strcmp(name, KG_MODEL_RELATIONS) == 0)
        return kg__names_write(output, &from->dataset->relations, relations, error);
    if (strcmp(name, KG_MODEL_NAMES) == 0)
        return kg__names_index_write(output, &from->dataset->entities, entities,
                                     &from->dataset->relations, relations, error);
    if (strcmp(name, KG_MODEL_KNOWN) == 0)
        return kg__known_facts_write(output, &from->dataset->parts[KG_TRAIN], entities, error);
    if (strcmp(name, KG_MODEL_CALIBRATION) == 0)
        return write_calibration(output, from->calibration, relations, error);
    return write_tensors(output, from->params, entities, relations, error);
}

/* The files beside config.json. */
static const char *const part_files[] = {KG_MODEL_TENSORS,    KG_MODEL_ENTITIES, KG_MODEL_RELATIONS,
                                         KG_MODEL_NAMES,      KG_MODEL_KNOWN,    KG_MODEL_FEATURES,
                                         KG_MODEL_CALIBRATION};
enum { PART_FILES = sizeof part_files / sizeof part_files[0] };

/* known.bin, files of terms and the calibration are optional. */
static bool is_part(const kg_model_parts *parts, const char *name) {
    size_t number = 0;
    if (strcmp(name, KG_MODEL_KNOWN) == 0)
        return parts->dataset->parts[KG_TRAIN].count > 0;
    if (find_term(name, &number) != NULL)
        return kg__term_is_on(parts->params, number);
    return strcmp(name, KG_MODEL_CALIBRATION) != 0 || parts->calibration != NULL;
}

kg_status kg__model_folder_start(kg_folder **out, const char *path, bool replace, kg_error *error) {
    return kg__folder_start(out, path, replace, kg__model_files, error);
}

kg_status kg__model_folder_fill(kg_folder *folder, const kg_model_parts *parts, kg_error *error) {
    json_t *files = json_object();
    kg_output *output = NULL;
    kg_status status = KG_OK;
    for (size_t i = 0; i < PART_FILES; i++) {
        if (!is_part(parts, part_files[i]))
            continue;
        KG_CHECK(kg__folder_add(folder, &output, part_files[i], error));
        KG_CHECK(write_contents(output, part_files[i], parts, error));
        KG_CHECK(kg__output_finish(output, error));
        KG_CHECK(kg__config_describe(files, part_files[i], output, error));
    }
    KG_CHECK(kg__config_seal(parts->config, files, error));
    KG_CHECK(kg__folder_add(folder, &output, KG_MODEL_CONFIG, error));
    status = kg__json_write(parts->config, output, error);
done:
    json_decref(files);
    return status;
}

kg_status kg__model_write(const char *path, bool replace, const kg_model_parts *parts,
                          kg_error *error) {
    kg_folder *folder = NULL;
    KG_TRY(kg__model_folder_start(&folder, path, replace, error));
    kg_status status = kg__model_folder_fill(folder, parts, error);
    if (status == KG_OK)
        status = kg__folder_commit(folder, error);
    kg__folder_close(folder);
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

/* Writes the calibration under a name that the config does not list, so that it is not used yet;
 * then a single rename replaces the config by one that lists it. Each file is durable before the
 * next one is put in place. */
static kg_status put_calibration(const char *folder, const char *name, json_t *config,
                                 const real *values, size_t relation_count, kg_error *error) {
    json_t *files = json_object_get(config, "files");
    const char *old = kg__model_calibration_file(config);
    char *paths[] = {kg__path_join(folder, name), kg__path_join(folder, KG_MODEL_CONFIG),
                     kg__path_join(folder, old == NULL ? name : old)};
    kg_output *outputs[2] = {NULL};
    bool has_paths = paths[0] != NULL && paths[1] != NULL && paths[2] != NULL;
    kg_status status = KG_OK;
    KG_CHECK(has_paths ? KG_OK : kg__fail_memory(error));
    KG_CHECK(remove_file(paths[0], error)); /* it might not be a regular file */
    KG_CHECK(kg__output_open(&outputs[0], paths[0], paths[0], error));
    KG_CHECK(write_calibration(outputs[0], values, relation_count, error));
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

/* In two steps if there is one already, so that it has its usual name in the end. */
static kg_status replace_calibration(const char *path, json_t *config, const real *values,
                                     size_t relation_count, kg_error *error) {
    kg__folder_sweep(path, kg__model_files);
    if (kg__config_lists(config, KG_MODEL_CALIBRATION))
        KG_TRY(put_calibration(path, KG_MODEL_OTHER_CALIBRATION, config, values, relation_count,
                               error));
    return put_calibration(path, KG_MODEL_CALIBRATION, config, values, relation_count, error);
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
    if (status == KG_OK)
        status = replace_calibration(path, config, values, relation_count, error);
    json_decref(config);
    return status;
}
