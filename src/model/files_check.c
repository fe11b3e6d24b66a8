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
    const char *folder; /* NULL for a file alone */
    json_t *about;      /* config.json or dataset.json of the folder */
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

/* ---- Files ---- */

typedef kg_status checker(struct check *check, const char *name, kg_checked_file *file,
                          kg_error *error);

/* Checks a file of the folder, if there is one, in one of the ways below. */
static kg_status check_file(struct check *check, const char *name, checker *way) {
    kg_error problem = {0};
    char *path = check->folder == NULL ? kg__copy_string(name, strlen(name))
                                       : kg__path_join(check->folder, name);
    struct stat info = {0};
    kg_checked_file file = {.path = path};
    if (path != NULL && stat(path, &info) == 0)
        file.bytes = (uint64_t)info.st_size;
    kg_status status = path == NULL ? kg__fail_memory(&problem) : way(check, name, &file, &problem);
    status = note(check, &file, status, &problem);
    kg__free(path);
    return status;
}

static bool has_tensors(const char *path) {
    static const char end[] = ".safetensors";
    size_t length = strlen(path);
    return length >= strlen(end) && strcmp(path + length - strlen(end), end) == 0;
}

static kg_status verify_checkpoint(kg_checked_file *file, const kg_safetensors *tensors,
                                   kg_error *error) {
    if (kg__safetensors_note(tensors) == NULL)
        return kg_fail_at(error, file->path, 0, 0,
                          "expected a model, a data set or a checkpoint of kgraft, found another "
                          "safetensors file");
    KG_TRY(kg__safetensors_verify(tensors, error));
    file->is_verified = true;
    return KG_OK;
}

static kg_status check_tensors(kg_checked_file *file, bool is_checkpoint, kg_error *error) {
    kg_safetensors tensors;
    KG_TRY(kg__safetensors_open(&tensors, file->path, error));
    kg_status status = is_checkpoint ? verify_checkpoint(file, &tensors, error) : KG_OK;
    if (status == KG_OK)
        status = kg__safetensors_check_numbers(&tensors, &file->numbers, error);
    kg__safetensors_close(&tensors);
    return status;
}

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

/* A file that the folder describes: its size, and a checksum where there is one. */
static kg_status check_described(struct check *check, const char *name, kg_checked_file *file,
                                 kg_error *error) {
    const json_t *about = json_object_get(json_object_get(check->about, "files"), name);
    const json_t *bytes = json_object_get(about, "bytes");
    kg_input *input = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__config_open(&input, check->about, check->folder, name, error));
    KG_CHECK(read_input(check, input, error));
    file->bytes = kg__input_position(input);
    if (json_is_integer(bytes) && json_integer_value(bytes) != (json_int_t)file->bytes)
        KG_CHECK(kg_fail_at(error, file->path, 0, 0, "expected %jd bytes, found %ju",
                            (intmax_t)json_integer_value(bytes), (uintmax_t)file->bytes));
    KG_CHECK(kg__config_check_read(check->about, name, input, error));
    file->is_verified = json_is_string(json_object_get(about, "xxh3"));
    if (has_tensors(name))
        status = check_tensors(file, false, error);
done:
    kg__input_close(input);
    return status;
}

static kg_status check_checkpoint(struct check *check, const char *name, kg_checked_file *file,
                                  kg_error *error) {
    (void)check;
    (void)name;
    return check_tensors(file, true, error);
}

/* Reads config.json or dataset.json, which may have its own checksum. */
static kg_status check_about(struct check *check, const char *name, kg_checked_file *file,
                             kg_error *error) {
    bool is_model = strcmp(name, KG_MODEL_CONFIG) == 0;
    KG_TRY(is_model ? kg__config_read(&check->about, check->folder, error)
                    : kg__dataset_json_read(&check->about, check->folder, error));
    if (!json_is_string(json_object_get(check->about, "checksum")))
        return KG_OK;
    KG_TRY(kg__json_verify(check->about, file->path, error));
    file->is_verified = true;
    return KG_OK;
}

/* ---- Folders ---- */

/* What no checksum tells: whether the parts of a model fit together. */
static kg_status check_whole(struct check *check) {
    kg_error problem = {0};
    kg_model model;
    kg_checked_file file = {.path = check->folder};
    kg_status status = kg__model_open(&model, check->folder, &problem);
    for (kg_id v = 0; status == KG_OK && v < model.entities.count; v++) {
        const kg_link *links = NULL;
        size_t count = 0;
        status = kg__known_facts_links(&model.known, v, &links, &count, &problem);
    }
    kg__model_close(&model);
    return status == KG_OK ? KG_OK : note(check, &file, status, &problem);
}

/* config.json or dataset.json, and what it describes, unless it is damaged itself. */
static kg_status check_described_folder(struct check *check, const char *about) {
    const char *name = NULL;
    json_t *file = NULL;
    KG_TRY(check_file(check, about, check_about));
    if (check->status != KG_OK)
        return KG_OK;
    json_object_foreach(json_object_get(check->about, "files"), name, file) {
        KG_TRY(check_file(check, name, check_described));
    }
    return KG_OK;
}

static kg_status check_folder(struct check *check, kg_error *error) {
    static const char *const names[] = {KG_MODEL_CONFIG, KG_DATASET_JSON, KG_CHECKPOINT,
                                        KG_APART_CHECKPOINT};
    bool has[4];
    for (size_t i = 0; i < 4; i++) {
        struct stat info;
        KG_TRY(kg__stat_file(&info, check->folder, names[i], error));
        has[i] = info.st_mode != 0;
    }
    if (!has[0] && !has[1] && !has[2] && !has[3])
        return kg_fail_at(
            error, check->folder, 0, 0,
            "expected a model, a data set or a checkpoint of kgraft, found none of " KG_MODEL_CONFIG
            ", " KG_DATASET_JSON " and " KG_CHECKPOINT);
    if (!has[0] && has[1])
        return check_described_folder(check, KG_DATASET_JSON);
    if (has[0])
        KG_TRY(check_described_folder(check, KG_MODEL_CONFIG));
    if (has[0] && check->status == KG_OK)
        KG_TRY(check_whole(check));
    for (size_t i = 2; i < 4; i++)
        if (has[i])
            KG_TRY(check_file(check, names[i], check_checkpoint));
    return KG_OK;
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
    check.folder = S_ISDIR(info.st_mode) ? path : NULL;
    kg_status status = check.folder == NULL ? check_file(&check, path, check_checkpoint)
                                            : check_folder(&check, error);
    json_decref(check.about);
    kg__free(check.chunk);
    return status == KG_OK ? check.status : status;
}
