/* Records of runs: from config.json, and to and from files. */
#include "experiment/run_record.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/output_folder.h"
#include "base/path.h"
#include "model/model_folder.h"
#include "train/epoch_history.h"

/* Epochs that were validated, with their MRR alone. */
static json_t *list_validations(const json_t *history) {
    json_t *out = json_array();
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(history, i, item) {
        kg_epoch epoch;
        kg__epoch_read(&epoch, item);
        if (epoch.is_validated &&
            json_array_append_new(out, json_pack("{sI sf}", "epoch", (json_int_t)epoch.number,
                                                 "mrr", epoch.valid.mrr)) != 0)
            return kg__json_complete(out, false);
    }
    return out;
}

static double add_seconds(const json_t *history) {
    double sum = 0;
    size_t i = 0;
    const json_t *item = NULL;
    json_array_foreach(history, i, item) {
        sum += json_number_value(json_object_get(item, "seconds"));
    }
    return sum;
}

static json_t *make_best(const json_t *config, const json_t *history) {
    json_int_t best = json_integer_value(json_object_get(config, "best_epoch"));
    kg_epoch epoch;
    if (best <= 0)
        return NULL;
    kg__history_best(&epoch, history, (uint64_t)best, json_object_get(config, KG_APART_HISTORY));
    return epoch.is_validated ? kg__epoch_json(&epoch) : NULL;
}

/* On which machine it was made, without the rest of what config.json has there. */
static json_t *pack_machine(const json_t *machine) {
    return json_pack("{sO* sO* sO* sO*}", "processor", json_object_get(machine, "processor"),
                     "kernels", json_object_get(machine, "kernels"), "blas",
                     json_object_get(machine, "blas"), "threads",
                     json_object_get(machine, "threads"));
}

json_t *experiment_record_make(const json_t *config) {
    const json_t *history = json_object_get(config, "history");
    const json_t *machine = json_object_get(config, "machine");
    const json_t *file = json_object_get(json_object_get(config, "files"), KG_MODEL_TENSORS);
    double seconds = json_number_value(json_object_get(machine, "preparing")) +
                     add_seconds(history) + add_seconds(json_object_get(config, KG_APART_HISTORY));
    return json_pack("{sO sO sO* sI sf sO* so sO* so* so}", "version",
                     json_object_get(config, "version"), "settings",
                     json_object_get(config, "settings"), "dataset",
                     json_object_get(json_object_get(config, "dataset"), "checksum"), "epochs",
                     (json_int_t)json_array_size(history), "seconds", seconds, "memory",
                     json_object_get(machine, "memory"), "machine", pack_machine(machine), "model",
                     json_object_get(file, "xxh3"), "best", make_best(config, history),
                     "validations", list_validations(history));
}

uint64_t experiment_record_since_best(const json_t *record) {
    json_int_t best = json_integer_value(json_object_get(json_object_get(record, "best"), "epoch"));
    uint64_t count = 0;
    size_t i = 0;
    const json_t *item = NULL;
    json_array_foreach(json_object_get(record, "validations"), i, item) {
        count += json_integer_value(json_object_get(item, "epoch")) > best;
    }
    return count;
}

kg_status experiment_record_read(json_t **out, const char *path, kg_error *error) {
    struct stat about;
    kg_input *input = NULL;
    *out = NULL;
    if (stat(path, &about) != 0)
        return errno == ENOENT ? KG_OK : kg__fail_errno(error, path, "look at it");
    KG_TRY(kg__input_open(&input, path, KG_PLAIN, error));
    kg_status status = kg__json_read(out, input, error);
    kg__input_close(input);
    if (status == KG_OK && !json_is_object(json_object_get(*out, "settings"))) {
        json_decref(*out);
        *out = NULL;
    }
    return status == KG_BAD_INPUT ? KG_OK : status;
}

static kg_status write_file(const char *path, const json_t *value, kg_error *error) {
    kg_output *output = NULL;
    kg_status status = kg__output_open(&output, path, path, error);
    if (status == KG_OK)
        status = kg__json_write(value, output, error);
    if (status == KG_OK)
        status = kg__output_commit(output, error);
    kg__output_close(output);
    return status;
}

kg_status experiment_result_write(const char *path, const json_t *value, kg_error *error) {
    char *folder = kg__path_parent(path);
    kg_status status =
        folder == NULL ? kg__fail_memory(error) : kg__folder_ensure_all(folder, error);
    kg__free(folder);
    return status == KG_OK ? write_file(path, value, error) : status;
}

/* Numbers count with the digits that are written. */
static kg_status are_same(bool *out, json_t *a, json_t *b, kg_error *error) {
    kg_checksum first;
    kg_checksum second;
    KG_TRY(kg__json_checksum(&first, a, error));
    KG_TRY(kg__json_checksum(&second, b, error));
    *out = strcmp(first.text, second.text) == 0;
    return KG_OK;
}

kg_status experiment_record_write(const char *path, json_t *record, kg_error *error) {
    json_t *old = NULL;
    bool is_there = false;
    KG_TRY(experiment_record_read(&old, path, error));
    kg_status status = old == NULL ? KG_OK : are_same(&is_there, old, record, error);
    json_decref(old);
    if (status != KG_OK || is_there)
        return status;
    return experiment_result_write(path, record, error);
}
