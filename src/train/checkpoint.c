/* Checkpoints are safetensors files with a note in JSON. */
#include "train/checkpoint.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "graph/dataset_folder.h"
#include "model/safetensors.h"
#include "train/trainer.h"

/* The tensors of a run, as they stand in the file. Values may be written through when reading. */
struct part {
    char name[32];
    real *values;
    size_t rows;
    size_t columns;
};

#define MOST_TENSORS (4 * KG_MOST_PARAMS)

static void add_part(struct part *parts, size_t *count, const char *before, const kg_param *param,
                     const char *behind, real *values) {
    if (values == NULL)
        return;
    struct part *part = &parts[(*count)++];
    part->values = values;
    part->rows = param->rows;
    part->columns = param->columns;
    snprintf(part->name, sizeof part->name, "%s%s%s", before, param->name, behind);
}

/* First the values of all parameters, then what the optimiser knows, then the best. */
static size_t list_parts(const kg_trainer *t, bool has_best, struct part parts[MOST_TENSORS]) {
    const kg_param *items = t->list.items;
    size_t count = 0;
    for (size_t i = 0; i < t->list.count; i++)
        add_part(parts, &count, "", &items[i], "", items[i].values);
    for (size_t i = 0; i < t->list.count; i++)
        add_part(parts, &count, "", &items[i], ".first", items[i].first);
    for (size_t i = 0; i < t->list.count; i++)
        add_part(parts, &count, "", &items[i], ".second", items[i].second);
    for (size_t i = 0; i < t->list.count && has_best; i++)
        add_part(parts, &count, "best.", &items[i], "", items[i].best);
    return count;
}

/* ---- Writing ---- */

json_t *kg__epoch_json(const kg_epoch *epoch) {
    json_t *out = json_pack("{sI sf sf}", "epoch", (json_int_t)epoch->number, "loss", epoch->loss,
                            "seconds", epoch->seconds);
    if (!epoch->is_validated)
        return out;
    if (json_object_set_new(out, "valid", kg__metrics_json(&epoch->valid)) == 0)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *make_note(const kg_trainer *t) {
    json_t *history = json_array();
    for (size_t i = 0; i < t->history_count; i++)
        if (json_array_append_new(history, kg__epoch_json(&t->history[i])) != 0) {
            json_decref(history);
            return NULL;
        }
    return json_pack(
        "{so ss sI sI sI sf sf sI sf sI so sO*}", "settings", kg__train_settings(&t->options),
        "dataset", kg__dataset_checksum(t->dataset).text, "step", (json_int_t)t->steps, "epoch",
        (json_int_t)t->epoch, "batch", (json_int_t)t->next, "loss", t->loss, "seconds", t->seconds,
        "best_epoch", (json_int_t)t->best_epoch, "best_mrr", t->best_mrr, "since_best",
        (json_int_t)t->since_best, "history", history, "carried", t->carried);
}

static bool is_finite(const struct part *part) {
    bool good = true;
    for (size_t i = 0; i < part->rows * part->columns; i++)
        good = good && isfinite(part->values[i]);
    return good;
}

static kg_status write_parts(const kg_trainer *t, kg_output *output, const char *note,
                             kg_error *error) {
    struct part parts[MOST_TENSORS];
    kg_tensor tensors[MOST_TENSORS];
    size_t count = list_parts(t, t->best_epoch > 0, parts);
    for (size_t i = 0; i < count; i++) {
        tensors[i] = (kg_tensor){parts[i].name, parts[i].values, parts[i].rows, parts[i].columns};
        if (!is_finite(&parts[i]))
            return kg_fail(
                error, KG_DIVERGED,
                "a parameter is no longer a number after step %ju: try a smaller rate or "
                "more L2",
                (uintmax_t)t->steps);
    }
    return kg__safetensors_write(output, tensors, count, note, error);
}

kg_status kg__checkpoint_write(const kg_trainer *t, const char *path, kg_error *error) {
    json_t *note = make_note(t);
    char *text = note == NULL ? NULL : json_dumps(note, JSON_COMPACT);
    kg_output *output = NULL;
    kg_status status = text == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(kg__output_open(&output, path, path, error));
    KG_CHECK(write_parts(t, output, text, error));
    KG_CHECK(kg__output_commit(output, error));
done:
    kg__output_close(output);
    kg__json_free_text(text);
    json_decref(note);
    return status;
}

/* ---- Reading ---- */

/* A setting that one of them has and the other has not, or has another value of; or NULL. The
 * number of epochs counts only where the settings have it. */
static const char *find_difference(json_t *settings, json_t *old) {
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(settings, name, value) {
        if (!json_equal(value, json_object_get(old, name)))
            return name;
    }
    json_object_foreach(old, name, value) {
        if (json_object_get(settings, name) == NULL && strcmp(name, "epochs") != 0)
            return name;
    }
    return NULL;
}

kg_status kg__train_check_same(const kg_train_options *options, const kg_dataset *dataset,
                               const json_t *old, const json_t *checksum, const char *path,
                               kg_error *error) {
    json_t *settings = kg__train_settings(options);
    json_t *copy = json_deep_copy(old);
    kg__feature_names_update(json_object_get(copy, "evidence"));
    kg_status status = settings == NULL ? kg__fail_memory(error) : KG_OK;
    const char *name = status == KG_OK ? find_difference(settings, copy) : NULL;
    const char *known = json_string_value(checksum);
    if (name != NULL)
        status = kg_fail_at(error, path, 0, 0,
                            "expected the settings that the run was started with, found another "
                            "`%s` (only the number of threads may change%s)",
                            name,
                            json_object_get(settings, "epochs") == NULL
                                ? ", and that of epochs"
                                : "; that of epochs may not, since the rate falls with them");
    if (status == KG_OK &&
        (known == NULL || strcmp(known, kg__dataset_checksum(dataset).text) != 0))
        status = kg_fail_at(error, path, 0, 0,
                            "expected the data set that the run was started with, found another");
    json_decref(settings);
    json_decref(copy);
    return status;
}

static kg_status read_parts(kg_trainer *t, const kg_safetensors *file, bool has_best,
                            const char *path, kg_error *error) {
    struct part parts[MOST_TENSORS];
    size_t count = list_parts(t, has_best, parts);
    for (size_t i = 0; i < count; i++) {
        kg_tensor tensor;
        KG_TRY(kg__safetensors_get(file, &tensor, parts[i].name, error));
        if (tensor.rows != parts[i].rows || tensor.columns != parts[i].columns)
            return kg_fail_at(error, path, 0, 0, "expected %s of %zu x %zu, found %zu x %zu",
                              parts[i].name, parts[i].rows, parts[i].columns, tensor.rows,
                              tensor.columns);
        memcpy(parts[i].values, tensor.values, tensor.rows * tensor.columns * sizeof(real));
    }
    return KG_OK;
}

void kg__epoch_read(kg_epoch *epoch, const json_t *from) {
    const json_t *valid = json_object_get(from, "valid");
    const json_t *hits = json_object_get(valid, "hits");
    *epoch = (kg_epoch){
        .number = (uint64_t)json_integer_value(json_object_get(from, "epoch")),
        .loss = json_number_value(json_object_get(from, "loss")),
        .seconds = json_number_value(json_object_get(from, "seconds")),
        .is_validated = valid != NULL,
        .valid = {.queries = (uint64_t)json_integer_value(json_object_get(valid, "queries")),
                  .mrr = json_number_value(json_object_get(valid, "mrr")),
                  .mr = json_number_value(json_object_get(valid, "mr")),
                  .hits = {json_number_value(json_object_get(hits, "1")),
                           json_number_value(json_object_get(hits, "3")),
                           json_number_value(json_object_get(hits, "10"))}},
    };
}

/* Where the run stands must be a place that a run can get to, and no further than asked for. */
static kg_status check_state(const kg_trainer *t, kg_error *error) {
    size_t batches = t->sampler.batch_count;
    if (t->epoch > UINT32_MAX || t->history_count != t->epoch || t->best_epoch > t->epoch ||
        t->next > batches || t->steps != t->epoch * batches + t->next)
        return kg_fail(error, KG_BAD_INPUT, "expected a checkpoint, found numbers that do not fit");
    uint64_t begun = t->epoch + (t->next > 0);
    if (t->options.epochs < begun)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected at least the %ju epochs that the run has begun, found %ju",
                       (uintmax_t)begun, (uintmax_t)t->options.epochs);
    return KG_OK;
}

static kg_status read_state(kg_trainer *t, const json_t *note, kg_error *error) {
    const json_t *history = json_object_get(note, "history");
    size_t count = json_array_size(history);
    t->history = kg__resize(NULL, count, sizeof *t->history);
    if (t->history == NULL)
        return kg__fail_memory(error);
    t->history_capacity = count;
    t->history_count = count;
    for (size_t i = 0; i < count; i++)
        kg__epoch_read(&t->history[i], json_array_get(history, i));
    t->steps = (uint64_t)json_integer_value(json_object_get(note, "step"));
    t->epoch = (uint64_t)json_integer_value(json_object_get(note, "epoch"));
    t->next = (size_t)json_integer_value(json_object_get(note, "batch"));
    t->loss = json_number_value(json_object_get(note, "loss"));
    t->seconds = json_number_value(json_object_get(note, "seconds"));
    t->best_epoch = (uint64_t)json_integer_value(json_object_get(note, "best_epoch"));
    t->best_mrr = json_number_value(json_object_get(note, "best_mrr"));
    t->since_best = (uint64_t)json_integer_value(json_object_get(note, "since_best"));
    KG_TRY(check_state(t, error));
    for (size_t i = 0; i < t->list.count; i++)
        for (size_t row = 0; row < t->list.items[i].rows; row++)
            t->list.items[i].steps[row] = t->steps;
    return KG_OK;
}

/* The file, which is as it was written, and its note, for the same settings and data. */
static kg_status open_checkpoint(kg_safetensors **file, json_t **note,
                                 const kg_train_options *options, const kg_dataset *dataset,
                                 const char *path, kg_error *error) {
    KG_TRY(kg__safetensors_open(file, path, error));
    const char *text = kg__safetensors_note(*file);
    *note = text == NULL ? NULL : json_loads(text, 0, NULL);
    if (!json_is_object(*note))
        return kg_fail_at(error, path, 0, 0, "expected a checkpoint of kgraft, found none");
    KG_TRY(kg__safetensors_verify(*file, error));
    return kg__train_check_same(options, dataset, json_object_get(*note, "settings"),
                                json_object_get(*note, "dataset"), path, error);
}

kg_status kg__checkpoint_check(const kg_train_options *options, const kg_dataset *dataset,
                               const char *path, uint64_t *epochs, kg_error *error) {
    kg_safetensors *file = NULL;
    json_t *note = NULL;
    kg_status status = open_checkpoint(&file, &note, options, dataset, path, error);
    *epochs = (uint64_t)json_integer_value(json_object_get(note, "epoch"));
    json_decref(note);
    kg__safetensors_close(file);
    return status;
}

kg_status kg__checkpoint_carried(json_t **out, const char *path, kg_error *error) {
    kg_safetensors *file = NULL;
    KG_TRY(kg__safetensors_open(&file, path, error));
    const char *text = kg__safetensors_note(file);
    json_t *note = text == NULL ? NULL : json_loads(text, 0, NULL);
    *out = json_incref(json_object_get(note, "carried"));
    json_decref(note);
    kg__safetensors_close(file);
    return KG_OK;
}

kg_status kg__checkpoint_read(kg_trainer *t, const char *path, kg_error *error) {
    kg_safetensors *file = NULL;
    json_t *note = NULL;
    kg_status status = KG_OK;
    KG_CHECK(open_checkpoint(&file, &note, &t->options, t->dataset, path, error));
    KG_CHECK(read_state(t, note, error));
    if (t->best_epoch > 0)
        KG_CHECK(kg__params_keep_best(&t->list, error));
    KG_CHECK(read_parts(t, file, t->best_epoch > 0, path, error));
done:
    if (status == KG_BAD_INPUT)
        kg__error_locate(error, path, 0, 0);
    json_decref(note);
    kg__safetensors_close(file);
    return status;
}
