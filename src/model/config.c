/* Descriptions of files, and their verification. */
#include "model/config.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"

/* Since version 2 the checksum is mandatory, since damage to its key would disable it. */
#define FIRST_VERSION 1
#define VERSION 2

/* ---- Writing ---- */

static json_t *pack(uint64_t size, kg_checksum checksum) {
    return json_pack("{sI ss}", "bytes", (json_int_t)size, "xxh3", checksum.text);
}

kg_status kg__config_describe(json_t *files, const char *name, const kg_output *output,
                              kg_error *error) {
    json_t *about = pack(kg__output_size(output), kg__output_checksum(output));
    uint64_t head = kg__output_head_size(output);
    bool good = json_object_set_new(files, name, about) == 0;
    if (good && head > 0)
        good =
            json_object_set_new(about, "head", pack(head, kg__output_head_checksum(output))) == 0;
    return good ? KG_OK : kg__fail_memory(error);
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
                          kg__json_kind(expected));
    return kg__json_verify(config, path, error);
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

kg_status kg__stat_file(struct stat *out, const char *folder, const char *name, kg_error *error) {
    char *path = kg__path_join(folder, name);
    if (path == NULL)
        return kg__fail_memory(error);
    if (stat(path, out) != 0)
        *out = (struct stat){0};
    kg__free(path);
    return KG_OK;
}

static kg_status check_size(const json_t *about, const char *folder, const char *name,
                            kg_error *error) {
    json_int_t size = json_integer_value(json_object_get(about, "bytes"));
    struct stat info;
    KG_TRY(kg__stat_file(&info, folder, name, error));
    if (S_ISREG(info.st_mode) && info.st_size == size)
        return KG_OK;
    char found[64] = "none";
    if (S_ISREG(info.st_mode))
        snprintf(found, sizeof found, "%jd bytes instead of %jd", (intmax_t)info.st_size,
                 (intmax_t)size);
    else if (info.st_mode != 0)
        snprintf(found, sizeof found, "something that is no file");
    return kg_fail_at(error, folder, 0, 0, "expected %s as config.json describes it, found %s",
                      kg__quote(name, strlen(name)).text, found);
}

kg_status kg__config_check_sizes(const json_t *config, const char *folder, kg_error *error) {
    const char *name = NULL;
    json_t *about = NULL;
    json_object_foreach(json_object_get(config, "files"), name, about) {
        KG_TRY(check_size(about, folder, name, error));
    }
    return KG_OK;
}

kg_status kg__config_check_settings(const json_t *settings, const char *path, kg_error *error) {
    if (json_object_get(settings, "evidence") == NULL)
        return KG_OK;
    return kg_fail_at(
        error, path, 0, 0,
        "expected a model without counted features, found \"evidence\" in its "
        "settings, as of an older version: train it again (kgraft train DATASET MODEL)");
}

/* Fails with what the path is if it is no model directory. */
static kg_status check_folder(const char *folder, kg_error *error) {
    struct stat info;
    struct stat dataset;
    if (stat(folder, &info) != 0)
        return kg__fail_errno(error, folder, "open it");
    if (!S_ISDIR(info.st_mode))
        return kg_fail_at(error, folder, 0, 0, "expected a model directory, found a file");
    KG_TRY(kg__stat_file(&info, folder, KG_MODEL_CONFIG, error));
    KG_TRY(kg__stat_file(&dataset, folder, "dataset.json", error));
    if (info.st_mode != 0)
        return KG_OK;
    return kg_fail_at(error, folder, 0, 0, "expected a model directory, found %s",
                      dataset.st_mode != 0
                          ? "a data set (kgraft train DATASET MODEL makes a model of it)"
                          : "one without " KG_MODEL_CONFIG);
}

static kg_status open_input(kg_input **out, const char *folder, const char *name, kg_error *error) {
    char *path = kg__path_join(folder, name);
    if (path == NULL)
        return kg__fail_memory(error);
    int fd = -1;
    kg_status status = kg__open_regular(&fd, path, error);
    if (status == KG_OK)
        status = kg__input_from_fd(out, fd, path, KG_PLAIN, error);
    kg__free(path);
    return status;
}

kg_status kg__config_read(json_t **out, const char *folder, kg_error *error) {
    kg_input *input = NULL;
    KG_TRY(check_folder(folder, error));
    KG_TRY(open_input(&input, folder, KG_MODEL_CONFIG, error));
    json_t *config = NULL;
    kg_status status = kg__json_read(&config, input, error);
    if (status == KG_OK)
        status = check_shape(config, kg__input_name(input), error);
    if (status == KG_OK)
        *out = json_incref(config);
    json_decref(config);
    kg__input_close(input);
    return status;
}

bool kg__config_lists(const json_t *config, const char *name) {
    return describe(config, name) != NULL;
}

const char *kg__config_checksum(const json_t *config, const char *name) {
    const char *checksum = json_string_value(json_object_get(describe(config, name), "xxh3"));
    return checksum == NULL ? "" : checksum;
}

static kg_status check_listed(const json_t *config, const char *folder, const char *name,
                              kg_error *error) {
    if (kg__config_lists(config, name))
        return KG_OK;
    return kg_fail_at(error, folder, 0, 0, "expected a model with %s among its files, found none",
                      name);
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
    KG_TRY(check_listed(config, folder, name, error));
    char *path = kg__path_join(folder, name);
    if (path == NULL)
        return kg__fail_memory(error);
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
    KG_TRY(check_listed(config, folder, name, error));
    return open_input(out, folder, name, error);
}

kg_status kg__config_check_read(const json_t *config, const char *name, const kg_input *input,
                                kg_error *error) {
    const char *expected = json_string_value(json_object_get(describe(config, name), "xxh3"));
    kg_checksum found = kg__input_checksum(input);
    if (expected == NULL || strcmp(expected, found.text) == 0)
        return KG_OK;
    return kg_fail_at(error, kg__input_name(input), 0, 0,
                      "expected what has the checksum %s, found %s: it is damaged",
                      kg__quote(expected, strlen(expected)).text, found.text);
}
