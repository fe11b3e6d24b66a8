/* Files that something else describes, files that describe themselves, and folders of both. */
#include "model/files_check.h"

#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/text.h"
#include "graph/dataset_folder.h"
#include "model/model.h"
#include "model/model_folder.h"

#define CHUNK ((size_t)1 << 20)

struct check {
    kg_on_checked on_file;
    void *payload;
    const kg_progress *progress;
    kg_error *first; /* what the caller gets to see; may be NULL */
    kg_status status;
    char *chunk;
};

/* Notes what was found of a file. A failure that is not the file's own ends it all. */
static kg_status note(struct check *check, kg_checked_file *file, kg_status status,
                      const kg_error *problem) {
    bool is_damage = status == KG_BAD_INPUT || status == KG_SYSTEM;
    if (status != KG_OK && check->status == KG_OK) {
        check->status = status;
        if (check->first != NULL)
            *check->first = *problem;
    }
    file->problem = is_damage ? problem : NULL;
    if (check->on_file != NULL && (status == KG_OK || is_damage))
        check->on_file(check->payload, file);
    return is_damage ? KG_OK : status;
}

/* ---- Files that something else describes ---- */

static kg_status read_input(struct check *check, kg_input *input, kg_error *error) {
    for (size_t got = CHUNK; got == CHUNK;) {
        kg_progress_report report = {.stage = "checking",
                                     .unit = "bytes",
                                     .done = kg__input_position(input),
                                     .total = kg__input_total(input)};
        KG_TRY(kg__progress_tick(check->progress, &report, error));
        KG_TRY(kg__input_read(input, check->chunk, CHUNK, &got, error));
    }
    return KG_OK;
}

static kg_status hash_file(struct check *check, kg_checked_file *file, kg_checksum *out,
                           kg_error *error) {
    int fd = -1;
    kg_input *input = NULL;
    KG_TRY(kg__open_regular(&fd, file->path, error));
    KG_TRY(kg__input_from_fd(&input, fd, file->path, KG_PLAIN, error));
    kg_status status = read_input(check, input, error);
    file->bytes = kg__input_position(input);
    *out = kg__input_checksum(input);
    kg__input_close(input);
    return status;
}

static bool has_tensors(const char *path) {
    static const char end[] = ".safetensors";
    size_t length = strlen(path);
    return length >= strlen(end) && strcmp(path + length - strlen(end), end) == 0;
}

static kg_status check_numbers(kg_checked_file *file, kg_error *error) {
    kg_safetensors *tensors = NULL;
    if (!has_tensors(file->path))
        return KG_OK;
    KG_TRY(kg__safetensors_open(&tensors, file->path, error));
    kg_status status = kg__safetensors_check_numbers(tensors, &file->numbers, error);
    kg__safetensors_close(tensors);
    return status;
}

/* Holds a file against its description: its size, and a checksum where there is one. */
static kg_status check_described(struct check *check, kg_checked_file *file, const json_t *about,
                                 kg_error *error) {
    kg_checksum found;
    const json_t *bytes = json_object_get(about, "bytes");
    const char *told = json_string_value(json_object_get(about, "xxh3"));
    KG_TRY(hash_file(check, file, &found, error));
    if (json_is_integer(bytes) && json_integer_value(bytes) != (json_int_t)file->bytes)
        return kg_fail_at(error, file->path, 0, 0, "expected %jd bytes, found %ju",
                          (intmax_t)json_integer_value(bytes), (uintmax_t)file->bytes);
    if (told != NULL && strcmp(told, found.text) != 0)
        return kg_fail_at(error, file->path, 0, 0,
                          "expected what has the checksum %s, found %s: it is damaged",
                          kg__quote(told, strlen(told)).text, found.text);
    file->is_verified = told != NULL;
    return check_numbers(file, error);
}

static kg_status check_files(struct check *check, const char *folder, json_t *files) {
    const char *name = NULL;
    json_t *about = NULL;
    json_object_foreach(files, name, about) {
        kg_error problem = {0};
        char *path = kg__path_join(folder, name);
        kg_checked_file file = {.path = path};
        kg_status status = path == NULL ? kg__fail_memory(&problem)
                                        : check_described(check, &file, about, &problem);
        status = note(check, &file, status, &problem);
        kg__free(path);
        KG_TRY(status);
    }
    return KG_OK;
}

/* ---- Files that describe themselves ---- */

/* The size of a file, if it is there. */
static uint64_t size_of(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static kg_status verify_checkpoint(kg_checked_file *file, kg_error *error) {
    kg_safetensors *tensors = NULL;
    KG_TRY(kg__safetensors_open(&tensors, file->path, error));
    kg_status status = KG_OK;
    if (kg__safetensors_note(tensors) == NULL)
        status = kg_fail_at(error, file->path, 0, 0,
                            "expected a model, a data set or a checkpoint of kgraft, found another "
                            "safetensors file");
    if (status == KG_OK)
        status = kg__safetensors_verify(tensors, error);
    file->is_verified = status == KG_OK;
    if (status == KG_OK)
        status = kg__safetensors_check_numbers(tensors, &file->numbers, error);
    kg__safetensors_close(tensors);
    return status;
}

static kg_status check_checkpoint(struct check *check, const char *path) {
    kg_error problem = {0};
    kg_checked_file file = {.path = path, .bytes = size_of(path)};
    kg_status status = verify_checkpoint(&file, &problem);
    return note(check, &file, status, &problem);
}

/* A JSON object with its own checksum, if it has one; its text was read already. */
static kg_status check_object(kg_checked_file *file, json_t *object, kg_error *error) {
    const char *told = json_string_value(json_object_get(object, "checksum"));
    kg_checksum found;
    if (told == NULL)
        return KG_OK;
    KG_TRY(kg__json_checksum(&found, object, error));
    if (strcmp(told, found.text) != 0)
        return kg_fail_at(error, file->path, 0, 0,
                          "expected what has the checksum %s, found %s: it was changed since",
                          kg__quote(told, strlen(told)).text, found.text);
    file->is_verified = true;
    return KG_OK;
}

/* Reads config.json or dataset.json. NULL if it is damaged: then nothing is known of the rest. */
static kg_status check_about(struct check *check, json_t **out, const char *folder,
                             const char *path,
                             kg_status (*read)(json_t **out, const char *folder, kg_error *error)) {
    kg_error problem = {0};
    kg_checked_file file = {.path = path, .bytes = size_of(path)};
    kg_status status = read(out, folder, &problem);
    if (status == KG_OK)
        status = check_object(&file, *out, &problem);
    if (status != KG_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return note(check, &file, status, &problem);
}

/* ---- Folders ---- */

/* What no checksum tells: whether the parts of a model fit together. */
static kg_status check_whole(struct check *check, const char *folder) {
    kg_error problem = {0};
    kg_model model;
    kg_checked_file file = {.path = folder};
    kg_status status = kg__model_open(&model, folder, &problem);
    for (kg_id v = 0; status == KG_OK && v < model.entities.count; v++) {
        const kg_link *links = NULL;
        size_t count = 0;
        status = kg__known_facts_links(&model.known, v, &links, &count, &problem);
    }
    kg__model_close(&model);
    return status == KG_OK ? KG_OK : note(check, &file, status, &problem);
}

static kg_status check_model(struct check *check, const char *folder, const char *config_path,
                             const char *checkpoint) {
    json_t *config = NULL;
    struct stat info;
    kg_status status = check_about(check, &config, folder, config_path, kg__config_read_alone);
    if (status == KG_OK && config != NULL)
        status = check_files(check, folder, json_object_get(config, "files"));
    if (status == KG_OK && check->status == KG_OK)
        status = check_whole(check, folder);
    if (status == KG_OK && stat(checkpoint, &info) == 0)
        status = check_checkpoint(check, checkpoint);
    json_decref(config);
    return status;
}

static kg_status check_dataset(struct check *check, const char *folder, const char *about_path) {
    json_t *about = NULL;
    kg_status status = check_about(check, &about, folder, about_path, kg__dataset_json_read);
    if (status == KG_OK && about != NULL)
        status = check_files(check, folder, json_object_get(about, "files"));
    json_decref(about);
    return status;
}

static kg_status check_folder(struct check *check, const char *folder, kg_error *error) {
    char *config = kg__path_join(folder, KG_MODEL_CONFIG);
    char *dataset = kg__path_join(folder, KG_DATASET_JSON);
    char *checkpoint = kg__path_join(folder, KG_CHECKPOINT);
    struct stat info;
    kg_status status = KG_OK;
    if (config == NULL || dataset == NULL || checkpoint == NULL)
        status = kg__fail_memory(error);
    else if (stat(config, &info) == 0)
        status = check_model(check, folder, config, checkpoint);
    else if (stat(dataset, &info) == 0)
        status = check_dataset(check, folder, dataset);
    else if (stat(checkpoint, &info) == 0)
        status = check_checkpoint(check, checkpoint);
    else
        status = kg_fail_at(
            error, folder, 0, 0,
            "expected a model, a data set or a checkpoint of kgraft, found none of " KG_MODEL_CONFIG
            ", " KG_DATASET_JSON " and " KG_CHECKPOINT);
    kg__free(config);
    kg__free(dataset);
    kg__free(checkpoint);
    return status;
}

kg_status kg__files_check(const char *path, kg_on_checked on_file, void *payload,
                          const kg_progress *progress, kg_error *error) {
    struct check check = {
        .on_file = on_file, .payload = payload, .progress = progress, .first = error};
    struct stat info;
    if (stat(path, &info) != 0)
        return kg__fail_errno(error, path, "open it");
    if (!S_ISDIR(info.st_mode) && !has_tensors(path))
        return kg_fail_at(
            error, path, 0, 0,
            "expected the directory of a model or data set, or a checkpoint, which is "
            "a .safetensors file, found another file");
    check.chunk = kg__resize(NULL, CHUNK, 1);
    if (check.chunk == NULL)
        return kg__fail_memory(error);
    kg_status status =
        S_ISDIR(info.st_mode) ? check_folder(&check, path, error) : check_checkpoint(&check, path);
    kg__free(check.chunk);
    return status == KG_OK ? check.status : status;
}
