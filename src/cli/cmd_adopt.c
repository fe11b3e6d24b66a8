/* kgraft adopt: a model directory of embeddings that were trained elsewhere. */
#include <string.h>
#include <strings.h>

#include "aggregate/aggregate_options.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/export_manifest.h"
#include "exchange/matrix_file.h"
#include "exchange/row_names.h"
#include "exchange/triples_file.h"
#include "math/vector.h"
#include "model/model_folder.h"

#define TICK_ROWS 4096

struct settings {
    cli_common common;
    const char *entities;
    const char *relations;
    const char *entity_names;
    const char *relation_names;
    const char *model;
    const char *layout;     /* NULL: as the file suggests */
    const char *reciprocal; /* NULL: as many rows of relations as names */
    const char *known;
    const char *aggregate; /* NULL: as the model was exported, or eravg */
    bool force;
};

static const char *const models[] = {"distmult", "simple", "complex", "quate", NULL};
static const char *const layouts[] = {"halves", "interleaved",
                                      NULL}; /* in the order of kg_layout */

/* Models whose scores are not linear in an entity: a vector cannot be computed from facts by means
 * or least squares. */
static const char *const distances[] = {"transe", "transh", "transr", "transd",
                                        "rotate", "pairre", "boxe",   NULL};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {.name = "entities",
     .argument = "FILE",
     .kind = CLI_TEXT,
     .offset = SETTING(entities),
     .help = "a row for each entity: .npy, or .safetensors[#TENSOR]"},
    {.name = "relations",
     .argument = "FILE",
     .kind = CLI_TEXT,
     .offset = SETTING(relations),
     .help = "a row for each relation, likewise"},
    {.name = "entity-names",
     .argument = "FILE",
     .kind = CLI_TEXT,
     .offset = SETTING(entity_names),
     .help = "names of the rows: one per line, or ids and names"},
    {.name = "relation-names",
     .argument = "FILE",
     .kind = CLI_TEXT,
     .offset = SETTING(relation_names),
     .help = "likewise"},
    {.name = "model",
     .argument = "NAME",
     .kind = CLI_TEXT,
     .offset = SETTING(model),
     .help = "%s",
     .choices = models},
    {.name = "complex-layout",
     .argument = "KIND",
     .kind = CLI_CHOICE,
     .offset = SETTING(layout),
     .help = "complex, quate: parts in halves or interleaved (default: halves)",
     .choices = layouts},
    {.name = "reciprocal",
     .argument = "KIND",
     .kind = CLI_CHOICE,
     .offset = SETTING(reciprocal),
     .help = "two rows a name: the inverses' in the second half, or interleaved",
     .choices = layouts},
    {.name = "known",
     .argument = "FILE",
     .kind = CLI_TEXT,
     .offset = SETTING(known),
     .help = "facts that are known already, by names or ids, as TSV or OpenKE's"},
    {.name = "aggregate",
     .argument = "NAME",
     .kind = CLI_CHOICE,
     .offset = SETTING(aggregate),
     .help = "how entities are embedded from facts (default: as exported, or eravg)"},
    {.name = "force",
     .kind = CLI_FLAG,
     .offset = SETTING(force),
     .help = "replace MODEL if it is a model already"},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

/* A table being converted: its source, and its values. */
struct table {
    kg_matrix_file from;
    kg_names names;
    const real *values; /* in the file, or `copy` */
    real *copy;
    size_t zero_rows;
    bool is_directed; /* relations: two rows each */
};

static void free_table(struct table *table) {
    kg__matrix_file_close(&table->from);
    kg__names_free(&table->names);
    kg__free(table->copy);
}

/* ---- Options ---- */

/* Required options come first, in the table of options as in the settings. */
static kg_status check_given(const struct settings *settings, kg_error *error) {
    for (const cli_option *option = options; option->offset <= SETTING(model); option++)
        if (*(const char *const *)((const char *)settings + option->offset) == NULL)
            return kg_fail(error, KG_BAD_INPUT, "expected --%s %s, found none", option->name,
                           option->argument);
    return KG_OK;
}

static const char *find_word(const char *const *words, const char *word) {
    while (*words != NULL && strcasecmp(*words, word) != 0)
        words++;
    return *words;
}

/* Tools spell names of models differently: ComplEx is complex. */
static kg_status find_model(const char **out, const char *name, kg_error *error) {
    *out = find_word(models, name);
    if (*out != NULL)
        return KG_OK;
    const char *reason = find_word(distances, name) == NULL
                             ? ""
                             : " (its score is a distance, which is not linear in an entity, so "
                               "that a new one cannot "
                               "be made of its facts by means or least squares)";
    char expected[128];
    kg__join_names(expected, sizeof expected, models, sizeof *models);
    return kg_fail(error, KG_BAD_INPUT, "--model: expected %s, found %s%s", expected,
                   kg__quote(name, strlen(name)).text, reason);
}

static kg_status check(struct settings *settings, kg_error *error) {
    KG_TRY(check_given(settings, error));
    KG_TRY(find_model(&settings->model, settings->model, error));
    bool has_layout =
        strcmp(settings->model, "complex") == 0 || strcmp(settings->model, "quate") == 0;
    if (settings->layout != NULL && !has_layout)
        return kg_fail(error, KG_BAD_INPUT,
                       "--complex-layout: expected --model complex or quate, found %s",
                       settings->model);
    return KG_OK;
}

/* The given aggregator, or that of the exported model, or the default; other settings of the export
 * are kept. */
static kg_status choose_aggregate(json_t **out, const struct settings *settings, const char *rows,
                                  kg_error *error) {
    KG_TRY(cli_export_read(out, rows, settings->model, error));
    if (*out == NULL)
        *out = json_object();
    const char *name = settings->aggregate;
    if (name == NULL)
        name = json_string_value(json_object_get(*out, "aggregate"));
    if (name == NULL)
        name = KG_DEFAULT_AGGREGATOR;
    const kg_aggregator *aggregator = kg__aggregator_find(name);
    if (aggregator == NULL || aggregator->open != NULL)
        return kg_fail(error, KG_BAD_INPUT, "--aggregate: expected %s for adopted rows, found %s",
                       kg__aggregators_list(KG_WITHOUT_PARAMS).text,
                       kg__quote(name, strlen(name)).text);
    if (json_object_set_new(*out, "aggregate", json_string(aggregator->name)) != 0)
        return kg__fail_memory(error);
    kg_aggregate_options aggregate = kg__aggregate_defaults(aggregator);
    return kg__aggregate_check(&aggregate, kg__scoring_find(settings->model), error);
}

/* The layout of a matrix' parts: complex numbers of the file's own type are interleaved. */
static kg_status choose_layout(kg_layout *out, const kg_matrix_file *from,
                               const struct settings *settings, kg_error *error) {
    const char *layout = settings->layout;
    if (from->matrix.is_complex && strcmp(settings->model, "complex") != 0)
        return kg_fail_at(error, from->path, 0, 0,
                          "expected real numbers for %s, found complex ones", settings->model);
    if (from->matrix.is_complex && layout != NULL && strcmp(layout, "halves") == 0)
        return kg_fail_at(error, from->path, 0, 0,
                          "expected --complex-layout interleaved or none for complex numbers, "
                          "found halves");
    if (layout == NULL)
        layout = from->matrix.is_complex ? "interleaved" : "halves";
    *out = (kg_layout)cli_choice(layouts, layout);
    return KG_OK;
}

/* ---- Tables ---- */

static kg_status check_width(const struct table *entities, const struct table *relations,
                             const kg_scoring *kind, kg_error *error) {
    size_t width = kg__matrix_width(&entities->from.matrix);
    size_t other = kg__matrix_width(&relations->from.matrix);
    if (width != other)
        return kg_fail_at(error, relations->from.path, 0, 0,
                          "expected rows of %zu numbers, as entities have, found %zu", width,
                          other);
    if (width % kind->parts != 0)
        return kg_fail_at(error, entities->from.path, 0, 0,
                          "expected rows of a multiple of %zu numbers for %s, found %zu",
                          kind->parts, kind->name, width);
    return KG_OK;
}

/* Converts all rows. Those that need no conversion are only checked. */
static kg_status convert(struct table *table, const kg_scoring *kind, kg_layout layout,
                         const kg_progress *progress, kg_error *error) {
    const kg_matrix *matrix = &table->from.matrix;
    size_t width = kg__matrix_width(matrix);
    bool in_place = layout == KG_HALVES && kg__matrix_values(matrix) != NULL;
    table->copy = kg__alloc(in_place ? 1 : matrix->rows, width * sizeof *table->copy);
    if (table->copy == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < matrix->rows; i++) {
        real *row = table->copy + (in_place ? 0 : i * width);
        kg_progress_report report = {
            .stage = "checking rows", .unit = "rows", .done = i, .total = matrix->rows};
        if (i % TICK_ROWS == 0)
            KG_TRY(kg__progress_tick(progress, &report, error));
        KG_TRY(kg__matrix_row(matrix, row, i, kind->parts, layout, table->from.path, error));
        table->zero_rows += kg__is_zero(row, width);
    }
    table->values = in_place ? kg__matrix_values(matrix) : table->copy;
    return KG_OK;
}

static kg_status read_names(kg_names *names, const char *path, size_t count, kg_error *error) {
    kg_input *input = NULL;
    KG_TRY(kg__input_open(&input, path, KG_ANY_CODING, error));
    kg_status status = kg__row_names_read(names, input, count, error);
    kg__input_close(input);
    return status;
}

/* ---- Reciprocal relations ---- */

/* Names in pairs, of which the second is that of the first one's inverse, as in exports. */
static bool is_paired(const kg_names *names) {
    size_t suffix = strlen(CLI_INVERSE);
    for (size_t i = 0; i < names->count; i += 2) {
        if (i + 1 == names->count)
            return false;
        kg_name plain = kg__names_get(names, (kg_id)i);
        kg_name inverse = kg__names_get(names, (kg_id)i + 1);
        if (inverse.length != plain.length + suffix ||
            memcmp(inverse.bytes, plain.bytes, plain.length) != 0 ||
            memcmp(inverse.bytes + plain.length, CLI_INVERSE, suffix) != 0)
            return false;
    }
    return names->count > 0;
}

/* Every other name. */
static kg_status halve(kg_names *names, kg_error *error) {
    kg_names plain = {0};
    kg_status status = KG_OK;
    for (size_t i = 0; i < names->count && status == KG_OK; i += 2) {
        kg_id id = KG_NO_ID;
        status = kg__names_intern(&plain, &id, kg__names_hashed(names, (kg_id)i), error);
    }
    kg__names_free(status == KG_OK ? names : &plain);
    if (status == KG_OK)
        *names = plain;
    return status;
}

/* Twice as many rows as names are refused unless their order is given, since it would be a guess.
 */
static kg_status hint(const struct table *relations, const char *path, kg_error *error) {
    kg_names names = {0};
    size_t rows = relations->from.matrix.rows;
    bool is_half = rows % 2 == 0 && strcmp(path, "-") != 0 &&
                   read_names(&names, path, rows / 2, NULL) == KG_OK;
    kg__names_free(&names);
    if (!is_half)
        return KG_BAD_INPUT;
    return kg_fail_at(
        error, path, 0, 0,
        "expected %zu names, one for each row, found %zu: for reciprocal relations, "
        "--reciprocal halves (LibKGE) or interleaved (PyKEEN) says in which order they are",
        rows, rows / 2);
}

/* The names, and whether each has two rows; `*layout` is their order. */
static kg_status name_relations(struct table *relations, kg_layout *layout,
                                const struct settings *settings, kg_error *error) {
    size_t rows = relations->from.matrix.rows;
    const char *path = settings->relation_names;
    kg_names *names = &relations->names;
    relations->is_directed = settings->reciprocal != NULL;
    if (relations->is_directed) {
        *layout = (kg_layout)cli_choice(layouts, settings->reciprocal);
        if (rows % 2 != 0)
            return kg_fail_at(error, relations->from.path, 0, 0,
                              "--reciprocal: expected an even number of rows, found %zu", rows);
        return read_names(names, path, rows / 2, error);
    }
    kg_status status = read_names(names, path, rows, error);
    if (status == KG_BAD_INPUT)
        return hint(relations, path, error);
    KG_TRY(status);
    if (!is_paired(names))
        return KG_OK;
    relations->is_directed = true;
    *layout = KG_INTERLEAVED;
    return halve(names, error);
}

/* Both rows of a relation together; that of the inverse, which answers (tail, inverse, ?),
 * converted to answer (?, relation, tail). */
static kg_status join_directions(struct table *relations, const kg_scoring *kind, kg_layout layout,
                                 kg_error *error) {
    size_t dim = kg__matrix_width(&relations->from.matrix);
    size_t count = relations->names.count;
    real *joined = kg__alloc(2 * count, dim * sizeof *joined);
    if (joined == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        size_t forward = layout == KG_HALVES ? i : 2 * i;
        size_t inverse = layout == KG_HALVES ? count + i : 2 * i + 1;
        memcpy(joined + 2 * i * dim, relations->values + forward * dim, dim * sizeof *joined);
        memcpy(joined + (2 * i + 1) * dim, relations->values + inverse * dim, dim * sizeof *joined);
        kg__scoring_invert(kind, joined + (2 * i + 1) * dim, dim);
    }
    kg__free(relations->copy);
    relations->copy = joined;
    relations->values = joined;
    return KG_OK;
}

static kg_status open_tables(struct table *entities, struct table *relations,
                             const struct settings *settings, const kg_progress *progress,
                             kg_error *error) {
    const kg_scoring *kind = kg__scoring_find(settings->model);
    kg_layout layout = KG_HALVES;
    kg_layout directions = KG_HALVES;
    KG_TRY(kg__matrix_file_open(&entities->from, settings->entities, "entities", error));
    KG_TRY(kg__matrix_file_open(&relations->from, settings->relations, "relations", error));
    KG_TRY(check_width(entities, relations, kind, error));
    KG_TRY(read_names(&entities->names, settings->entity_names, entities->from.matrix.rows, error));
    KG_TRY(name_relations(relations, &directions, settings, error));
    KG_TRY(choose_layout(&layout, &entities->from, settings, error));
    KG_TRY(convert(entities, kind, layout, progress, error));
    KG_TRY(choose_layout(&layout, &relations->from, settings, error));
    KG_TRY(convert(relations, kind, layout, progress, error));
    return relations->is_directed ? join_directions(relations, kind, directions, error) : KG_OK;
}

/* ---- The model ---- */

static kg_status read_known(kg_dataset *dataset, const char *path, const kg_progress *progress,
                            kg_error *error) {
    kg_reader reader = {.dataset = dataset, .progress = progress};
    kg_input *input = NULL;
    KG_TRY(kg__input_open(&input, path, KG_ANY_CODING, error));
    kg_status status = kg__triples_file_read(&reader, input, error);
    kg__input_close(input);
    return status;
}

/* The options with files, and the layout. */
static json_t *describe_sources(const struct settings *settings) {
    json_t *out = json_object();
    for (const cli_option *option = options; option->offset < SETTING(aggregate); option++) {
        const char *value = *(const char *const *)((const char *)settings + option->offset);
        if (value == NULL || option->offset == SETTING(model))
            continue;
        if (json_object_set_new(out, option->name, kg__json_text(value, strlen(value))) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

/* `kept` has how entities are embedded, and receives the other settings. */
static json_t *make_config(const struct settings *settings, const kg_dataset *dataset, size_t dim,
                           bool is_directed, json_t *kept) {
    if (json_object_set_new(kept, "model", json_string(settings->model)) != 0 ||
        json_object_set_new(kept, "dim", json_integer((json_int_t)dim)) != 0 ||
        (is_directed && json_object_set_new(kept, "relations", json_string("directed")) != 0))
        return NULL;
    return json_pack("{ss sI sI sO so}", "version", kg_version(), "entities",
                     (json_int_t)kg__dataset_in_sample(dataset), "relations",
                     (json_int_t)dataset->in_sample_relations, "settings", kept, "adopted",
                     describe_sources(settings));
}

static kg_status write_model(const struct table *entities, const struct table *relations,
                             const kg_dataset *dataset, const struct settings *settings,
                             json_t *kept, kg_folder *folder, kg_error *error) {
    size_t dim = kg__matrix_width(&entities->from.matrix);
    const kg_params tables = {.scoring = kg__scoring_find(settings->model),
                              .entities = entities->values,
                              .relations = relations->values,
                              .is_directed = relations->is_directed,
                              .dim = dim};
    json_t *config = make_config(settings, dataset, dim, relations->is_directed, kept);
    if (config == NULL)
        return kg__fail_memory(error);
    const kg_model_parts parts = {.params = &tables, .dataset = dataset, .config = config};
    kg_status status = kg__model_folder_fill(folder, &parts, error);
    json_decref(config);
    return status;
}

static void say_zero_rows(const cli_context *context, const struct table *table, const char *one,
                          const char *many) {
    if (table->zero_rows > 0)
        cli_say(context, "rows of zeros: %s", report_counted(table->zero_rows, one, many).text);
}

static kg_status show(const struct table *entities, const struct table *relations,
                      const kg_dataset *dataset, const cli_context *context, kg_error *error) {
    size_t dim = kg__matrix_width(&entities->from.matrix);
    size_t known = dataset->parts[KG_TRAIN].count;
    say_zero_rows(context, entities, "entity", "entities");
    say_zero_rows(context, relations, "relation", "relations");
    cli_say(context, "%s: %s, %s%s, %zu numbers each, %s", context->arguments[0],
            report_counted(dataset->entities.count, "entity", "entities").text,
            report_counted(dataset->relations.count, "relation", "relations").text,
            relations->is_directed ? " in two directions" : "", dim,
            report_counted(known, "known fact", "known facts").text);
    if (!context->common->json)
        return KG_OK;
    return cli_print_json(
        json_pack("{sI sI sb sI sI s{sI sI}}", "entities", (json_int_t)dataset->entities.count,
                  "relations", (json_int_t)dataset->relations.count, "directed",
                  relations->is_directed, "dim", (json_int_t)dim, "known", (json_int_t)known,
                  "zero_rows", "entities", (json_int_t)entities->zero_rows, "relations",
                  (json_int_t)relations->zero_rows),
        error);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    struct settings settings = *(const struct settings *)payload;
    json_t *kept = NULL;
    struct table entities = {0};
    struct table relations = {0};
    kg_dataset dataset = {0};
    kg_folder *folder = NULL;
    kg_status status = KG_OK;
    KG_CHECK(check(&settings, error));
    KG_CHECK(
        kg__folder_start(&folder, context->arguments[0], settings.force, kg__model_files, error));
    KG_CHECK(open_tables(&entities, &relations, &settings, &context->progress, error));
    KG_CHECK(choose_aggregate(&kept, &settings, relations.from.path, error));
    KG_CHECK(kg__dataset_open_named(&dataset, &entities.names, &relations.names, error));
    if (settings.known != NULL)
        KG_CHECK(read_known(&dataset, settings.known, &context->progress, error));
    KG_CHECK(kg__dataset_finish(&dataset, error));
    KG_CHECK(write_model(&entities, &relations, &dataset, &settings, kept, folder, error));
    KG_CHECK(kg__folder_commit(folder, error));
    status = show(&entities, &relations, &dataset, context, error);
done:
    json_decref(kept);
    kg__folder_close(folder);
    kg__dataset_close(&dataset);
    free_table(&entities);
    free_table(&relations);
    return status;
}

static const struct settings defaults = {.force = false};

const cli_command cli_adopt = {
    .name = "adopt",
    .usage = "MODEL",
    .summary = "make a model directory from embeddings of other tools",
    .details =
        "The first five options are needed. Matrices are as DGL-KE or kgraft export leave them;\n"
        "kgraft-adopt(1) has the few lines that save those of LibKGE, PyKEEN and OpenKE.",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
