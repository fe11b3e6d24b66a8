/* Checkpoints are safetensors files with a note in JSON. */
#include "train/checkpoint.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "graph/dataset_folder.h"
#include "model/config.h"
#include "model/safetensors.h"
#include "train/gathered_rows.h"

/* The tensors of a run, as they stand in the file. */
struct tensors {
    kg_tensor items[4 * KG_MOST_PARAMS];
    kg_row_table tables[4 * KG_MOST_PARAMS]; /* where their numbers are in this process */
    char names[4 * KG_MOST_PARAMS][sizeof "best." + KG_PARAM_NAME + sizeof ".second"];
    size_t count;
    size_t best; /* from here on they are the best values */
};

/* Whether the best values are those of an epoch before: if not, they are the values. */
static bool has_other_best(const kg_trainer *t) {
    return t->best_epoch > 0 && (t->best_epoch < t->epoch || t->next > 0);
}

/* What is kept of each parameter. */
struct kind {
    const char *before; /* its name in the file, */
    const char *behind;
    size_t offset; /* and where it is */
    bool is_state;
    bool is_owned; /* a process has it of its own rows alone */
    bool is_best;
};

/* First the values of all parameters, then what the optimiser knows, then the best, if they are
 * others. */
static const struct kind kinds[] = {
    {.before = "", .behind = "", .offset = offsetof(kg_param, values)},
    {.before = "",
     .behind = ".first",
     .offset = offsetof(kg_param, first),
     .is_state = true,
     .is_owned = true},
    {.before = "", .behind = ".second", .offset = offsetof(kg_param, second), .is_owned = true},
    {.before = "best.",
     .behind = "",
     .offset = offsetof(kg_param, best),
     .is_best = true,
     .is_owned = true},
};

static void list_kind(struct tensors *out, const struct kind *kind, const kg_param_list *params) {
    for (size_t i = 0; i < params->count; i++) {
        const kg_param *p = &params->items[i];
        const real *values = *(const real *const *)((const char *)p + kind->offset);
        if (values == NULL && !kind->is_best)
            continue;
        char *name = out->names[out->count];
        size_t columns = kind->is_state ? p->state : p->columns;
        snprintf(name, sizeof *out->names, "%s%s%s", kind->before, p->name, kind->behind);
        out->tables[out->count] = (kg_row_table){p, values, columns, kind->is_owned};
        out->items[out->count++] =
            (kg_tensor){.name = name, .values = values, .rows = p->rows, .columns = columns};
    }
}

static void list_tensors(struct tensors *out, const kg_trainer *t) {
    out->count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].is_best)
            out->best = out->count;
        if (!kinds[i].is_best || has_other_best(t))
            list_kind(out, &kinds[i], &t->list);
    }
}

/* ---- Writing ---- */

static json_t *make_note(const kg_trainer *t) {
    return json_pack("{so ss sI sI sI sf sf sI sf sI so sO*}", "settings",
                     kg__train_settings(&t->options), "dataset",
                     kg__dataset_checksum(t->dataset).text, "step", (json_int_t)t->steps, "epoch",
                     (json_int_t)t->epoch, "batch", (json_int_t)t->next, "loss", t->loss, "seconds",
                     t->seconds, "best_epoch", (json_int_t)t->best_epoch, "best_mrr", t->best_mrr,
                     "since_best", (json_int_t)t->since_best, "history",
                     kg__history_json(t->history, t->history_count), "carried", t->carried);
}

static bool is_finite(const real *numbers, size_t count) {
    bool out = true;
    for (size_t i = 0; i < count; i++)
        out = out && isfinite(numbers[i]);
    return out;
}

/* Of what this process has. */
static kg_status check_finite(const kg_trainer *t, const struct tensors *list, kg_error *error) {
    bool good = true;
    for (size_t i = 0; i < list->best; i++) {
        const kg_row_table *own = &list->tables[i];
        for (size_t row = 0, count = 0; row < own->param->rows; row += count) {
            count = kg__param_run(own->param, row);
            if (kg__param_owns(own->param, row))
                good = good && is_finite(kg__row_table_at(own, row), count * own->columns);
        }
    }
    if (good)
        return KG_OK;
    return kg_fail(error, KG_DIVERGED,
                   "a parameter is no longer a number after step %ju: try a smaller `lr` or "
                   "a larger `l2`",
                   (uintmax_t)t->steps);
}

/* Lets the tensors of sharded parameters be what the first rank has gathered. */
static void take_gathered(struct tensors *list, const kg_gathered_rows *gathered) {
    const char *at = gathered->mapping.bytes;
    for (size_t i = 0; i < list->count; i++) {
        kg_tensor *tensor = &list->items[i];
        if (!kg__param_is_sharded(list->tables[i].param))
            continue;
        tensor->values = (const real *)(const void *)at;
        at += tensor->rows * tensor->columns * sizeof *tensor->values;
    }
}

static kg_status write_file(const kg_trainer *t, const struct tensors *list,
                            const kg_mapping *mapped, const char *path, kg_error *error) {
    json_t *note = make_note(t);
    char *text = note == NULL ? NULL : json_dumps(note, JSON_COMPACT);
    kg_output *output = NULL;
    kg_status status = text == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(kg__output_open(&output, path, path, error));
    KG_CHECK(kg__safetensors_write(output, list->items, list->count, text, mapped, error));
    KG_CHECK(kg__output_commit(output, error));
done:
    kg__output_close(output);
    kg__json_free_text(text);
    json_decref(note);
    return status;
}

kg_status kg__checkpoint_write(const kg_trainer *t, const char *path, kg_error *error) {
    kg_ranks *ranks = t->options.ranks;
    struct tensors list;
    kg_gathered_rows gathered = {0};
    kg_status status = KG_OK;
    list_tensors(&list, t);
    KG_TRY(kg__ranks_agree(ranks, check_finite(t, &list, error), error));
    if (kg__ranks_many(ranks))
        status = kg__gathered_rows_make(&gathered, ranks, list.tables, list.count, path, error);
    if (gathered.mapping.bytes != NULL)
        take_gathered(&list, &gathered);
    if (status == KG_OK && kg__ranks_first(ranks))
        status = write_file(t, &list, gathered.file == NULL ? &t->list.best : &gathered.mapping,
                            path, error);
    kg__gathered_rows_close(&gathered);
    return status;
}

/* ---- Reading ---- */

/* A setting that one of them has and the other has not, or has another value of; or NULL. The
 * number of epochs counts only where the settings have it; `graft_echo`, of older versions, is what
 * `terms` say. */
static const char *find_difference(json_t *settings, json_t *old) {
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(settings, name, value) {
        if (!json_equal(value, json_object_get(old, name)))
            return name;
    }
    json_object_foreach(old, name, value) {
        if (json_object_get(settings, name) == NULL && strcmp(name, "epochs") != 0 &&
            strcmp(name, "graft_echo") != 0)
            return name;
    }
    return NULL;
}

kg_status kg__train_check_same(const kg_train_options *options, const kg_dataset *dataset,
                               json_t *old, const json_t *checksum, const char *path,
                               kg_error *error) {
    KG_TRY(kg__config_check_settings(old, path, error));
    json_t *settings = kg__train_settings(options);
    kg_status status = settings == NULL ? kg__fail_memory(error) : KG_OK;
    const char *name = status == KG_OK ? find_difference(settings, old) : NULL;
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
    return status;
}

/* Of rows that this process owns, if others own some. The list is of the trainer's own tensors, so
 * they may be written through it, but for the best. */
static void take_rows(const kg_row_table *own, const real *found) {
    const kg_param *p = own->param;
    for (size_t row = 0, count = 0; row < p->rows; row += count) {
        count = kg__param_run(p, row);
        if (kg__param_owns(p, row))
            kg__mapping_copy((real *)kg__row_table_at(own, row), found + row * own->columns,
                             count * own->columns * sizeof *found);
    }
}

static kg_status read_tensors(kg_trainer *t, const kg_safetensors *file, kg_error *error) {
    struct tensors list;
    const real *found[4 * KG_MOST_PARAMS];
    list_tensors(&list, t);
    for (size_t i = 0; i < list.count; i++) {
        const kg_tensor *own = &list.items[i];
        KG_TRY(kg__safetensors_view(file, &found[i], own->name, own->rows, own->columns, error));
        if (i < list.best)
            take_rows(&list.tables[i], found[i]);
    }
    const real *const *best = has_other_best(t) ? found + list.best : NULL;
    return t->best_epoch > 0 ? kg__param_list_keep_best(&t->list, best, t->folder, error) : KG_OK;
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
    for (size_t i = 0; i < t->list.count; i++) {
        const kg_param *p = &t->list.items[i];
        for (size_t place = 0; p->steps != NULL && place < p->kept; place++)
            p->steps[place] = t->steps;
    }
    return KG_OK;
}

/* The file and its note, if it has one; to be closed also when this failed. */
static kg_status open_file(kg_safetensors *file, json_t **note, const char *path, kg_error *error) {
    KG_TRY(kg__safetensors_open(file, path, error));
    const char *text = kg__safetensors_note(file);
    *note = text == NULL ? NULL : json_loads(text, 0, NULL);
    return KG_OK;
}

/* A file which is as it was written, for the same settings and data. */
static kg_status open_checkpoint(kg_safetensors *file, json_t **note,
                                 const kg_train_options *options, const kg_dataset *dataset,
                                 const char *path, kg_error *error) {
    KG_TRY(open_file(file, note, path, error));
    if (!json_is_object(*note))
        return kg_fail_at(error, path, 0, 0, "expected a checkpoint of kgraft, found none");
    KG_TRY(kg__safetensors_verify(file, error));
    return kg__train_check_same(options, dataset, json_object_get(*note, "settings"),
                                json_object_get(*note, "dataset"), path, error);
}

kg_status kg__checkpoint_check(const kg_train_options *options, const kg_dataset *dataset,
                               const char *path, uint64_t *epochs, kg_error *error) {
    kg_safetensors file = {0};
    json_t *note = NULL;
    kg_status status = open_checkpoint(&file, &note, options, dataset, path, error);
    *epochs = (uint64_t)json_integer_value(json_object_get(note, "epoch"));
    json_decref(note);
    kg__safetensors_close(&file);
    return status;
}

kg_status kg__checkpoint_carried(json_t **out, const char *path, kg_error *error) {
    kg_safetensors file = {0};
    json_t *note = NULL;
    kg_status status = open_file(&file, &note, path, error);
    *out = json_incref(json_object_get(note, "carried"));
    json_decref(note);
    kg__safetensors_close(&file);
    return status;
}

kg_status kg__checkpoint_read(kg_trainer *t, const char *path, kg_error *error) {
    kg_safetensors file = {0};
    json_t *note = NULL;
    kg_status status = KG_OK;
    KG_CHECK(open_checkpoint(&file, &note, &t->options, t->dataset, path, error));
    KG_CHECK(read_state(t, note, error));
    KG_CHECK(read_tensors(t, &file, error));
done:
    if (status == KG_BAD_INPUT)
        kg__error_locate(error, path, 0, 0);
    json_decref(note);
    kg__safetensors_close(&file);
    return status;
}
