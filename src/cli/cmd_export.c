/* kgraft export: the embeddings of a model, in the formats of other tools. */
#include <string.h>

#include "base/memory.h"
#include "base/output_folder.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/export_manifest.h"
#include "exchange/npy.h"
#include "exchange/row_text.h"
#include "model/model.h"
#include "model/nonfinite.h"

#define TICK_ROWS 1024

struct settings {
    cli_common common;
    const char *format;
    const char *out;
    bool force;
};

static const char *const formats[] = {"npy", "word2vec", "projector", "safetensors", "tsv", NULL};

static const cli_option options[] = {
    {.name = "format",
     .argument = "NAME",
     .kind = CLI_CHOICE,
     .offset = offsetof(struct settings, format),
     .help = "npy, word2vec, projector, safetensors or tsv",
     .choices = formats},
    {.name = "out",
     .argument = "FILE|DIR",
     .kind = CLI_TEXT,
     .offset = offsetof(struct settings, out),
     .help = "the new folder, or of word2vec the file (- for standard output)"},
    {.name = "force",
     .kind = CLI_FLAG,
     .offset = offsetof(struct settings, force),
     .help = "replace the folder if it is an export already, or the file"},
    CLI_QUIET,
    CLI_END,
};

enum { ENTITIES, RELATIONS, AGGREGATE_RELATIONS, TABLES };

/* One of the tables of a model. */
struct table {
    const char *name;
    const kg_names *names;
    const real *values; /* NULL: the model has no such table */
    size_t rows;
    size_t dim;
    const struct table *all; /* all TABLES of the model */
    const kg_progress *progress;
};

/* ---- Contents of files ---- */

static kg_status write_npy(kg_output *output, const struct table *table, kg_error *error) {
    return kg__npy_write(output, table->values, table->rows, table->dim, error);
}

static kg_status write_names(kg_output *output, const struct table *table, kg_error *error) {
    return kg__names_write(output, table->names, table->rows, error);
}

static kg_status write_safetensors(kg_output *output, const struct table *table, kg_error *error) {
    kg_tensor tensors[TABLES];
    size_t count = 0;
    for (size_t i = 0; i < TABLES; i++) {
        const struct table *one = &table->all[i];
        if (one->values != NULL)
            tensors[count++] = (kg_tensor){
                .name = one->name, .values = one->values, .rows = one->rows, .columns = one->dim};
    }
    return kg__safetensors_write(output, tensors, count, NULL, NULL, error);
}

static kg_status tick(const struct table *table, size_t row, kg_error *error) {
    kg_progress_report report = {
        .stage = "writing", .unit = "rows", .done = row, .total = table->rows};
    return row % TICK_ROWS == 0 ? kg__progress_tick(table->progress, &report, error) : KG_OK;
}

static kg_status write_row(kg_output *output, const struct table *table, size_t row, char separator,
                           kg_error *error) {
    KG_TRY(tick(table, row, error));
    KG_TRY(
        kg__row_text_write(output, table->values + row * table->dim, table->dim, separator, error));
    return kg__output_write(output, "\n", 1, error);
}

static kg_status write_vectors(kg_output *output, const struct table *table, kg_error *error) {
    for (size_t i = 0; i < table->rows; i++)
        KG_TRY(write_row(output, table, i, '\t', error));
    return KG_OK;
}

static kg_status write_tsv(kg_output *output, const struct table *table, kg_error *error) {
    for (size_t i = 0; i < table->rows; i++) {
        kg_name name = kg__names_get(table->names, (kg_id)i);
        KG_TRY(kg__output_write(output, name.bytes, name.length, error));
        KG_TRY(kg__output_write(output, "\t", 1, error));
        KG_TRY(write_row(output, table, i, '\t', error));
    }
    return KG_OK;
}

/* Words in word2vec's text format have no spaces: they become underscores. A word that two entities
 * would share is refused, since readers keep only the first. `words` has those that were changed.
 */
static kg_status make_word(kg_names *words, char *word, kg_name name, const struct table *table,
                           kg_error *error) {
    for (size_t i = 0; i < name.length; i++)
        word[i] = (char)(name.bytes[i] == ' ' ? '_' : name.bytes[i]);
    if (memcmp(word, name.bytes, name.length) == 0)
        return KG_OK;
    kg_id id = KG_NO_ID;
    size_t known = words->count;
    kg_name changed = kg__name_of(word, name.length);
    KG_TRY(kg__names_intern(words, &id, changed, error));
    if (id < known || kg__names_find(table->names, changed) != KG_NO_ID)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected names that differ when their spaces are underscores, found two "
                       "that are %s then (other formats keep spaces)",
                       kg__quote(word, name.length).text);
    return KG_OK;
}

static kg_status write_words(kg_output *output, const struct table *table, kg_names *words,
                             char **word, size_t *capacity, kg_error *error) {
    char header[64];
    int length = snprintf(header, sizeof header, "%zu %zu\n", table->rows, table->dim);
    KG_TRY(kg__output_write(output, header, (size_t)length, error));
    for (size_t i = 0; i < table->rows; i++) {
        kg_name name = kg__names_get(table->names, (kg_id)i);
        char *room = kg__grow(*word, capacity, name.length, 1);
        if (room == NULL)
            return kg__fail_memory(error);
        *word = room;
        KG_TRY(make_word(words, room, name, table, error));
        KG_TRY(kg__output_write(output, room, name.length, error));
        KG_TRY(kg__output_write(output, " ", 1, error));
        KG_TRY(write_row(output, table, i, ' ', error));
    }
    return KG_OK;
}

static kg_status write_word2vec(kg_output *output, const struct table *table, kg_error *error) {
    kg_names words = {0};
    char *word = NULL;
    size_t capacity = 0;
    kg_status status = write_words(output, table, &words, &word, &capacity, error);
    kg__names_free(&words);
    kg__free(word);
    return status;
}

/* ---- Names of files ---- */

/* The files of each format. */
static const struct file {
    const char *format;
    const char *name;
    int table;
    kg_status (*write)(kg_output *output, const struct table *table, kg_error *error);
} files[] = {
    {.format = "npy", .name = "entities.npy", .table = ENTITIES, .write = write_npy},
    {.format = "npy", .name = "relations.npy", .table = RELATIONS, .write = write_npy},
    {.format = "npy",
     .name = "aggregate_relations.npy",
     .table = AGGREGATE_RELATIONS,
     .write = write_npy},
    {.format = "npy", .name = "entities.tsv", .table = ENTITIES, .write = write_names},
    {.format = "npy", .name = "relations.tsv", .table = RELATIONS, .write = write_names},
    {.format = "safetensors",
     .name = "embeddings.safetensors",
     .table = ENTITIES,
     .write = write_safetensors},
    {.format = "safetensors", .name = "entities.tsv", .table = ENTITIES, .write = write_names},
    {.format = "safetensors", .name = "relations.tsv", .table = RELATIONS, .write = write_names},
    {.format = "tsv", .name = "entities.tsv", .table = ENTITIES, .write = write_tsv},
    {.format = "tsv", .name = "relations.tsv", .table = RELATIONS, .write = write_tsv},
    {.format = "tsv",
     .name = "aggregate_relations.tsv",
     .table = AGGREGATE_RELATIONS,
     .write = write_tsv},
    {.format = "projector", .name = "vectors.tsv", .table = ENTITIES, .write = write_vectors},
    {.format = "projector", .name = "metadata.tsv", .table = ENTITIES, .write = write_names},
};

/* All names of files that an older export may have. */
static const char *const own_files[] = {"entities.npy",
                                        "relations.npy",
                                        "aggregate_relations.npy",
                                        "entities.tsv",
                                        "relations.tsv",
                                        "aggregate_relations.tsv",
                                        "vectors.tsv",
                                        "metadata.tsv",
                                        "embeddings.safetensors",
                                        CLI_EXPORT_FILE,
                                        NULL};

/* What adopt needs to know of the model; it does not read a projector's files. */
static kg_status add_about(kg_folder *folder, const kg_model *model,
                           const struct settings *settings, kg_error *error) {
    kg_output *output = NULL;
    if (strcmp(settings->format, "projector") == 0)
        return KG_OK;
    json_t *about = cli_export_json(model);
    kg_status status = about == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK)
        status = kg__folder_add(folder, &output, CLI_EXPORT_FILE, error);
    if (status == KG_OK)
        status = kg__json_write(about, output, error);
    json_decref(about);
    return status;
}

static kg_status write_folder(const struct table tables[TABLES], const kg_model *model,
                              const struct settings *settings, kg_error *error) {
    kg_folder *folder = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__folder_start(&folder, settings->out, settings->force, own_files, error));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        kg_output *output = NULL;
        if (strcmp(files[i].format, settings->format) != 0 || tables[files[i].table].values == NULL)
            continue;
        KG_CHECK(kg__folder_add(folder, &output, files[i].name, error));
        KG_CHECK(files[i].write(output, &tables[files[i].table], error));
    }
    KG_CHECK(add_about(folder, model, settings, error));
    status = kg__folder_commit(folder, error);
done:
    kg__folder_close(folder);
    return status;
}

static kg_status write_file(const struct table *table, const char *path, kg_error *error) {
    kg_output *output = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__output_open(&output, path, path, error));
    KG_CHECK(write_word2vec(output, table, error));
    status = kg__output_commit(output, error);
done:
    kg__output_close(output);
    return status;
}

static bool is_one_file(const struct settings *settings) {
    return strcmp(settings->format, "word2vec") == 0;
}

static kg_status check(const struct settings *settings, kg_error *error) {
    if (settings->format == NULL || settings->out == NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected --format and --out, found no --%s",
                       settings->format == NULL ? "format" : "out");
    if (!is_one_file(settings) && strcmp(settings->out, "-") == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "--out: expected a folder for the files of %s, found standard output",
                       settings->format);
    if (is_one_file(settings))
        return kg__output_check(settings->out, settings->force, error);
    return KG_OK;
}

/* ---- Relations with two directions ---- */

/* The names of all rows: each relation's, for queries about tails, and behind it that of its
 * inverse, for queries about heads, as in tools with reciprocal relations. `name` is scratch memory
 * for one name. */
static kg_status add_directed(kg_names *out, const kg_names *names, char **name, size_t *capacity,
                              kg_error *error) {
    for (size_t i = 0; i < 2 * names->count; i++) {
        kg_name plain = kg__names_get(names, (kg_id)(i / 2));
        size_t length = plain.length + (i % 2 == 0 ? 0 : strlen(CLI_INVERSE));
        kg_id id = KG_NO_ID;
        char *room = kg__grow(*name, capacity, plain.length + sizeof CLI_INVERSE, 1);
        if (room == NULL)
            return kg__fail_memory(error);
        *name = room;
        memcpy(room, plain.bytes, plain.length);
        memcpy(room + plain.length, CLI_INVERSE, sizeof CLI_INVERSE);
        KG_TRY(kg__names_intern(out, &id, kg__name_of(room, length), error));
        if (id != i)
            return kg_fail(
                error, KG_BAD_INPUT,
                "expected relations of which none is called like another one with " CLI_INVERSE
                " behind it, found two rows for %s",
                kg__quote(room, length).text);
    }
    return KG_OK;
}

static kg_status name_directed(kg_names *out, const kg_names *names, kg_error *error) {
    char *name = NULL;
    size_t capacity = 0;
    kg_status status = add_directed(out, names, &name, &capacity, error);
    kg__free(name);
    return status;
}

/* Rows of inverses are for reversed queries: (tail, inverse, ?). `*out` stays NULL if there are no
 * rows. */
static kg_status turn_inverses(real **out, const real *rows, size_t count, const kg_params *tables,
                               kg_error *error) {
    size_t dim = tables->dim;
    if (rows == NULL)
        return KG_OK;
    *out = kg__resize(NULL, count * dim, sizeof **out);
    if (*out == NULL)
        return kg__fail_memory(error);
    memcpy(*out, rows, count * dim * sizeof **out);
    for (size_t i = 1; i < count; i += 2)
        kg__scoring_invert(tables->scoring, *out + i * dim, dim);
    return KG_OK;
}

/* ---- The command ---- */

static kg_status write_tables(const kg_model *model, const kg_params *from,
                              const kg_names *relations, const struct settings *settings,
                              const kg_progress *progress, kg_error *error) {
    const struct table tables[TABLES] = {
        [ENTITIES] = {"entities", &model->entities, from->entities, model->entities.count,
                      from->dim, tables, progress},
        [RELATIONS] = {"relations", relations, from->relations, relations->count, from->dim, tables,
                       progress},
        [AGGREGATE_RELATIONS] = {"aggregate_relations", relations, from->aggregate_relations,
                                 relations->count, from->dim, tables, progress},
    };
    return is_one_file(settings) ? write_file(&tables[ENTITIES], settings->out, error)
                                 : write_folder(tables, model, settings, error);
}

static kg_status write_directed(const kg_model *model, const kg_params *from,
                                const struct settings *settings, const kg_progress *progress,
                                kg_error *error) {
    kg_params tables = *from;
    size_t count = 2 * model->relations.count;
    kg_names names = {0};
    real *turned[2] = {NULL};
    kg_status status = KG_OK;
    KG_CHECK(name_directed(&names, &model->relations, error));
    KG_CHECK(turn_inverses(&turned[0], tables.relations, count, &tables, error));
    KG_CHECK(turn_inverses(&turned[1], tables.aggregate_relations, count, &tables, error));
    tables.relations = turned[0];
    tables.aggregate_relations = turned[1];
    status = write_tables(model, &tables, &names, settings, progress, error);
done:
    kg__free(turned[0]);
    kg__free(turned[1]);
    kg__names_free(&names);
    return status;
}

/* Rows of entities that came later are not in the model's array: then all are copied to one. */
static kg_status gather_rows(real **out, kg_params *params, size_t entities, kg_error *error) {
    if (params->later == NULL || params->later->first == entities) {
        params->entities = kg__entity_rows(params, 0, entities);
        return KG_OK;
    }
    real *rows = kg__resize(NULL, entities * params->dim, sizeof *rows);
    if (rows == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < entities; i++)
        memcpy(rows + i * params->dim, kg__entity_row(params, (kg_id)i),
               params->dim * sizeof *rows);
    params->entities = *out = rows;
    params->half = NULL;
    return KG_OK;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_model *model = NULL;
    real *gathered = NULL;
    kg_status status = KG_OK;
    KG_TRY(check(settings, error));
    KG_TRY(cli_check_apart("out", settings->out, context->arguments[0], error));
    KG_CHECK(kg_model_open(&model, context->arguments[0], error));
    KG_CHECK(kg__model_check_embedding(model, error));
    kg_params params = model->params;
    KG_CHECK(gather_rows(&gathered, &params, model->entities.count, error));
    KG_CHECK(kg__nonfinite_check(&params, model->entities.count, model->relations.count, error));
    KG_CHECK(
        params.is_directed
            ? write_directed(model, &params, settings, &context->progress, error)
            : write_tables(model, &params, &model->relations, settings, &context->progress, error));
    if (strcmp(settings->out, "-") != 0)
        cli_say(context, "%s: %s of %zu numbers each", settings->out,
                report_counted(model->entities.count, "entity", "entities").text, params.dim);
done:
    kg__free(gathered);
    kg_model_close(model);
    return status;
}

static const struct settings defaults = {.format = NULL};

const cli_command cli_export = {
    .name = "export",
    .usage = "MODEL",
    .summary = "write a model's embeddings in the formats of other tools",
    .details = "--format and --out are needed. MODEL may be a store.",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
