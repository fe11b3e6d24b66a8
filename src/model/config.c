/* Descriptions of files, and their verification. */
#include "model/config.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"

/* Since version 2 the checksum is mandatory, since damage to its key would disable it. */
#define FIRST_VERSION 1
#define VERSION 2

/* ---- Writing ---- */

kg_status kg__config_describe(json_t *files, const char *name, const kg_output *output,
                              kg_error *error) {
    json_t *about = json_pack("{sI ss}", "bytes", (json_int_t)kg__output_size(output), "xxh3",
                              kg__output_checksum(output).text);
    json_t *head = json_pack("{sI ss}", "bytes", (json_int_t)kg__output_head_size(output), "xxh3",
                             kg__output_head_checksum(output).text);
    if (kg__output_head_size(output) == 0)
        json_decref(head);
    else if (json_object_set_new(about, "head", head) != 0) {
        json_decref(about);
        return kg__fail_memory(error);
    }
    return json_object_set_new(files, name, about) == 0 ? KG_OK : kg__fail_memory(error);
}

kg_status kg__config_seal(json_t *config, json_t *files, kg_error *error) {
    if (json_object_set_new(config, "kgraft_model", json_integer(VERSION)) != 0 ||
        json_object_set(config, "files", files) != 0)
        return kg__fail_memory(error);
    return kg__json_seal(config, error);
}

/* ---- Reading ---- */

static kg_status check_checksum(json_t *config, json_int_t version, const char *path,
                                kg_error *error) {
    const json_t *expected = json_object_get(config, "checksum");
    if (expected == NULL && version == FIRST_VERSION)
        return KG_OK;
    if (!json_is_string(expected))
        return kg_fail_at(error, path, 0, 0, "expected the checksum of a model, found %s",
                          expected == NULL ? "none" : kg__json_kind(expected));
    kg_checksum found;
    KG_TRY(kg__json_checksum(&found, config, error));
    if (strcmp(json_string_value(expected), found.text) == 0)
        return KG_OK;
    return kg_fail_at(
        error, path, 0, 0, "expected what has the checksum %s, found %s: it was changed since",
        kg__quote(json_string_value(expected), json_string_length(expected)).text, found.text);
}

/* Whether this is a size and a checksum, of a file or of its head. */
static bool is_description(const json_t *about, json_int_t most, bool needs_checksum) {
    const json_t *bytes = json_object_get(about, "bytes");
    const json_t *checksum = json_object_get(about, "xxh3");
    return json_is_integer(bytes) && json_integer_value(bytes) >= 0 &&
           json_integer_value(bytes) <= most &&
           (json_is_string(checksum) || (checksum == NULL && !needs_checksum));
}

static kg_status check_description(const char *name, const json_t *about, const char *path,
                                   kg_error *error) {
    const json_t *head = json_object_get(about, "head");
    bool good = is_description(about, INT64_MAX, false) && strchr(name, '/') == NULL;
    if (good && head != NULL)
        good = is_description(head, json_integer_value(json_object_get(about, "bytes")), true);
    if (good)
        return KG_OK;
    return kg_fail_at(error, path, 0, 0,
                      "expected sizes and checksums of files in the folder, found others of %s",
                      kg__quote(name, strlen(name)).text);
}

static kg_status check_shape(json_t *config, const char *path, kg_error *error) {
    json_t *files = json_object_get(config, "files");
    const json_t *version = json_object_get(config, "kgraft_model");
    json_int_t number = json_integer_value(version);
    if (!json_is_integer(version) || !json_is_object(files))
        return kg_fail_at(error, path, 0, 0,
                          "expected a model with \"kgraft_model\": %d and \"files\", found none",
                          VERSION);
    if (number < FIRST_VERSION || number > VERSION)
        return kg_fail_at(error, path, 0, 0,
                          "expected a model of version %d to %d, found %" JSON_INTEGER_FORMAT,
                          FIRST_VERSION, VERSION, number);
    KG_TRY(check_checksum(config, number, path, error));
    const char *name = NULL;
    json_t *about = NULL;
    json_object_foreach(files, name, about) {
        KG_TRY(check_description(name, about, path, error));
    }
    return KG_OK;
}

static const json_t *describe(const json_t *config, const char *name) {
    return json_object_get(json_object_get(config, "files"), name);
}

static kg_status check_size(const json_t *config, const char *folder, const char *name,
                            kg_error *error) {
    json_int_t size = json_integer_value(json_object_get(describe(config, name), "bytes"));
    char *path = kg__path_join(folder, name);
    if (path == NULL)
        return kg__fail_memory(error);
    struct stat info = {0};
    bool is_there = stat(path, &info) == 0;
    kg__free(path);
    if (is_there && S_ISREG(info.st_mode) && info.st_size == size)
        return KG_OK;
    char found[64] = "none";
    if (is_there && !S_ISREG(info.st_mode))
        snprintf(found, sizeof found, "something that is no file");
    else if (is_there)
        snprintf(found, sizeof found, "%jd bytes instead of %jd", (intmax_t)info.st_size,
                 (intmax_t)size);
    return kg_fail_at(error, folder, 0, 0, "expected %s as config.json describes it, found %s",
                      kg__quote(name, strlen(name)).text, found);
}

static kg_status check_sizes(const json_t *config, const char *folder, kg_error *error) {
    const char *name = NULL;
    json_t *about = NULL;
    json_object_foreach(json_object_get(config, "files"), name, about) {
        KG_TRY(check_size(config, folder, name, error));
    }
    return KG_OK;
}

static kg_status open_input(kg_input **out, const char *path, kg_error *error) {
    int fd = -1;
    KG_TRY(kg__open_regular(&fd, path, error));
    return kg__input_from_fd(out, fd, path, KG_PLAIN, error);
}

static kg_status exists(bool *found, const char *folder, const char *name, kg_error *error) {
    char *path = kg__path_join(folder, name);
    if (path == NULL)
        return kg__fail_memory(error);
    *found = access(path, F_OK) == 0;
    kg__free(path);
    return KG_OK;
}

/* Fails with what the path is if it is no model directory. */
static kg_status check_folder(const char *folder, kg_error *error) {
    struct stat info;
    bool has_config = false;
    bool has_dataset = false;
    if (stat(folder, &info) != 0)
        return kg__fail_errno(error, folder, "open it");
    if (!S_ISDIR(info.st_mode))
        return kg_fail_at(error, folder, 0, 0, "expected a model directory, found a file");
    KG_TRY(exists(&has_config, folder, KG_MODEL_CONFIG, error));
    KG_TRY(exists(&has_dataset, folder, "dataset.json", error));
    if (has_config)
        return KG_OK;
    return kg_fail_at(error, folder, 0, 0, "expected a model directory, found %s",
                      has_dataset ? "a data set (kgraft train DATASET MODEL makes a model of it)"
                                  : "one without " KG_MODEL_CONFIG);
}

kg_status kg__config_stamp_read(kg_config_stamp *out, const char *folder, kg_error *error) {
    char *path = kg__path_join(folder, KG_MODEL_CONFIG);
    struct stat info;
    if (path == NULL)
        return kg__fail_memory(error);
    *out = (kg_config_stamp){0};
    if (stat(path, &info) == 0)
        *out =
            (kg_config_stamp){info.st_dev, info.st_ino, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
    kg__free(path);
    return KG_OK;
}

kg_status kg__config_read_alone(json_t **out, const char *folder, kg_error *error) {
    KG_TRY(check_folder(folder, error));
    char *path = kg__path_join(folder, KG_MODEL_CONFIG);
    if (path == NULL)
        return kg__fail_memory(error);
    kg_input *input = NULL;
    json_t *config = NULL;
    kg_status status = KG_OK;
    KG_CHECK(open_input(&input, path, error));
    KG_CHECK(kg__json_read(&config, input, error));
    KG_CHECK(check_shape(config, path, error));
    *out = json_incref(config);
done:
    json_decref(config);
    kg__input_close(input);
    kg__free(path);
    return status;
}

kg_status kg__config_read(json_t **out, const char *folder, kg_error *error) {
    json_t *config = NULL;
    KG_TRY(kg__config_read_alone(&config, folder, error));
    kg_status status = check_sizes(config, folder, error);
    if (status == KG_OK)
        *out = json_incref(config);
    json_decref(config);
    return status;
}

bool kg__config_lists(const json_t *config, const char *name) {
    return describe(config, name) != NULL;
}

/* The path of a file that the config lists. */
static kg_status find_file(char **path, const json_t *config, const char *folder, const char *name,
                           kg_error *error) {
    if (!kg__config_lists(config, name))
        return kg_fail_at(error, folder, 0, 0,
                          "expected a model with %s among its files, found none", name);
    *path = kg__path_join(folder, name);
    return *path == NULL ? kg__fail_memory(error) : KG_OK;
}

static kg_status check_head(const kg_mapping *mapping, const json_t *head, kg_error *error) {
    if (head == NULL)
        return KG_OK;
    size_t size = (size_t)json_integer_value(json_object_get(head, "bytes"));
    const char *expected = json_string_value(json_object_get(head, "xxh3"));
    if (size <= mapping->size && strcmp(kg__checksum_of(mapping->bytes, size).text, expected) == 0)
        return KG_OK;
    return kg_fail_at(error, mapping->path, 0, 0,
                      "expected the first %zu bytes as config.json describes them, found others",
                      size);
}

kg_status kg__config_map(kg_mapping *out, const json_t *config, const char *folder,
                         const char *name, kg_error *error) {
    char *path = NULL;
    KG_TRY(find_file(&path, config, folder, name, error));
    kg_status status = kg__mapping_open(out, path, error);
    kg__free(path);
    if (status == KG_OK)
        status = check_head(out, json_object_get(describe(config, name), "head"), error);
    if (status != KG_OK)
        kg__mapping_close(out);
    return status;
}

kg_status kg__config_open(kg_input **out, const json_t *config, const char *folder,
                          const char *name, kg_error *error) {
    char *path = NULL;
    KG_TRY(find_file(&path, config, folder, name, error));
    kg_status status = open_input(out, path, error);
    kg__free(path);
    return status;
}

kg_status kg__config_check_read(const json_t *config, const char *name, const kg_input *input,
                                kg_error *error) {
    const char *expected = json_string_value(json_object_get(describe(config, name), "xxh3"));
    if (expected == NULL || strcmp(expected, kg__input_checksum(input).text) == 0)
        return KG_OK;
    return kg_fail_at(error, kg__input_name(input), 0, 0,
                      "expected it as config.json describes it, found something else");
}
